"""What a source does not state of its runs, inferred from the memory that they have."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from .recompute import inferred, place, settled
from .setting import Setting
from .terms import states

_FEW = 8  # at most one of so many runs may contradict a stage: printed memory has errors


@dataclass(frozen=True, slots=True)
class Unstated:
    """What sources, each with its system, do without stating it: recompute all, ZeRO stages."""

    recomputing: frozenset[Hashable]
    stages: Mapping[Hashable, int]

    def settled(self, one: Setting) -> Setting:
        """A run with the recomputation and the ZeRO stage of its source, unless it states them."""
        one = settled(one, self.recomputing)
        stage = self.stages.get(place(one))
        if one.zero_is_stated or stage is None:
            return one
        return replace(
            one, zero=stage, other_settings={**one.other_settings, "zero_stage": str(stage)}
        )


def unstated(settings: Sequence[Setting]) -> Unstated:
    """What the sources of runs do without stating it."""
    return Unstated(inferred(settings), _stages(settings))


def _stages(settings: Sequence[Setting]) -> dict[Hashable, int]:
    """The least ZeRO stage of sources that state none and cannot be without: weights, gradients and
    optimizer states of most runs would exceed the memory that they print, or their device."""
    stating = {place(one) for one in settings if one.zero_is_stated}
    silent: dict[Hashable, list[Setting]] = {}
    for setting in settings:
        if place(setting) not in stating and (setting.peak_memory_gb or setting.device_memory_gb):
            silent.setdefault(place(setting), []).append(setting)
    found = {}
    for key, of in silent.items():
        fits = (stage for stage in (0, 1, 2) if _FEW * _contradicting(of, stage) <= len(of))
        if stage := next(fits, 3):
            found[key] = stage
    return found


def _contradicting(runs: Sequence[Setting], stage: int) -> int:
    return sum(
        states(replace(run, zero=stage)) > (run.peak_memory_gb or run.device_memory_gb or 0.0)
        for run in runs
    )
