"""Several settings in one column: under `DP/TP/PP` or `[TP,CP,EP]` each cell has all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...vocabulary.headings import column_of, columns_of
from .grid import Table, TableRow

_SIGNS = "/,:;|×x*&+-"
_LONGEST = 60  # characters of a heading that is a list of names
# `Parallelism (TP/PP)`, `Training [TP,CP]`; those of generation are of other processes
_LEAD = re.compile(
    r"\s*(?:(?:(?:pre-?)?train(?:ing)?|parallel(?:ism)?|config(?:uration)?|strategy|topology|layout|mesh"
    r"|degrees?|sizes?|shape|settings?|set-?up|分布式|并行|策略|方式|配置|训练)\s*){0,3}[:=]?\s*",
    re.I,
)
_BRACKETED = re.compile(r"[(\[{](?P<inner>[^()\[\]{}]{3,60})[)\]}]\s*")
_ROLES = ("topology", "batch", "model")
_DIGIT = re.compile(r"\d")
_BY = re.compile(r"(?<![a-z])x(?![a-z])", re.I)  # within `ctx` it is a letter
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,7}")
_NOT_STATED = frozenset(("", "-", "–", "—", "na", "none"))
_NONE = re.compile(r"n/a", re.I)
_MARKUP = re.compile(r"[*`]")


@dataclass(frozen=True, slots=True)
class _Joined:
    """The names in a heading, and the parts of each cell below it."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


def with_settings_apart(table: Table) -> Table:
    """The table with a column for each setting; unchanged if no heading lists several.

    A heading is split if all its names are settings without another column, and if most cells
    with a number have a number, or a missing value, for each; other cells stay as printed.
    """
    known = {column.name for column in columns_of(table.header.cells) if column}
    found = {
        at: joined
        for at, heading in enumerate(table.header.cells)
        if (joined := _joined(table, at, heading, known))
    }
    if not found:
        return table
    header = tuple(_apart(table.header.cells, {at: one.names for at, one in found.items()}))
    rows = tuple(
        _row(row, {at: one.cells[number] for at, one in found.items()})
        for number, row in enumerate(table.rows)
    )
    groups = {at: (table.groups[at],) * len(one.names) for at, one in found.items() if table.groups}
    return replace(
        table,
        header=replace(table.header, cells=header),
        alignment=("none",) * len(header),
        rows=rows,
        groups=tuple(_apart(table.groups, groups)),
    )


def _row(row: TableRow, parts: dict[int, tuple[str, ...]]) -> TableRow:
    lines = tuple(
        line for at, line in enumerate(row.lines) for _ in range(len(parts.get(at, (at,))))
    )
    return replace(row, cells=tuple(_apart(row.cells, parts)), lines=lines)


def _apart(cells: Sequence[str], parts: dict[int, tuple[str, ...]]) -> Iterator[str]:
    for at, cell in enumerate(cells):
        yield from parts.get(at, (cell,))


def _joined(table: Table, at: int, heading: str, known: set[str]) -> _Joined | None:
    for sign in _SIGNS:
        names = _names(heading, sign, known)
        if not names:
            continue
        nothing = ("",) * len(names)
        cells = [row.cells[at] if at < len(row.cells) else "" for row in table.rows]
        for inner in dict.fromkeys((sign, *_SIGNS)):
            parts = [_parts(cell, inner, len(names)) for cell in cells]
            if 2 * sum(1 for part in parts if part and any(part)) > len(parts) - parts.count(
                nothing
            ):
                return _kept(names, parts, heading, cells)
    return None


def _kept(
    names: tuple[str, ...],
    parts: Sequence[tuple[str, ...] | None],
    heading: str,
    cells: Sequence[str],
) -> _Joined:
    """The parts of each cell; where one has none, what it says stays under the old heading."""
    nothing = ("",) * len(names)
    stated = [nothing if part is None else part for part in parts]
    rest = [
        "" if any(one) or _is_empty(cell) else cell for one, cell in zip(stated, cells, strict=True)
    ]
    if not any(rest):
        return _Joined(names, tuple(stated))
    each = ((*one, text) for one, text in zip(stated, rest, strict=True))
    return _Joined((*names, heading), tuple(each))


def _is_empty(cell: str) -> bool:
    text = _MARKUP.sub("", _NONE.sub("na", cell))
    return all(part in _NOT_STATED for part in re.split(r"[\s()\[\]{}/,:;|×x&+]+", text.lower()))


def _names(heading: str, sign: str, known: set[str]) -> tuple[str, ...]:
    """The settings that a heading lists with this separator; none unless all names are settings."""
    text = _MARKUP.sub("", heading)
    if len(text) > _LONGEST or sign not in text.lower():
        return ()
    lead = _LEAD.match(text)
    of_training = " (training)" if lead and "train" in lead[0].lower() else ""
    text = text[lead.end() :] if lead else text
    inner = _BRACKETED.fullmatch(text)
    names = tuple(one.strip() for one in _split(inner["inner"] if inner else text, sign))
    columns = [column_of(name) if name else None for name in names]
    settings = {
        column.name
        for column in columns
        if column and column.type == "count" and column.role in _ROLES
    }
    # The whole heading may be another field: `GPUs/node`.
    alone = len(settings) == len(names) > 1 and not settings & known and column_of(heading) is None
    return tuple(name + of_training for name in names) if alone else ()


def _split(text: str, sign: str) -> list[str]:
    return _BY.split(text) if sign == "x" else text.split(sign)


def _parts(cell: str, sign: str, count: int) -> tuple[str, ...] | None:
    """The numbers of a cell, empty if missing; None for any other cell."""
    text = _MARKUP.sub("", cell).strip().strip("()[]{}").strip()
    if not _DIGIT.search(text):
        return ("",) * count
    parts = [part.strip() for part in _split(_NONE.sub("na", text), sign)]
    stated = ["" if part.lower() in _NOT_STATED else part for part in parts]
    if len(parts) != count or not all(_NUMBER.fullmatch(part) for part in stated if part):
        return None
    return tuple(stated)
