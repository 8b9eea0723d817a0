"""Which processes spoke of the newest steps: what several ranks print of one step is one step."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

from .record import Fields

if TYPE_CHECKING:
    from .arrays import Whole

STEPS_KEPT = 1024  # of the newest steps it is known who spoke of them
NEAR = 64  # lines in which a copy comes where nothing tells the processes apart
# What each process measures for itself; all of a step else is the same for every rank.
OWN = frozenset((
    "step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device", "tflops",
    "printed_at", "memory", "more", "rank",
))  # fmt: skip
CLOCK = re.compile(r"\d\d:\d\d:\d\d")
LOGGED_RANK = re.compile(r"rank-\d+/|(?<=\|)(?:[DTPC]P|EXP|EP)=\d+|(?<=\|)[\w.-]+(?=\]:)")
RANK = re.compile(
    r"^(?:(\d+):|\[[^,\]]*\d,(?:mpirank:)?(\d+)[,\]].*>:|\[(\d+)\]<std\w+>:|\[rank: ?(\d+)\]"
    r"|\[rank(\d+)\]:|x\S+ (\d+):|.*\[rank-(\d+)/)"
)


def voice_of(prefixes: Sequence[str]) -> str:
    """What tells the processes of a log apart: all that launchers put in front of a line.

    Of a logger's prefix, which has a time in it, the rank alone: the rest tells places of the code.
    """
    dated = [CLOCK.search(prefix) for prefix in prefixes]
    return " ".join(
        "".join(LOGGED_RANK.findall(prefix)) if at else prefix
        for prefix, at in zip(prefixes, dated, strict=True)
    ).strip()


def rank_of(prefixes: Sequence[str]) -> int | None:
    """The rank that a launcher put in front of a line."""
    for prefix in prefixes:
        if found := RANK.match(prefix):
            return int(next(group for group in found.groups() if group))
    return None


@dataclass(slots=True)
class Told:
    """What was said of one step in lines of one format."""

    line: int
    fields: Fields | Callable[[int], Fields]
    voices: frozenset[str]
    place: int = 0  # of the step, among those that `fields` knows

    def same(self) -> Fields:
        """What is the same for every rank."""
        return _shared(self.fields if isinstance(self.fields, dict) else self.fields(self.place))


@dataclass(slots=True)
class Ranks:
    """Who spoke of the newest steps, by format and step."""

    chorus: bool = False  # several processes print the lines of a step
    _told: OrderedDict[tuple[str, int], Told] = field(default_factory=OrderedDict)

    def repeats(self, key: tuple[str, int], voice: str, fields: Fields, line: int) -> bool:
        """Whether a line is another rank's line of a step that one has spoken of."""
        told = self._told.get(key)
        if told is None:
            return False
        other = bool(voice) and voice not in told.voices
        if not other and not self.chorus:
            # A page quotes many runs: without a loss to compare, alike is not the same step.
            if voice or "loss" not in fields or line - told.line > NEAR:
                return False
            return _shared(fields) == told.same()
        self.chorus = True
        told.voices |= {voice}
        return True

    def knows(self, key: tuple[str, int]) -> bool:
        """Whether the step was spoken of since the last start."""
        return key in self._told

    def tell(self, key: tuple[str, int], voice: str, fields: Fields, line: int) -> None:
        """The first line of a format on a step."""
        self._told[key] = Told(line, fields, frozenset((voice,)))
        if len(self._told) > STEPS_KEPT:
            self._told.popitem(last=False)

    def tell_many(
        self,
        name: str,
        iterations: Whole,
        lines: Whole,
        voice: str,
        fields: Callable[[int], Fields],
    ) -> None:
        """The same for many lines of a format; `fields` of the step at a place."""
        first = max(0, len(iterations) - STEPS_KEPT)
        keys = zip(repeat(name), iterations[first:].tolist(), strict=False)
        places = range(first, len(iterations))
        told = map(
            Told, lines[first:].tolist(), repeat(fields), repeat(frozenset((voice,))), places
        )
        self._told.update(zip(keys, told, strict=True))
        for _ in range(len(self._told) - STEPS_KEPT):
            self._told.popitem(last=False)

    def forget(self) -> None:
        """Steps from here on may be steps done before."""
        self._told.clear()
        self.chorus = False


def _shared(fields: Fields) -> Fields:
    return {column: value for column, value in fields.items() if column not in OWN}


@dataclass(slots=True)
class Spread:
    """What the ranks print of one step where they differ: the smallest and the largest."""

    lines: int = 1
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, first: Fields, other: Fields) -> None:
        """One more rank's line."""
        self.lines += 1
        for column in OWN:
            value, have = other.get(column), first.get(column)
            if isinstance(value, float) and isinstance(have, float):
                low, high = self.ends.get(column, (have, have))
                self.ends[column] = min(low, value), max(high, value)

    def told(self) -> dict[str, str]:
        """As it stands beside the columns of the step."""
        if self.lines == 1:
            return {}
        differ = {name: ends for name, ends in sorted(self.ends.items()) if ends[0] != ends[1]}
        spread = {
            f"{name} of ranks": f"{low!r} to {high!r}" for name, (low, high) in differ.items()
        }
        return {"ranks that print it": str(self.lines)} | spread
