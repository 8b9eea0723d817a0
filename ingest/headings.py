"""Column headings of published tables, by the synonyms in headings.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# `# of GPUs`, `Number of nodes`
_COUNT_OF = re.compile(r"^(?:#+\s*(?:of\b)?|(?:no\.|num|number)[\s_-]*of)[\s_-]*")
_UNIT = re.compile(r"[\(\[]\s*(?:in\s+)?([^)\]]+?)\s*[\)\]]\s*$")
_TIME_UNITS = {
    "ms": "ms",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "min": "min",
    "mins": "min",
    "minutes": "min",
    "milliseconds": "ms",
}
# Said of a result, these change neither its unit nor what it is per.
_HARMLESS = frozenset({"avg", "avg.", "average", "mean", "median", "measured", "achieved"})
_SIZE_UNITS = {"b": "B", "billion": "B", "billions": "B", "m": "M", "million": "M", "millions": "M"}
_MEMORY_UNITS = {"mb": "MB", "mib": "MiB", "gb": "GB", "gib": "GiB", "tb": "TB"}


@dataclass(frozen=True, slots=True)
class Column:
    """What a heading means: our name, the cell grammar, and the measurement it becomes."""

    name: str
    title: str
    type: str
    role: str
    metric: str | None = None
    unit: str | None = None  # of cells that print none
    scope: str | None = None


@cache
def columns() -> dict[str, Column]:
    """Every known column by name."""
    return {
        name: Column(
            name, *(entry.get(key) for key in ("title", "type", "role", "metric", "unit", "scope"))
        )
        for name, entry in _file().items()
        if name != "sample"
    }


def samples() -> list[dict[str, Any]]:
    """The sample rows of headings.toml."""
    return list(_file()["sample"])


def column_of(heading: str) -> Column | None:
    """The column that a heading as written stands for; None when it is unknown."""
    plain = re.sub(r"<br\s*/?>|[*`†‡]|__", " ", heading)
    whole = _by_heading().get(_key(plain))
    if whole:
        return _with_unit(columns()[whole], plain)
    bare = _by_heading().get(_key(_UNIT.sub("", plain)))
    column = columns()[bare] if bare else None
    if column is None or (column.role == "batch" and _in_tokens(plain)):
        return None
    known = _with_unit(column, plain)
    return None if known is column and _is_qualified(column, plain) else known


def is_benchmark(headings: Sequence[str]) -> bool:
    """At least two known headings, of which one is topology or batch."""
    known = {column.name: column.role for column in map(column_of, headings) if column}
    return len(known) >= 2 and bool({"topology", "batch"} & set(known.values()))


def _in_tokens(heading: str) -> bool:
    """`GlobalBatchSize (T)`: a batch in tokens is another quantity than one in sequences."""
    found = _UNIT.search(heading)
    return bool(found and re.fullmatch(r"(?:[kKmM]\s?)?(?:T|tok(?:en)?s?)", found[1].strip(), re.I))


def _is_qualified(column: Column, heading: str) -> bool:
    """`Step time (us)`, `TFLOPs (aggregate)`: not the quantity that the bare heading names."""
    found = _UNIT.search(heading)
    return bool(
        found
        and column.type in {"time", "throughput", "rate"}
        and found[1].strip().lower() not in _HARMLESS
    )


def _with_unit(column: Column, heading: str) -> Column:
    found = _UNIT.search(heading)
    unit = found[1].strip().lower() if found else ""
    table = {
        "time": _TIME_UNITS,
        "throughput": _TIME_UNITS,
        "memory": _MEMORY_UNITS,
        "percent": {"%": "%"},
        "label": _SIZE_UNITS,
    }
    printed = table.get(column.type, {}).get(unit)
    if printed is None:
        return column
    return Column(
        column.name, column.title, column.type, column.role, column.metric, printed, column.scope
    )


def _key(heading: str) -> str:
    plain = re.sub(r"[µμ]\s*-?", "micro", heading.casefold())
    plain = _COUNT_OF.sub("", plain.strip()) or plain
    return re.sub(r"[^0-9a-z%#]+", "", plain).lstrip("#") or heading.strip().casefold()


@cache
def _by_heading() -> dict[str, str]:
    known: dict[str, str] = {}
    for name, entry in _file().items():
        if name != "sample":
            for heading in entry["headings"]:
                if known.setdefault(_key(heading), name) != name:
                    raise ValueError(
                        f"headings.toml: {heading!r} stands for {known[_key(heading)]} and {name}"
                    )
    return known


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(
        (files(__package__ or "bench.ingest") / "headings.toml").read_text("utf-8")
    )
