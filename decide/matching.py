"""Runs matched on everything but one factor; what else differs is named, never pooled."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.errors import BenchError
from .rows import CONFIGURATION, Row, configuration

_MOVE_DP = ("tp", "pp", "cp", "nodes", "devices", "world_size")  # what data parallelism follows
_TRIED = 100  # runs a side that are looked at for the nearest
NOT_STATED = "not stated"
MOST_MORE = 1  # columns that a pair may differ in beside the factor, to be shown at all
# Columns that say the same thing as another: with a factor of one, both may differ.
_TOGETHER = (
    {"nodes", "devices", "world_size", "procs_per_node"}, {"system", "device"}, {"size", "model"},
    {"gbs", "grad_accum"},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Factor:
    """What is compared: its name, the parts of a configuration that it stands for."""

    name: str
    parts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Jobs at a base level and at another, and what else differs between them."""

    base: str
    level: str
    before: tuple[Row, ...]
    after: tuple[Row, ...]
    also: Mapping[str, tuple[Any, Any]]


def factor(name: str, rows: Sequence[Row]) -> Factor:
    """A column, a flag, all flags with a prefix, or a version; raises BenchError."""
    flags = sorted({flag for row in rows for flag in row["env"]})
    known = {one.casefold(): one for one in flags}
    word = name.casefold()
    if word == "settings":
        return Factor(name, frozenset(f"env {flag}" for flag in flags))
    if rows and word in rows[0] and word not in ("env", "versions"):
        together = next((one for one in _TOGETHER if word in one), {word})
        follows = {"dp"} if word in _MOVE_DP else set()
        return Factor(word, frozenset(together | follows))
    if word in known:
        return Factor(known[word], frozenset({f"env {known[word]}"}))
    prefixed = [flag for flag in flags if flag.casefold().startswith(f"{word}_")]
    versions = sorted({one for row in rows for one in row["versions"]})
    stated = [one for one in versions if one in (word, f"{word}_version")]
    if prefixed or stated:
        parts = {f"env {flag}" for flag in prefixed} | {f"version {one}" for one in stated}
        return Factor(name, frozenset(parts))
    raise BenchError(
        f"nothing to compare by {name!r}", why="it is no column, environment flag or version here",
        hint=f"flags here: {', '.join(flags) or 'none'}; columns: {', '.join(CONFIGURATION)}",
    )  # fmt: skip


def level(row: Row, by: Factor) -> str:
    """The value of the factor of a run, as text; several flags as NAME=VALUE."""
    whole = _whole(row)
    if by.name in row:
        return _text(row[by.name])
    parts = sorted(by.parts)
    if len(parts) == 1:
        return _text(whole.get(parts[0]))
    said = [f"{part.split(' ', 1)[1]}={whole[part]}" for part in parts if whole.get(part)]
    return ", ".join(said) or NOT_STATED


