"""Lines of several formats and ranks about one step, merged to one row of `iterations`."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

from .record import NO_COLUMNS, Fields, Record

if TYPE_CHECKING:
    from .blocks import Whole

OPEN_STEPS = 3  # the newest steps, to which a line may still add
STEPS_KEPT = 1024  # the newest steps, whose printing processes are known
NEAR = 64  # lines within which a copy comes where no prefix distinguishes the processes
# What each process measures for itself; all other values of a step are the same on every rank.
OWN = frozenset((
    "step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device", "tflops",
    "mfu", "hfu", "printed_at", "memory", "more", "rank",
))  # fmt: skip
CLOCK = re.compile(r"\d\d:\d\d:\d\d")
LOGGED_RANK = re.compile(
    r"rank-\d+/|(?<=, )rank=\d+|(?<=\|)(?:[DTPC]P|EXP|EP)=\d+|(?<=\|)[\w.-]+(?=\]:)"
)
RANK = re.compile(
    r"^(?:(\d+):|\[[^,\]]*\d,(?:mpirank:)?(\d+)[,\]].*>:|\[(\d+)\]<std\w+>:|\[rank: ?(\d+)\]"
    r"|\[rank(\d+)\]:|x\S+ (\d+):|.*\[rank-(\d+)/)"
)


def rank_prefix_of(prefixes: Sequence[str]) -> str:
    """The prefixes by launchers, which distinguish the processes of a log.

    Of a logger's prefix, which has a time in it, only the rank: the rest names places of the code.
    """
    dated = [CLOCK.search(prefix) for prefix in prefixes]
    return " ".join(
        "".join(LOGGED_RANK.findall(prefix)) if at else prefix
        for prefix, at in zip(prefixes, dated, strict=True)
    ).strip()


def rank_of(prefixes: Sequence[str]) -> int | None:
    """The rank that a launcher put in front of a line."""
    for prefix in prefixes:
        if match := RANK.match(prefix):
            return int(next(group for group in match.groups() if group))
    return None


@dataclass(slots=True)
class StepLines:
    """The lines of one format for one step: the first one, and the prefixes of all."""

    line: int
    fields: Fields | Callable[[int], Fields]
    rank_prefixes: frozenset[str]
    place: int = 0  # of the step, among those that `fields` knows

    def same(self) -> Fields:
        """The values that are the same on every rank."""
        return _shared(self.fields if isinstance(self.fields, dict) else self.fields(self.place))


@dataclass(slots=True)
class Ranks:
    """Which processes printed lines of the newest steps, by format and step."""

    is_multirank: bool = False  # several processes print the lines of a step
    _lines: OrderedDict[tuple[str, int], StepLines] = field(default_factory=OrderedDict)

    def repeats(self, key: tuple[str, int], rank_prefix: str, fields: Fields, line: int) -> bool:
        """Whether a line is a copy, by another rank, of a step that has been printed."""
        first = self._lines.get(key)
        if first is None:
            return False
        # Another prefix on a line for the same step is another process. Once that was seen, a
        # second line of any prefix is a copy too: launchers mix the output of ranks line by line.
        other = bool(rank_prefix) and rank_prefix not in first.rank_prefixes
        if not other and not self.is_multirank:
            # A page quotes many runs: without a loss to compare, alike is not the same step.
            if rank_prefix or "loss" not in fields or line - first.line > NEAR:
                return False
            return _shared(fields) == first.same()
        self.is_multirank = True
        first.rank_prefixes |= {rank_prefix}
        return True

    def knows(self, key: tuple[str, int]) -> bool:
        """Whether the step was printed since the last restart."""
        return key in self._lines

    def add(self, key: tuple[str, int], rank_prefix: str, fields: Fields, line: int) -> None:
        """The first line of a format for a step."""
        self._lines[key] = StepLines(line, fields, frozenset((rank_prefix,)))
        if len(self._lines) > STEPS_KEPT:
            self._lines.popitem(last=False)

    def add_many(
        self,
        name: str,
        iterations: Whole,
        lines: Whole,
        rank_prefix: str,
        fields: Callable[[int], Fields],
    ) -> None:
        """The same for many lines of a format; `fields` of the step at a place."""
        first = max(0, len(iterations) - STEPS_KEPT)
        keys = zip(repeat(name), iterations[first:].tolist(), strict=False)
        places = range(first, len(iterations))
        known = map(
            StepLines,
            lines[first:].tolist(),
            repeat(fields),
            repeat(frozenset((rank_prefix,))),
            places,
        )
        self._lines.update(zip(keys, known, strict=True))
        for _ in range(len(self._lines) - STEPS_KEPT):
            self._lines.popitem(last=False)

    def forget(self) -> None:
        """After a restart steps may run, and be printed, again: they are no copies."""
        self._lines.clear()
        self.is_multirank = False


def _shared(fields: Fields) -> Fields:
    return {column: value for column, value in fields.items() if column not in OWN}


@dataclass(slots=True)
class Spread:
    """The values of one step that differ between ranks: the smallest and the largest of each."""

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

    def members(self) -> dict[str, str]:
        """As members of the step's `more`."""
        if self.lines == 1:
            return {}
        differ = {name: ends for name, ends in sorted(self.ends.items()) if ends[0] != ends[1]}
        spread = {
            f"{name} of ranks": f"{low!r} to {high!r}" for name, (low, high) in differ.items()
        }
        return {"ranks that print it": str(self.lines)} | spread


