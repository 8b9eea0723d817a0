"""Runs matched on everything but one factor; what else differs is named, never pooled."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .factors import (
    NOT_STATED,
    TOGETHER,
    Factor,
    base_level,
    level,
    order,
    plain_name,
    value_text,
    whole,
)
from .rows import Row

_TRIED = 100  # runs a side that are looked at for the nearest
MOST_MORE = 1  # columns that a pair may differ in beside the factor, to be shown at all
# What a measure of speed takes along: between runs that differ in it, it tells none.
TAKES_ALONG: Mapping[str | None, frozenset[str]] = {
    "step_time_s": frozenset({"gbs", "seq_len"}),
    "tflops": frozenset({
        "size", "model", "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "experts",
        "seq_len", "recompute",
    }),
}  # fmt: skip
FAILED = frozenset({"oom", "hang", "fail", "nan", "timeout"})
# A run that failed may not state the rest; these it has to.
_OWN = ("env ", "column ")
_SIZES = ("nodes", "devices", "world_size", "dp", "tp", "pp", "mbs", "gbs", "layers", "hidden")


@dataclass(frozen=True, slots=True)
class Pair:
    """Jobs at a base level and at another, and what else differs between them.

    One side may hold none that ran: then its jobs failed.
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


@dataclass(slots=True)
class _Jobs:
    """The runs of one configuration at one level: those that ran, those that failed."""

    ran: list[Row] = field(default_factory=list)
    failed: list[Row] = field(default_factory=list)


_Levels = dict[str, _Jobs]
_SIDES = ("a", "b")


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

    A configuration without the base level has its least stated one for that, unless `base` is
    asked for.
    Runs of tables are matched within a document and day. A run that no other matches exactly is
    set against the nearest one, and what else differs is named.
    """
    levels = sorted({level(row, by) for row in (*rows, *failed)}, key=order)
    chosen = base_level(by, levels, base)
    groups: dict[Hashable, _Levels] = {}
    for row in rows:
        found = groups.setdefault(_key(row, by), {})
        found.setdefault(level(row, by), _Jobs()).ran.append(row)
    for row in failed:
        _add_failed(groups, row, level(row, by), by)
    pairs: list[Pair] = []
    alone: list[tuple[str, list[Row]]] = []
    for found in groups.values():
        here = chosen if chosen in found or base is not None else _least(found)
        if here in found and len(found) > 1:
            others = [one for one in levels if one in found and one != here]
            pairs += [_both(here, one, found[here], found[one], by) for one in others]
        elif chosen not in found:
            alone += [(name, jobs.ran) for name, jobs in found.items() if jobs.ran]
    bases = [found[chosen].ran for found in groups.values() if chosen in found]
    near = _nearest(alone, [one for one in bases if one], chosen, by)
    used = {id(row) for pair in (*_told(pairs), *near) for row in pair.rows()}
    return [*_told(pairs), *near], [row for row in rows if id(row) not in used]


def sides(
    before: Sequence[Row],
    after: Sequence[Row],
    names: tuple[str, str],
    declared: frozenset[str] = frozenset(),
    failed: tuple[Sequence[Row], Sequence[Row]] = ((), ()),
) -> tuple[list[Pair], frozenset[str]]:
    """Two groups of runs matched by configuration, the nearest where no one matches exactly; and
    the parts of a configuration that make the difference: those `declared`, else the one part in
    which all pairs differ."""
    pairs = _sides(before, after, names, declared, failed)
    only = {tuple(pair.also) for pair in pairs if pair.measured}
    if len(only) == 1 and len(one := only.pop()) == 1:
        declared = declared | frozenset(one)
        pairs = _sides(before, after, names, declared, failed)
    return pairs, declared


def _sides(
    before: Sequence[Row],
    after: Sequence[Row],
    names: tuple[str, str],
    declared: frozenset[str],
    failed: tuple[Sequence[Row], Sequence[Row]],
) -> list[Pair]:
    nothing = Factor("", _ignored(before, after, failed) | declared)
    groups: dict[Hashable, _Levels] = {}
    for side, rows in zip(_SIDES, (before, after), strict=True):
        for row in rows:
            found = groups.setdefault(_key(row, nothing), {})
            found.setdefault(side, _Jobs()).ran.append(row)
    for side, rows in zip(_SIDES, failed, strict=True):
        for row in rows:
            _add_failed(groups, row, side, nothing)
    base, other = names
    full = [found for found in groups.values() if len(found) == 2]
    left, right = (
        [found[side].ran for found in groups.values() if [*found] == [side] and found[side].ran]
        for side in _SIDES
    )
    if not full and len(left) == len(right) == 1:
        single = _pair(base, other, left[0], right[0], nothing)
        return [single] if _of_one_measure(single) else []
    pairs = [_both(base, other, found["a"], found["b"], nothing) for found in full]
    return [*_told(pairs), *_nearest([(other, rows) for rows in right], left, base, nothing)]


def _ignored(
    before: Sequence[Row], after: Sequence[Row], failed: tuple[Sequence[Row], Sequence[Row]]
) -> frozenset[str]:
    """What two sides need not share: versions; of two documents, what they are named by."""
    rows = (*before, *after, *failed[0], *failed[1])
    ignored = {f"version {name}" for row in rows for name in row["versions"]}
    uris = [
        {row["uri"] for row in (*ran, *broken)}
        for ran, broken in zip((before, after), failed, strict=True)
    ]
    if not uris[0] & uris[1]:
        ignored |= {"document", "date", "epoch"}
        if any(row["device"] is None for row in rows):
            ignored.add("system")  # a table without a device is a machine of its own
    return frozenset(ignored)


def _least(found: _Levels) -> str | None:
    """The least of two levels or more that a configuration states."""
    stated = [name for name in found if name != NOT_STATED]
    return min(stated, key=order) if len(stated) > 1 else None


def _told(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs of which one side ran at least."""
    return [pair for pair in pairs if pair.before or pair.after]


