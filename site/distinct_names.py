"""Names of runs that stand in one line of a wide table: what each differs in from the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..decide.rows import CONFIGURATION
from ..reports.words import label_of
from ..schema.warehouse import Row
from ..vocabulary.format import number

_FIRST = ("device_count", "size", "model", "system", "dtype", "seq_len")  # most often in headings
_NAMED = 2  # differences in a name
_SCALED = frozenset(("device_count", "dp"))  # what grows along a curve over devices


def names_apart(rows: Sequence[Row]) -> dict[str, str]:
    """Of runs that share a place with others, what tells them apart, by run id."""
    places: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row["origin"] == "row":
            places[row["uri"], row["line"]].append(row)
    found: dict[str, str] = {}
    for shared in places.values():
        if len(shared) > 1:
            found |= zip((row["run"] for row in shared), _words(shared), strict=True)
    return found


def curves_apart(rows: Sequence[Row], system: Callable[[str], str]) -> list[str]:
    """What curves over devices differ in, by one run of each: no more than tells them apart.

    `system` names a machine, or the document of one that is not stated.
    """
    values = [
        {name: value for name, value in _stated(row).items() if name not in _SCALED}
        | {"system": system(row["system"])}
        for row in rows
    ]
    flags = {name for row in rows for name in row["env"]}

    def said(one: Mapping[str, Any], name: str) -> str:
        return _word(name, one[name]) if _is_stated(one, name) else f"no {name}" * (name in flags)

    words = [""] * len(rows)
    for name in dict.fromkeys(name for value in values for name in value):
        longer = [
            ", ".join(filter(None, (text, said(one, name))))
            for text, one in zip(words, values, strict=True)
        ]
        if len({*longer}) > len({*words}):
            words = longer
    return _numbered([text or "nothing more stated" for text in words])


def _is_stated(values: Mapping[str, Any], name: str) -> bool:
    return values.get(name) is not None


def _words(rows: Sequence[Row]) -> list[str]:
    """What each differs in; numbered where the first differences leave two alike."""
    values = [_stated(row) for row in rows]
    names = dict.fromkeys(name for one in values for name in one)
    differing = [name for name in names if len({str(one.get(name)) for one in values}) > 1]
    words = []
    for value in values:
        said = (_word(name, value[name]) for name in differing if _is_stated(value, name))
        words.append(", ".join([*dict.fromkeys(said)][:_NAMED]))
    return _numbered(words)


def _numbered(words: Sequence[str]) -> list[str]:
    if len(set(words)) == len(words) and all(words):
        return list(words)
    return [", ".join(filter(None, (one, f"run {at}"))) for at, one in enumerate(words, 1)]


def _stated(row: Row) -> Mapping[str, Any]:
    names = dict.fromkeys((*_FIRST, *CONFIGURATION))
    # Devices say what nodes and processes would repeat.
    own = {name: row[name] for name in names if name not in ("devices", "world_size", "nodes")}
    return {**own, **row["env"], **row["others"]}


def _word(name: str, value: Any) -> str:  # Any: of a column
    if name == "device_count":
        return f"{number(value)} {'device' if value == 1 else 'devices'}"
    known = name in _FIRST or name in CONFIGURATION
    return label_of(name, value) if known else f"{name}={value}"
