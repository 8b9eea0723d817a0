"""The run that differs least from another, found by what both share and not pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from .factors import TOGETHER, Factor, whole
from .pairing import MOST_MORE, TAKES_ALONG, Pair, counted_apart, of_one_measure, pair_of
from .rows import Row

Marks = defaultdict[tuple[str, Any], int]
_UNIT = {name: min(names) for names in TOGETHER for name in names}


def nearest(
    alone: Sequence[tuple[str, list[Row]]], bases: Sequence[list[Row]], chosen: str, by: Factor
) -> list[Pair]:
    """Each group without a partner with the first base that differs in one more column, or in
    several that say one thing."""
    # Zobrist's: sums of hashes meet too often, those of small numbers in a tuple hang together.
    chance = Random(0)
    marks: Marks = defaultdict(lambda: chance.getrandbits(128))
    known: dict[Hashable, int] = {}
    for at, base in enumerate(bases):
        for key in _all_but_one(base[0], by, marks):
            known.setdefault(key, at)
    found: list[Pair] = []
    for name, rows in alone:
        near = {known[key] for key in _all_but_one(rows[0], by, marks) if key in known}
        tried = (pair_of(chosen, name, bases[at], rows, by) for at in sorted(near))
        pair = next((one for one in tried if of_one_measure(one) and _near(one)), None)
        found += [pair] if pair else []
    return found


def _near(pair: Pair) -> bool:
    return 0 < counted_apart(pair) <= MOST_MORE


def _all_but_one(row: Row, by: Factor, marks: Marks) -> Iterator[Hashable]:
    """For each thing that two runs may differ in, the sum of the marks of all else: equal for runs
    that differ in nothing more. What their measure takes along has to be equal, too."""
    values = whole(row)
    units: dict[str, int] = dict.fromkeys((*_UNIT.values(), *values), 0)
    for name, value in values.items():
        if name not in by.parts and not name.startswith("version ") and value is not None:
            units[_UNIT.get(name, name)] += marks[name, value]
    along = _along(row["measure"], values)
    total = sum(units.values())
    for unit, part in units.items():
        yield unit, total - part, row["measure"], along


def _along(measure: str | None, values: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(values.get(name) for name in sorted(TAKES_ALONG.get(measure, ())))