def _add_failed(groups: dict[Hashable, _Levels], row: Row, at: str, by: Factor) -> None:
    """A failed run beside those of its configuration, as far as it states that."""
    key = _key(row, by)
    if key not in groups:
        mine = _stated(row, by)
        fitting = [one for one, found in groups.items() if agree(mine, _stated(_first(found), by))]
        key = fitting[0] if len(fitting) == 1 else key
    groups.setdefault(key, {}).setdefault(at, _Jobs()).failed.append(row)


def _first(found: _Levels) -> Row:
    return next(row for jobs in found.values() for row in (*jobs.ran, *jobs.failed))


def agree(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether what both state is equal, sizes and flags to the last one."""
    needed = {name for name in (*mine, *theirs) if name in _SIZES or name.startswith(_OWN)}
    return all(
        mine.get(name) == theirs.get(name)
        for name in (*mine, *theirs)
        if name in needed or (name in mine and name in theirs)
    )


def _both(base: str, other: str, before: _Jobs, after: _Jobs, by: Factor) -> Pair:
    """A pair of one configuration, with the jobs that failed on either side."""
    ends = (tuple(before.failed), tuple(after.failed))
    if not before.ran or not after.ran:
        return Pair(base, other, tuple(before.ran), tuple(after.ran), {}, *ends)
    pair = _pair(base, other, before.ran, after.ran, by)
    return Pair(base, other, pair.before, pair.after, pair.also, *ends)


def nearest_words(before: Sequence[Row], after: Sequence[Row], by: Factor | None = None) -> str:
    """In what the two runs differ that differ least, for a comparison that is refused.

    `by` is what they have to differ in, too.
    """
    apart = by or Factor("", frozenset())
    tried = [
        _pair("", "", [one], [other], apart)
        for one in before[:_TRIED]
        for other in after[:_TRIED]
        if one is not other and (by is None or level(one, by) != level(other, by))
    ]
    best = min((pair for pair in tried if pair.also), key=lambda pair: len(pair.also), default=None)
    if best is None:
        return "one side has no run that counts"
    places = f"{best.before[0]['where']} and {best.after[0]['where']}"
    more = "also " if by else ""
    return f"the nearest, {places}, {more}differ in {also_words(best.also)}"


def stated_apart(pair: Pair) -> dict[str, tuple[str, str]]:
    """Versions and arguments in the logs of a pair that differ: no reason to refuse, but said."""
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


def _nearest(
    alone: Sequence[tuple[str, list[Row]]], bases: Sequence[list[Row]], chosen: str, by: Factor
) -> list[Pair]:
    """Each group without a partner with the base that differs in the fewest more columns."""
    pairs: list[Pair] = []
    for name, rows in alone:
        tried = [_pair(chosen, name, base, rows, by) for base in bases]
        tried = [pair for pair in tried if _of_one_measure(pair)]
        tried = [pair for pair in tried if 0 < _counted(pair) <= MOST_MORE]
        best = min(tried, key=_counted, default=None)
        pairs += [best] if best else []
    return pairs


def _of_one_measure(pair: Pair) -> bool:
    """Whether both sides are measured alike, and alike in what that measure takes along."""
    before, after = pair.before[0], pair.after[0]
    first, second = whole(before), whole(after)
    return before["measure"] == after["measure"] and all(
        first.get(name) == second.get(name) for name in TAKES_ALONG.get(before["measure"], ())
    )


def _counted(pair: Pair) -> int:
    """How much differs beside the factor; another model, system or day is too much."""
    far = {"size", "model", "system", "date", "document", "layers", "hidden"}
    named = [name for name in pair.also if not name.startswith("version ")]
    if far & set(named):
        return MOST_MORE + 1
    together = [one for one in TOGETHER if len(one & set(named)) > 1]
    return len(named) - sum(len(one & set(named)) - 1 for one in together)


def _pair(base: str, other: str, before: Sequence[Row], after: Sequence[Row], by: Factor) -> Pair:
    first, second = whole(before[0]), whole(after[0])
    names = list(dict.fromkeys([*first, *second]))
    also = {
        name: (first.get(name), second.get(name))
        for name in names
        if name not in by.parts and first.get(name) != second.get(name)
    }
    return Pair(base, other, tuple(before), tuple(after), also)


def _stated(row: Row, by: Factor) -> dict[str, Any]:
    """What tells a run apart beside the factor; versions are named, not matched."""
    free = by.parts - TAKES_ALONG.get(row["measure"], frozenset())
    return {
        name: value
        for name, value in whole(row).items()
        if name not in free and not name.startswith("version ") and value is not None
    }


def _key(row: Row, by: Factor) -> Hashable:
    """Equal for runs that have one measure and differ in the factor alone."""
    stated = sorted((name, str(value)) for name, value in _stated(row, by).items())
    return row["measure"], tuple(stated)