def matched(
    rows: Sequence[Row], by: Factor, base: str | None = None
) -> tuple[list[Pair], list[Row]]:
    """Every level against the base within one configuration, and the runs without a partner.

    Runs of tables are matched within a document and day. A run that no other matches exactly is
    set against the nearest one, and what else differs is named.
    """
    levels = sorted({level(row, by) for row in rows}, key=_order)
    chosen = base_level(rows, by, levels, base)
    groups: dict[Hashable, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(_key(row, by), {}).setdefault(level(row, by), []).append(row)
    pairs: list[Pair] = []
    alone: list[tuple[str, list[Row]]] = []
    for found in groups.values():
        if chosen in found:
            before = found[chosen]
            others = [one for one in levels if one in found and one != chosen]
            pairs += [_pair(chosen, one, before, found[one], by) for one in others]
        else:
            alone += found.items()
    bases = [found[chosen] for found in groups.values() if chosen in found]
    near = _nearest(alone, bases, chosen, by)
    used = {id(row) for pair in (*pairs, *near) for row in (*pair.before, *pair.after)}
    return [*pairs, *near], [row for row in rows if id(row) not in used]


def base_level(rows: Sequence[Row], by: Factor, levels: Sequence[str], base: str | None) -> str:
    """The level that the others are set against: as asked, else without the flag, else the least.

    Raises BenchError for a level that is not there, or when there is only one.
    """
    if len(levels) < 2:
        only = levels[0] if levels else NOT_STATED
        raise BenchError(
            f"all runs have one {by.name}: {only}", why="nothing differs in it",
            hint="compare by another column, or take more runs",
        )  # fmt: skip
    if base is not None:
        fitting = [one for one in levels if one.casefold() == base.casefold()]
        if not fitting:
            raise BenchError(f"no run has {by.name} {base!r}", hint=f"levels: {', '.join(levels)}")
        return fitting[0]
    for without in ("none", "0", "off", "False", NOT_STATED):
        if without in levels and any(part.startswith("env ") for part in by.parts):
            return without
    return levels[0]


def sides(
    before: Sequence[Row],
    after: Sequence[Row],
    names: tuple[str, str],
    declared: frozenset[str] = frozenset(),
) -> tuple[list[Pair], frozenset[str]]:
    """Two groups of runs matched by configuration, the nearest where no one matches exactly; and
    the parts of a configuration that make the difference: those `declared`, else the one part in
    which all pairs differ."""
    pairs = _sides(before, after, names, declared)
    only = {tuple(pair.also) for pair in pairs}
    if len(only) == 1 and len(one := only.pop()) == 1:
        declared = declared | frozenset(one)
        pairs = _sides(before, after, names, declared)
    return pairs, declared


def _sides(
    before: Sequence[Row], after: Sequence[Row], names: tuple[str, str], declared: frozenset[str]
) -> list[Pair]:
    rows = (*before, *after)
    ignored = {f"version {name}" for row in rows for name in row["versions"]}
    if not {row["uri"] for row in before} & {row["uri"] for row in after}:
        ignored |= {
            "document",
            "date",
            "epoch",
        }  # of two documents these are what they are named by
        if any(row["device"] is None for row in rows):
            ignored.add("system")  # a table without a device is a machine of its own
    nothing = Factor("", frozenset({*ignored, *declared}))
    left, right = _grouped(before, nothing), _grouped(after, nothing)
    pairs = [
        _pair(names[0], names[1], left[key], right[key], nothing) for key in left if key in right
    ]
    alone = [(names[1], rows) for key, rows in right.items() if key not in left]
    bases = [rows for key, rows in left.items() if key not in right]
    if not pairs and len(left) == len(right) == 1:
        [one], [other] = left.values(), right.values()
        return [_pair(names[0], names[1], one, other, nothing)]
    return [*pairs, *_nearest(alone, bases, names[0], nothing)]


def nearest_words(before: Sequence[Row], after: Sequence[Row]) -> str:
    """In what the two runs differ that differ least, for a comparison that is refused."""
    nothing = Factor("", frozenset())
    tried = [
        _pair("", "", [one], [other], nothing)
        for one in before[:_TRIED]
        for other in after[:_TRIED]
        if one is not other
    ]
    best = min(tried, key=lambda pair: len(pair.also), default=None)
    if best is None:
        return "one side has no run that counts"
    places = f"{best.before[0]['where']} and {best.after[0]['where']}"
    return f"the nearest, {places}, differ in {also_words(best.also)}"


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
        f"{name.removeprefix('env ').removeprefix('version ')} {_text(a)} → {_text(b)}"
        for name, (a, b) in also.items()
    )


def _grouped(rows: Sequence[Row], by: Factor) -> dict[Hashable, list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row, by), []).append(row)
    return found


def _nearest(
    alone: Sequence[tuple[str, list[Row]]], bases: Sequence[list[Row]], chosen: str, by: Factor
) -> list[Pair]:
    """Each group without a partner with the base that differs in the fewest more columns."""
    pairs: list[Pair] = []
    for name, rows in alone:
        tried = [_pair(chosen, name, base, rows, by) for base in bases]
        tried = [pair for pair in tried if 0 < _counted(pair) <= MOST_MORE]
        best = min(tried, key=_counted, default=None)
        pairs += [best] if best else []
    return pairs


def _counted(pair: Pair) -> int:
    """How much differs beside the factor; another model, system or day is too much."""
    far = {"size", "model", "system", "date", "document", "layers", "hidden"}
    named = [name for name in pair.also if not name.startswith("version ")]
    if far & set(named):
        return MOST_MORE + 1
    together = [one for one in _TOGETHER if len(one & set(named)) > 1]
    return len(named) - sum(len(one & set(named)) - 1 for one in together)


def _pair(base: str, other: str, before: Sequence[Row], after: Sequence[Row], by: Factor) -> Pair:
    first, second = _whole(before[0]), _whole(after[0])
    names = list(dict.fromkeys([*first, *second]))
    also = {
        name: (first.get(name), second.get(name))
        for name in names
        if name not in by.parts and first.get(name) != second.get(name)
    }
    return Pair(base, other, tuple(before), tuple(after), also)


def _key(row: Row, by: Factor) -> Hashable:
    """Equal for runs that differ in the factor alone; versions are named, not matched."""
    whole = _whole(row)
    return tuple(
        sorted(
            (name, str(value))
            for name, value in whole.items()
            if name not in by.parts and not name.startswith("version ") and value is not None
        )
    )


def _whole(row: Row) -> dict[str, Any]:
    """All that tells a run: configuration, flags, versions, document and day of a table's row."""
    dated = row["origin"] == "row"
    return {
        **configuration(row),
        **{f"version {name}": value for name, value in row["versions"].items()},
        "document": row["uri"] if dated else None,
        "date": row["date"] if dated else None,
        "epoch": row["epoch"] if dated else None,
    }


def _order(text: str) -> tuple[int, float, str]:
    """Numbers by size, then texts; what is not stated first."""
    if text == NOT_STATED:
        return (0, 0.0, text)
    try:
        return (1, float(text), text)
    except ValueError:
        return (2, 0.0, text)


def _text(value: object) -> str:
    return NOT_STATED if value is None else str(value)
