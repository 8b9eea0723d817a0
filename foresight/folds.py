"""Kinds of extrapolation of a prediction, and folds of runs that test each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from ..vocabulary.format import number
from .setting import Setting

_REACH = 2.0  # factor beyond the measured range up to which errors are known
_PARTS = 12  # number of folds of configurations


class ExtrapolationKind(StrEnum):
    """Kinds of extrapolation, from the runs of a prediction; the gravest first."""

    SYSTEM = "system"  # no run of the system
    SOURCE = "source"  # another source's runs of the system, or a model beyond its source's
    MODEL = "model"  # a model between those that its source measured
    SIZE = "size"  # on fewer devices, or on more
    RANGE = "range"  # another size beyond the measured, or a setting that no run like it has
    SETTING = "configuration"  # its source and model are measured on sizes about its own


SIZES: dict[str, Callable[[Setting], float | None]] = {
    "devices": lambda one: one.devices,
    "sequence length": lambda one: one.seq_len,
    "MBS": lambda one: one.mbs,
    "GBS": lambda one: one.gbs,
    "TP": lambda one: one.tp,
    "PP": lambda one: one.pp,
    "CP": lambda one: one.cp,
    "VPP": lambda one: one.vpp,
    "EP": lambda one: one.ep,
    "layers": lambda one: one.layers if one.shape_is_stated else None,
    "hidden size": lambda one: one.hidden if one.shape_is_stated else None,
    "heads": lambda one: one.heads,
}
# What can be asked for without a size, by its name among the words of a run.
WORDS = {"dtype": "number format", "recompute": "recompute", "zero_stage": "ZeRO stage"}


@dataclass(frozen=True, slots=True)
class SizeOutOfRange:
    """A size beyond the measured range of similar runs."""

    name: str
    value: float
    low: float
    high: float

    @property
    def times(self) -> float:
        """The factor beyond the range."""
        return max(self.value / self.high, self.low / self.value)

    @property
    def words(self) -> str:
        """The size, and the measured range, as text."""
        limit = f"up to {number(self.high)}" if self.value > self.high else (
            f"from {number(self.low)}"
        )  # fmt: skip
        size = number(self.value)
        text = f"{size} devices" if self.name == "devices" else f"{self.name} {size}"
        return f"{text}, measured {limit}"


@dataclass(frozen=True, slots=True)
class UnmeasuredSetting:
    """A setting without a size that no run like it states; as unknown as a doubling of a size."""

    name: str
    value: str
    times = _REACH

    @property
    def words(self) -> str:
        """The setting, and that it is new."""
        return f"{self.name} {self.value}, which no run like it states"


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """The extrapolation of a configuration: its kinds, the gravest first, and what is beyond."""

    kinds: tuple[ExtrapolationKind, ...]
    outside: tuple[SizeOutOfRange | UnmeasuredSetting, ...] = ()

    def grown(self, kind: ExtrapolationKind) -> float:
        """The factor of an interval beyond twice the measured sizes: each doubling adds the same
        uncertainty, and deviations add in squares."""
        return math.sqrt(max(1.0, doublings(one for one in self.outside if _kind(one) is kind)))


def doublings(outside: Iterable[SizeOutOfRange | UnmeasuredSetting]) -> float:
    """The doublings from the measured range to a configuration, of all sizes together."""
    return sum(math.log2(one.times) for one in outside)


def _kind(one: SizeOutOfRange | UnmeasuredSetting) -> ExtrapolationKind:
    return ExtrapolationKind.SIZE if one.name == "devices" else ExtrapolationKind.RANGE


def reach(runs: Sequence[Setting], setting: Setting) -> Extrapolation:
    """The extrapolation of a prediction from runs."""
    of_system = [run for run in runs if run.system == setting.system]
    if not of_system:
        return Extrapolation((ExtrapolationKind.SYSTEM,))
    of_source = [run for run in of_system if run.source[0] == setting.source[0]]
    of_model = [run for run in of_source if run.model == setting.model]
    kinds: list[ExtrapolationKind] = []
    if not of_model:
        kinds.append(
            ExtrapolationKind.MODEL if between(of_source, setting) else ExtrapolationKind.SOURCE
        )
    near = of_model or of_source or of_system
    [found] = beyond(near, [setting])
    kinds += sorted({_kind(each) for each in found}, key=list(ExtrapolationKind).index)
    return Extrapolation(tuple(kinds) or (ExtrapolationKind.SETTING,), tuple(found))


def between(of_source: Sequence[Setting], setting: Setting) -> bool:
    """Whether a source has smaller and larger models than this one."""
    params = [run.params for run in of_source if run.model != setting.model]
    return bool(params) and min(params) <= setting.params <= max(params)


def beyond(
    near: Sequence[Setting], settings: Sequence[Setting]
) -> list[list[SizeOutOfRange | UnmeasuredSetting]]:
    """The sizes and settings of each configuration that lie outside those of measured runs."""
    ranges: dict[str, tuple[float, float]] = {}
    for name, size in SIZES.items():
        if known := [have for run in near if (have := size(run))]:
            ranges[name] = min(known), max(known)
    stated = {word: {run.other_settings.get(word) for run in near} for word in WORDS}
    found: list[list[SizeOutOfRange | UnmeasuredSetting]] = []
    for one in settings:
        outside: list[SizeOutOfRange | UnmeasuredSetting] = []
        for name, (low, high) in ranges.items():
            if (value := SIZES[name](one)) and not low <= value <= high:
                outside.append(SizeOutOfRange(name, value, low, high))
        for word, name in WORDS.items():
            said = one.other_settings.get(word)
            if said is not None and said not in stated[word]:
                outside.append(UnmeasuredSetting(name, said))
        found.append(outside)
    return found


@dataclass(frozen=True, slots=True)
class Fold:
    """Runs to predict, by index, as if all `removed` had not been measured."""

    removed: tuple[int, ...]
    tested: tuple[int, ...]


def folds(
    settings: Sequence[Setting], kind: ExtrapolationKind, most: int | None = None
) -> list[Fold]:
    """Folds for a kind of extrapolation; evenly thinned to at most `most`."""
    found = [*_MADE[kind](settings)]
    step = math.ceil(len(found) / most) if most and found else 1
    return found[::step]


def _configurations(settings: Sequence[Setting]) -> Iterator[Fold]:
    """Interleaved parts of all configurations."""
    groups = [*_by([setting.group for setting in settings]).values()]
    for part in range(min(_PARTS, len(groups))):
        at = tuple(sorted(one for group in groups[part::_PARTS] for one in group))
        if len(at) < len(settings):
            yield Fold(at, at)


def _models(settings: Sequence[Setting]) -> Iterator[Fold]:
    """Each model of a system, in sources with smaller and larger ones."""
    for at in _by([(setting.system, setting.model) for setting in settings]).values():
        tested = []
        for place in at:
            one = settings[place]
            here = [run for run in settings if run.system == one.system]
            if between([run for run in here if run.source[0] == one.source[0]], one):
                tested.append(place)
        if tested:
            yield Fold(tuple(at), tuple(tested))


def _larger(settings: Sequence[Setting]) -> Iterator[Fold]:
    """Each size of a source and model above two others, of which the larger is at least half of it;
    this size and all above it are left out."""
    for at in _by([curve(setting) for setting in settings]).values():
        sizes = sorted({settings[one].devices for one in at})
        for below, size in pairwise(sizes[1:]):
            if size <= _REACH * below:
                removed = tuple(one for one in at if settings[one].devices >= size)
                yield Fold(removed, tuple(one for one in removed if settings[one].devices == size))


def _ranges(settings: Sequence[Setting]) -> Iterator[Fold]:
    """For each size except the job's, of a source and model: values above a limit are left out, and
    those up to twice the limit are predicted; of each setting without a size, all runs of a value.
    """
    curves = [*_by([curve(setting) for setting in settings]).values()]
    for name, size in SIZES.items():
        if name == "devices":
            continue
        for of in curves:
            values = {at: value for at in of if (value := size(settings[at]))}
            for below in sorted(set(values.values()))[:-1]:
                removed = tuple(at for at, value in values.items() if value > below)
                tested = tuple(at for at in removed if values[at] <= _REACH * below)
                if tested:
                    yield Fold(removed, tested)
    for word in WORDS:
        for of in curves:
            stated = {at: said for at in of if (said := settings[at].other_settings.get(word))}
            for each in sorted(set(stated.values())):
                found = tuple(at for at, said in stated.items() if said == each)
                if len(found) < len(of):
                    yield Fold(found, found)


def _of(key: Callable[[Setting], Hashable]) -> Callable[[Sequence[Setting]], Iterator[Fold]]:
    def made(settings: Sequence[Setting]) -> Iterator[Fold]:
        for at in _by([key(setting) for setting in settings]).values():
            if len(at) < len(settings):
                yield Fold(tuple(at), tuple(at))

    return made


_MADE: dict[ExtrapolationKind, Callable[[Sequence[Setting]], Iterator[Fold]]] = {
    ExtrapolationKind.SETTING: _configurations,
    ExtrapolationKind.RANGE: _ranges,
    ExtrapolationKind.SIZE: _larger,
    ExtrapolationKind.MODEL: _models,
    ExtrapolationKind.SOURCE: _of(lambda one: (one.system, one.source[0])),
    ExtrapolationKind.SYSTEM: _of(lambda one: one.system),
}


def curve(setting: Setting) -> Hashable:
    """A key equal for runs of one source and model that differ in size."""
    return setting.system, setting.source[0], setting.model


def _by(keys: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for at, key in enumerate(keys):
        found.setdefault(key, []).append(at)
    return found
