"""Runs matched on everything but one factor; what else differs is named, never pooled."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..schema.warehouse import Row
from .factors import NOT_STATED, Factor, base_level, level, order, whole
from .jobs import lacks_work
from .pairing import (
    Pair,
    agree,
    also_words,
    key_of,
    nearest,
    needed,
    of_one_measure,
    pair_of,
    stated_by,
)

_TRIED = 100  # runs a side that are looked at for the nearest
FAILED = frozenset({"oom", "hang", "fail", "nan", "timeout"})


@dataclass(slots=True)
class _Jobs:
    """The runs of one configuration at one level: those that ran, those that failed."""

    ran: list[Row] = field(default_factory=list)
    failed: list[Row] = field(default_factory=list)


_JobsByLevel = dict[str, _Jobs]
_SIDES = ("a", "b")
_PLACES = frozenset({"document", "system", "date", "regime"})  # where and when, not configuration


def failures(rows: Sequence[Row]) -> list[Row]:
    """The measured runs among those left out that broke off: out of memory, hung, ..."""
    return [
        row
        for row in rows
        if row["status"] in FAILED and row["kind"] == "measured" and row["origin"] != "quote"
    ]


def matched(
    rows: Sequence[Row], by: Factor, base: str | None = None, failed: Sequence[Row] = ()
) -> tuple[list[Pair], list[Row]]:
    """Every level against the base within one configuration, and the runs without a partner.

    In a configuration without the base level its least stated level is the base, unless `base` is
    set.
    Runs of tables are matched within a document and day. A run without an exact match is
    compared with the nearest run, and the other differences are named. Logs that state neither
    model nor batch have no partner: that two of them are silent does not make them equal.
    """
    every, levels = rows, _levels((*rows, *failed), by)
    chosen = base_level(by, levels, base)
    rows = [row for row in rows if not lacks_work(row)]
    failed = [row for row in failed if not lacks_work(row)]
    if base is None and len(known := _levels((*rows, *failed), by)) > 1:
        chosen = base_level(by, known, None)
    # By key and not pair by pair: a sweep has thousands of runs.
    groups: dict[Hashable, _JobsByLevel] = {}
    for row in rows:
        found = groups.setdefault(key_of(row, by), {})
        found.setdefault(level(row, by), _Jobs()).ran.append(row)
    _add_failed(groups, [(row, level(row, by)) for row in failed], by)
    pairs: list[Pair] = []
    alone: list[tuple[str, list[Row]]] = []
    for found in groups.values():
        here = chosen if chosen in found or base is not None else _base_level(found)
        if here in found and len(found) > 1:
            others = [one for one in levels if one in found and one != here]
            pairs += [_pair_of(here, one, found[here], found[one], by) for one in others]
        elif chosen not in found:
            alone += [(name, jobs.ran) for name, jobs in found.items() if jobs.ran]
    bases = [group[chosen].ran for group in groups.values() if chosen in group]
    near = nearest(alone, [base for base in bases if base], chosen, by)
    used = {id(row) for pair in (*_with_a_side(pairs), *near) for row in pair.rows()}
    return [*_with_a_side(pairs), *near], [row for row in every if id(row) not in used]


def sides(
    before: Sequence[Row],
    after: Sequence[Row],
    names: tuple[str, str],
    declared: frozenset[str] = frozenset(),
    failed: tuple[Sequence[Row], Sequence[Row]] = ((), ()),
) -> tuple[list[Pair], frozenset[str]]:
    """Two groups of runs matched by configuration, the nearest where no one matches exactly; and
    the parts of a configuration that make the difference: those `declared` where pairs differ in
    one of them, else the one part in which all pairs differ."""
    pairs = _sides(before, after, names, declared, failed)
    if differing(pairs, declared - _PLACES):
        return pairs, declared
    # A difference of all pairs is the one between the sides, though no condition names it.
    only = {tuple(pair.also) for pair in pairs if pair.measured}
    if len(only) == 1 and len(one := only.pop()) == 1:
        declared = declared | frozenset(one)
        pairs = _sides(before, after, names, declared, failed)
    return pairs, declared


def differing(pairs: Sequence[Pair], parts: frozenset[str]) -> frozenset[str]:
    """Those parts of a configuration in which the runs of a pair differ."""
    both = [(whole(pair.before[0]), whole(pair.after[0])) for pair in pairs if pair.measured]
    return frozenset(
        part for part in parts if any(one.get(part) != other.get(part) for one, other in both)
    )


def _sides(
    before: Sequence[Row],
    after: Sequence[Row],
    names: tuple[str, str],
    declared: frozenset[str],
    failed: tuple[Sequence[Row], Sequence[Row]],
) -> list[Pair]:
    nothing = Factor("", _ignored(before, after, failed) | declared)
    groups: dict[Hashable, _JobsByLevel] = {}
    for side, rows in zip(_SIDES, (before, after), strict=True):
        for row in rows:
            found = groups.setdefault(key_of(row, nothing), {})
            found.setdefault(side, _Jobs()).ran.append(row)
    broken = [(row, side) for side, rows in zip(_SIDES, failed, strict=True) for row in rows]
    _add_failed(groups, broken, nothing)
    base, other = names
    full = [group for group in groups.values() if len(group) == 2]
    left, right = (
        [group[side].ran for group in groups.values() if [*group] == [side] and group[side].ran]
        for side in _SIDES
    )
    # The user named both runs: compare them whatever differs, and list the differences.
    if not full and len(left) == len(right) == 1:
        single = pair_of(base, other, left[0], right[0], nothing)
        return [single] if of_one_measure(single) else []
    pairs = [_pair_of(base, other, found["a"], found["b"], nothing) for found in full]
    return [*_with_a_side(pairs), *nearest([(other, rows) for rows in right], left, base, nothing)]


def _ignored(
    before: Sequence[Row], after: Sequence[Row], failed: tuple[Sequence[Row], Sequence[Row]]
) -> frozenset[str]:
    """What two sides need not share: versions; of two documents, what they are named by."""
    rows = (*before, *after, *failed[0], *failed[1])
    # Two sides are mostly two versions, which would not match each other.
    ignored = {f"version {name}" for row in rows for name in row["versions"]}
    uris = [
        {row["uri"] for row in (*ran, *broken)}
        for ran, broken in zip((before, after), failed, strict=True)
    ]
    if not uris[0] & uris[1]:
        ignored |= {"document", "date", "regime"}
        if any(row["device"] is None for row in rows):
            ignored.add("system")  # a table without a device counts as another machine
    return frozenset(ignored)


def _levels(rows: Iterable[Row], by: Factor) -> list[str]:
    return sorted({level(row, by) for row in rows}, key=order)


def _base_level(found: _JobsByLevel) -> str | None:
    """The least of two levels or more that a configuration states."""
    stated = [name for name in found if name != NOT_STATED]
    return min(stated, key=order) if len(stated) > 1 else None


def _with_a_side(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of which one side ran at least."""
    return [pair for pair in pairs if pair.before or pair.after]