@dataclass(slots=True)
class Step:
    """One row being built; `by` names the formats whose lines it was read from."""

    iteration: int
    segment: int
    length: int | None
    line: int
    secondary: bool
    fields: Fields = field(default_factory=dict)
    by: set[str] = field(default_factory=set)
    spread: Spread = field(default_factory=Spread)

    def merge(self, fields: Fields, secondary: bool) -> None:
        """Adds the values of a line; the framework's own count, others are kept in `more`."""
        for column, value in fields.items():
            if column == "epoch":
                self._more({column: str(value)})
            if column in NO_COLUMNS:
                continue
            have = self.fields.get(column)
            if have is None:
                self.fields[column] = value
            elif column == "printed_at":
                continue
            elif have != value and secondary:
                self._more({column: str(value)})
            elif have != value:
                self.fields[column] = value
                if self.secondary:
                    self._more({column: str(have)})
        for name in ("losses", "more"):
            members = fields.get(name)
            if isinstance(members, dict) and members:
                below = self.fields.get(name)
                self.fields[name] = (below if isinstance(below, dict) else {}) | members
        self.secondary = self.secondary and secondary

    def lacks(self, fields: Fields) -> bool:
        """Whether the step has none of these values yet, as in logs of one metric a line."""
        columns = fields.keys() - NO_COLUMNS - {"printed_at"}
        have, more = self.fields.get("more"), fields.get("more")
        known = have.keys() if isinstance(have, dict) else set()
        others = more.keys() if isinstance(more, dict) else set()
        new = columns or others or readings(fields)
        return bool(new) and not (columns & self.fields.keys() or others & known
                                  or readings(fields) & self.by)  # fmt: skip

    def took_as_long(self, fields: Fields) -> bool:
        """Whether a line prints the time of this step, to hundredths."""
        own, other = self.fields.get("step_time_s"), fields.get("step_time_s")
        return isinstance(own, float) and isinstance(other, float) and abs(own - other) < 0.0051

    def _more(self, members: dict[str, str]) -> None:
        below = self.fields.get("more")
        self.fields["more"] = members | (below if isinstance(below, dict) else {})


def readings(fields: Fields) -> set[str]:
    """Names for the memory readings on a line."""
    memory = fields.get("memory")
    return {f"memory: {kind}" for kind in memory} if isinstance(memory, dict) else set()


def members_of(value: object) -> Fields:
    """A map, or an empty one."""
    return value if isinstance(value, dict) else {}


def is_of(record: Record, iteration: int) -> bool:
    """Whether a record has this step, or none."""
    return record.fields.get("iteration", iteration) == iteration
