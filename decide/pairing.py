"""Two sides of a comparison: the jobs of each, their other differences, whether they compare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ..schema.warehouse import Row
from .factors import NOT_STATED, TOGETHER, Factor, plain_name, value_text, whole

MOST_MORE = 1  # further columns in which a shown pair may differ, besides the factor
# Columns that a measure of speed depends on: runs that differ in them do not compare by it.
DEPENDS_ON: Mapping[str | None, frozenset[str]] = {
    "step_time_s": frozenset({"gbs", "device_batch", "seq_len"}),
    "tflops": frozenset({
        "size", "model", "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "experts",
        "moe_top_k", "seq_len", "recompute",
    }),
}  # fmt: skip
Marks = defaultdict[tuple[str, Any], int]
_UNIT = {name: min(names) for names in TOGETHER for name in names}
# A run that failed may not state the rest; these it has to.
_OWN = ("env ", "column ")
_SIZES = ("nodes", "devices", "world_size", "dp", "tp", "pp", "mbs", "gbs", "layers", "hidden")


@dataclass(frozen=True, slots=True)
class Pair:
    """Jobs at a base level and at another, and what else differs between them.

    A side may have no finished run: then its jobs failed.
    """

    base: str
    level: str
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    also: Mapping[str, tuple[Any, Any]]
    failed_before: tuple[Row, ...] = ()
    failed_after: tuple[Row, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether jobs of both sides ran."""
        return bool(self.before and self.after)

    @property
    def newly_fails(self) -> bool:
        """Whether jobs fail where none of the base did."""
        return bool(self.failed_after and self.before and not self.failed_before)

    @property
    def newly_runs(self) -> bool:
        """Whether all jobs run where none of the base did."""
        return bool(self.after and not self.failed_after and self.failed_before and not self.before)

    def rows(self) -> tuple[Row, ...]:
        """All runs of the pair."""
        return (*self.before, *self.after, *self.failed_before, *self.failed_after)


def agree(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether what both state is equal, sizes and flags to the last one."""
    both = mine.keys() & theirs.keys()
    return needed(mine) == needed(theirs) and all(mine[name] == theirs[name] for name in both)


def needed(stated: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    """What of a configuration may not be missing on one side: sizes and flags."""
    return frozenset(
        (name, value) for name, value in stated.items() if name in _SIZES or name.startswith(_OWN)
    )


def stated_apart(pair: Pair) -> dict[str, tuple[str, str]]:
    """Versions and arguments in the logs of a pair that differ: listed, but no reason to refuse."""
    found: dict[str, tuple[str, str]] = {}
    for kind in ("versions", "arguments"):
        sets = [[row[kind] for row in side] for side in (pair.before, pair.after)]
        for name in sorted({name for side in sets for one in side for name in one}):
            values = [sorted({one.get(name, NOT_STATED) for one in side}) for side in sets]
            if values[0] != values[1]:
                found[name] = (", ".join(values[0]), ", ".join(values[1]))
    return found


def also_words(also: Mapping[str, tuple[Any, Any]]) -> str:
    """What else differs, as text: dp 8 → 4."""
    return ", ".join(
        f"{plain_name(name)} {value_text(a)} → {value_text(b)}" for name, (a, b) in also.items()
    )


def of_one_measure(pair: Pair) -> bool:
    """Whether both sides are measured alike, and alike in what that measure takes along."""
    before, after = pair.before[0], pair.after[0]
    first, second = whole(before), whole(after)
    return before["measure"] == after["measure"] and all(
        first.get(name) == second.get(name) for name in DEPENDS_ON.get(before["measure"], ())
    )


def counted_apart(pair: Pair) -> int:
    """The number of differences other than the factor; another model, system or day is too much."""
    # Another model or machine changes speed by more than any setting: no pair at all.
    far = {"size", "model", "system", "date", "document", "layers", "hidden"}
    named = [name for name in pair.also if not name.startswith("version ")]
    if far & set(named):
        return MOST_MORE + 1
    together = [one for one in TOGETHER if len(one & set(named)) > 1]
    return len(named) - sum(len(one & set(named)) - 1 for one in together)


def pair_of(base: str, other: str, before: Sequence[Row], after: Sequence[Row], by: Factor) -> Pair:
    first, second = whole(before[0]), whole(after[0])
    names = list(dict.fromkeys([*first, *second]))
    also = {
        name: (first.get(name), second.get(name))
        for name in names
        if name not in by.parts and first.get(name) != second.get(name)
    }
    return Pair(base, other, tuple(before), tuple(after), also)


def stated_by(row: Row, by: Factor) -> dict[str, Any]:
    """The identity of a run without the factor; versions are named, not matched."""
    # Step times across batches, or TFLOPs across models, compare nothing.
    free = by.parts - DEPENDS_ON.get(row["measure"], frozenset())
    return {
        name: value
        for name, value in whole(row).items()
        if name not in free and not name.startswith("version ") and value is not None
    }


def key_of(row: Row, by: Factor) -> Hashable:
    """Equal for runs that have one measure and differ in the factor alone."""
    stated = sorted((name, str(value)) for name, value in stated_by(row, by).items())
    return row["measure"], tuple(stated)


def nearest(
    alone: Sequence[tuple[str, list[Row]]], bases: Sequence[list[Row]], chosen: str, by: Factor
) -> list[Pair]:
    """Each group without a partner with the first base that differs in one more column, or in
    several that state one thing."""
    # Zobrist's: sums of hashes meet too often, those of small numbers in a tuple hang together.
    chance = Random(0)
    # A fixed seed: which of two bases is as near must not change between runs.
    marks: Marks = defaultdict(lambda: chance.getrandbits(128))
    known: dict[Hashable, int] = {}
    for at, base in enumerate(bases):
        for key in _all_but_one(base[0], by, marks):
            known.setdefault(key, at)
    pairs: list[Pair] = []
    for name, rows in alone:
        near = {known[key] for key in _all_but_one(rows[0], by, marks) if key in known}
        tried = (pair_of(chosen, name, bases[at], rows, by) for at in sorted(near))
        pair = next((one for one in tried if of_one_measure(one) and _is_near(one)), None)
        pairs += [pair] if pair else []
    return pairs


def _is_near(pair: Pair) -> bool:
    return 0 < counted_apart(pair) <= MOST_MORE


def _all_but_one(row: Row, by: Factor, marks: Marks) -> Iterator[Hashable]:
    """For each thing that two runs may differ in, the sum of the marks of all else: equal for runs
    that differ in nothing else. The columns that their measure depends on have to be equal, too."""
    values = whole(row)
    units: dict[str, int] = dict.fromkeys((*_UNIT.values(), *values), 0)
    for name, value in values.items():
        if name not in by.parts and not name.startswith("version ") and value is not None:
            # Columns that state one thing count as one, so that they may differ together.
            units[_UNIT.get(name, name)] += marks[name, value]
    along = _along(row["measure"], values)
    total = sum(units.values())
    for unit, part in units.items():
        yield unit, total - part, row["measure"], along


def _along(measure: str | None, values: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(values.get(name) for name in sorted(DEPENDS_ON.get(measure, ())))