def _add_failed(
    groups: dict[Hashable, _JobsByLevel], failed: Sequence[tuple[Row, str]], by: Factor
) -> None:
    """Failed runs by level, matched to the runs of their configuration as far as they state
    that."""
    alike: dict[Hashable, list[tuple[Hashable, dict[str, Any]]]] = {}
    if failed:
        for key, found in groups.items():
            stated = stated_by(_first(found), by)
            alike.setdefault(needed(stated), []).append((key, stated))
    for row, at in failed:
        key = key_of(row, by)
        if key not in groups:
            mine = stated_by(row, by)
            near = alike.setdefault(needed(mine), [])
            fitting = [one for one, stated in near if agree(mine, stated)]
            # Of several configurations it may be any: then it stands by itself.
            if len(fitting) == 1:
                key = fitting[0]
            else:
                near.append((key, mine))
        groups.setdefault(key, {}).setdefault(at, _Jobs()).failed.append(row)


def _first(found: _JobsByLevel) -> Row:
    return next(row for jobs in found.values() for row in (*jobs.ran, *jobs.failed))


def _pair_of(base: str, other: str, before: _Jobs, after: _Jobs, by: Factor) -> Pair:
    """A pair of one configuration, with the jobs that failed on either side."""
    ends = (tuple(before.failed), tuple(after.failed))
    if not before.ran or not after.ran:
        return Pair(base, other, tuple(before.ran), tuple(after.ran), {}, *ends)
    pair = pair_of(base, other, before.ran, after.ran, by)
    return Pair(base, other, pair.before, pair.after, pair.also, *ends)


def nearest_words(before: Sequence[Row], after: Sequence[Row], by: Factor | None = None) -> str:
    """In what the two runs differ that differ least, for a comparison that is refused.

    `by` is what they have to differ in, too.
    """
    apart = by or Factor("", frozenset())
    tried = [
        pair_of("", "", [row], [other], apart)
        # An error message is not worth all pairs of two large sides.
        for row in before[:_TRIED]
        for other in after[:_TRIED]
        if row is not other and (by is None or level(row, by) != level(other, by))
    ]
    best = min((pair for pair in tried if pair.also), key=lambda pair: len(pair.also), default=None)
    if best is None:
        return "one side has no run that counts"
    places = f"{best.before[0]['where']} and {best.after[0]['where']}"
    more = "also " if by else ""
    return f"the nearest, {places}, {more}differ in {also_words(best.also)}"
