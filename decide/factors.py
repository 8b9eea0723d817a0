"""The factor of a comparison: a column, a flag or a version, and its value for a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.device_names import slices_of
from ..vocabulary.headings import column_of
from .rows import CONFIGURATION, configuration, follows_ranks

NOT_STATED = "not stated"
_DP = {"dp", "dp_replicate", "dp_shard"}
_SIZES = {"nodes", "devices", "world_size", "procs_per_node"}
# Columns that state the same thing: if one is the factor, the others may differ too.
TOGETHER = (
    _SIZES, {"system", "device"}, {"size", "model"},
    {"gbs", "grad_accum", "device_batch"}, {"date", "regime"}, _DP,
)  # fmt: skip
_FORMER = {"epoch": "regime"}  # names of columns in earlier versions
_SIZE = re.compile(r"(-?\d{1,18}(?:\.\d{1,18})?)([KMBT]?)")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_INNER = ("env", "versions", "arguments", "others")  # settings other than columns
_NAMED = ("env", "versions", "others")  # of these, what can be compared by
_VALUES = 4  # of a column, where columns are listed
_MOVE_DP = ("tp", "pp", "cp", "nodes", "devices", "world_size")  # what data parallelism follows


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor: its name, and the parts of a configuration that it covers."""

    name: str
    parts: frozenset[str]


def factor(name: str, rows: Sequence[Row]) -> Factor:
    """A column, ours or a table's own, by its name or a heading that was read as it, a flag, all
    flags with a prefix, or a version; raises BenchError."""
    flags = sorted({flag for row in rows for flag in row["env"]})
    known = {flag.casefold(): flag for flag in flags}
    others = {one.casefold(): one for row in rows for one in row["others"]}
    word = name.strip().strip("`").casefold()
    word = _FORMER.get(word, word)
    if word == "settings":
        parts = {f"env {flag}" for flag in flags} | {f"column {one}" for one in others.values()}
        return Factor(name, frozenset(parts))
    # A table's own heading, unless a column of ours bears the name and has values.
    if word in others and not any(row.get(word) is not None for row in rows):
        return Factor(others[word], frozenset({f"column {others[word]}"}))
    if rows and word in rows[0] and word not in _INNER:
        together = next((one for one in TOGETHER if word in one), {word})
        # More tensor parallelism on as many devices leaves less data parallelism: one change.
        follows = _DP if word in _MOVE_DP else set[str]()
        # More replicas of the same split are more devices.
        follows |= _SIZES if word in _DP else set()
        if word in _MOVE_DP or word in _DP:
            follows |= follows_ranks(rows)
        return Factor(word, frozenset(together | follows))
    if word in known:
        return Factor(known[word], frozenset({f"env {known[word]}"}))
    prefixed = [flag for flag in flags if flag.casefold().startswith(f"{word}_")]
    versions = sorted({version for row in rows for version in row["versions"]})
    stated = [version for version in versions if version in (word, f"{word}_version")]
    if prefixed or stated:
        parts = {f"env {flag}" for flag in prefixed} | {f"version {one}" for one in stated}
        return Factor(name, frozenset(parts))
    column = column_of(name.strip().strip("`"))
    if column and column.role not in ("result", "remark"):
        meant = "world_size" if column.name == "ranks" else column.name
        if rows and meant in rows[0] and meant != word:
            return factor(meant, rows)
    listed = choices(rows)
    raise BenchError(
        f"nothing to compare by {name!r}" if word else "--by needs the name of a column",
        why="it is no column, environment flag or version here" if word else "none is named",
        hint=f"these differ here: {', '.join(listed)}" if listed
        else "all runs here are of one configuration: read more of them",
    )  # fmt: skip


def choices(rows: Sequence[Row]) -> list[str]:
    """What differs between runs and can be compared: columns, flags, versions, with values."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        # A document is no system, though rows that state none are of one a document.
        own = [(name, row[name]) for name in CONFIGURATION if name != "system" or row["device"]]
        for name, value in (*own, *(pair for kind in _NAMED for pair in row[kind].items())):
            if value is not None:
                found.setdefault(name, {})[value_text(value)] = None
    return [
        f"{name} ({', '.join(shown[:_VALUES])}{', ...' if len(shown) > _VALUES else ''})"
        for name, values in found.items()
        # A flag that some runs lack differs as well.
        if len(values) > 1 or any(name in row["env"] for row in rows)
        for shown in [sorted(values, key=order)]
    ]


def level(row: Row, by: Factor) -> str:
    """The value of the factor of a run, as text; several flags as NAME=VALUE."""
    if by.name in row:
        return value_text(row[by.name])
    values, parts = whole(row), sorted(by.parts)
    if len(parts) == 1:
        return value_text(values.get(parts[0]))
    values_text = [f"{part.split(' ', 1)[1]}={values[part]}" for part in parts if values.get(part)]
    return ", ".join(values_text) or NOT_STATED


def base_level(by: Factor, levels: Sequence[str], base: str | None) -> str:
    """The base level: as requested, else without the flag, else the least stated one.

    Raises BenchError for a level that is not there, or when there is only one.
    """
    if len(levels) < 2:
        only = levels[0] if levels else NOT_STATED
        raise BenchError(
            f"all runs have one {by.name}: {only}", why="nothing differs in it",
            hint="compare by another column, or take more runs",
        )  # fmt: skip
    if base is not None:
        fitting = [known for known in levels if known.casefold() == base.casefold()]
        if not fitting:
            raise BenchError(f"no run has {by.name} {base!r}", hint=f"levels: {', '.join(levels)}")
        return fitting[0]
    # A flag is set against its absence, a size against the least.
    for without in ("none", "0", "off", "False", NOT_STATED):
        if without in levels and any(part.startswith("env ") for part in by.parts):
            return without
    stated = [known for known in levels if known != NOT_STATED]
    return stated[0] if len(stated) > 1 else levels[0]


def whole(row: Row) -> dict[str, Any]:
    """The identity of a run: configuration, flags, versions, document and day of a table's row."""
    dated = row["origin"] == "row"
    return {
        **configuration(row),
        "slices": slices_of(row["device"]) if row["device"] else None,
        **{f"version {name}": value for name, value in row["versions"].items()},
        "document": row["uri"] if dated else None,
        "date": row["date"] if dated else None,
        "regime": row["regime"] if dated else None,
    }


def plain_name(part: str) -> str:
    """The name of a part of a configuration, without what kind it is."""
    for kind in ("env ", "version ", "column "):
        part = part.removeprefix(kind)
    return part


def value_text(value: object) -> str:
    """A value of a configuration as text."""
    if isinstance(value, float):
        return f"{value:g}"
    return NOT_STATED if value is None else str(value)


def order(text: str) -> tuple[int, float, str]:
    """Sort key: not stated first, then numbers and sizes such as 1.3B, then texts."""
    if text == NOT_STATED:
        return (0, 0.0, text)
    match = _SIZE.fullmatch(text)
    return (1, float(match[1]) * _UNITS[match[2] or ""], text) if match else (2, 0.0, text)
