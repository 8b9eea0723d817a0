"""Recomputation and ZeRO stages that a source does not state, inferred from what fits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from .setting import REPEATED, Setting
from .terms import all_activations, states

_MOST = 80.0  # GB of a device whose memory is not known


def inferred(settings: Sequence[Setting]) -> frozenset[Hashable]:
    """The sources, each with its system, that recompute all activations without stating it: most
    of their runs would not fit into a device otherwise.

    A source runs its sweep in one way, so that its small models are no exception. One that states
    it for some runs means something where it does not.
    """
    stated = {place(one) for one in settings if one.recompute is not None}
    tight: dict[Hashable, list[bool]] = {}
    for setting in settings:
        if place(setting) not in stated:
            tight.setdefault(place(setting), []).append(_is_tight(setting))
    return frozenset(key for key, of in tight.items() if 2 * sum(of) >= len(of))


def settled(setting: Setting, full: frozenset[Hashable]) -> Setting:
    """A run with the recomputation of its source, unless it states one."""
    if setting.recompute is not None or place(setting) not in full:
        return setting
    setting = replace(setting, recompute="full")
    if not (setting.by_flops and setting.s_per_token):
        return setting
    pace = setting.s_per_token * REPEATED  # printed FLOPs include what is repeated
    return replace(setting, s_per_token=pace, s_per_token_by_flops=pace)


def place(setting: Setting) -> Hashable:
    """A key equal for runs of one source and system."""
    return setting.source[0], setting.system


def _is_tight(setting: Setting) -> bool:
    """Whether all activations and the states exceed a device; states as small as they can be where
    no ZeRO stage is stated."""
    least = (
        states(setting) if setting.zero_is_stated else 16 * setting.params / setting.devices / 1e9
    )
    return all_activations(setting) + least > (setting.device_memory_gb or _MOST)


_FEW = 8  # at most one of so many runs may contradict a stage: printed memory has errors


@dataclass(frozen=True, slots=True)
class UnstatedDefaults:
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


def unstated(settings: Sequence[Setting]) -> UnstatedDefaults:
    """What the sources of runs do without stating it."""
    return UnstatedDefaults(inferred(settings), _stages(settings))


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
