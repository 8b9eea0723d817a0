"""R9: cells under the wrong headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from ...ingest.cells import parse_cell
from ...ingest.headings import columns_of
from ..book import Book, Row, Table
from ..finding import Finding, Place
from ..rule import Rule
from ..unshift import RESULTS, Move, moves

_MANY = 3  # cells that do not fit: fewer are slips
_QUOTED = 60  # characters of a cell
_FAR = 20.0  # times the median of a column: no such row is a neighbour of the others


def check(book: Book) -> Iterator[Finding]:
    """Rows that are ragged or whose cells do not fit, and the one move that mends them."""
    raws = _raws(book)
    for table in book.tables:
        odd = [row for row in table.rows if row.misfits or "ragged" in row.flags]
        columns = columns_of(table.headings) if odd else []
        alike = _alike(table, odd, raws)
        if alike:
            yield _unread(table, alike, raws)
        for row in odd if not alike else [row for row in odd if row not in alike]:
            cells = raws.get(row.run_id, [])
            yield from _judge(table, row, cells, list(moves(cells, columns)), len(columns))


def _raws(book: Book) -> dict[str, list[str]]:
    """The cells of rows that are not as they should be."""
    query = """SELECT r.run_id, list(c.raw ORDER BY c.column_number)
               FROM runs r JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
               WHERE list_has_any(r.flags, ['misfit', 'ragged']) GROUP BY r.run_id"""
    return dict(book.warehouse.rows(query))


def _alike(table: Table, odd: Sequence[Row], raws: dict[str, list[str]]) -> list[Row]:
    """The rows of a column of which most cells do not fit: it holds what we cannot read."""
    by_column: dict[str, list[Row]] = {}
    for row in odd:
        for name in table.columns if row.misfits else ():
            raw = dict(zip(table.columns, raws.get(row.run_id, []), strict=False)).get(name, "")
            if name and _does_not_fit(name, raw, table):
                by_column.setdefault(name, []).append(row)
    most = max(by_column.values(), key=len, default=[])
    return most if len(most) >= _MANY and 2 * len(most) > len(table.rows) else []


def _unread(table: Table, rows: Sequence[Row], raws: dict[str, list[str]]) -> Finding:
    first = raws.get(rows[0].run_id, [])
    return Finding(
        ("R9",),
        "note",
        "medium",
        "most cells of a column do not fit its heading",
        f"{_misfit(table, first)}, and {len(rows) - 1} rows more: it holds something else, or is "
        "written in a way that is not read",
        tuple(c for row in rows for c in _doubted(table, row, raws.get(row.run_id, []), None)),
    )


def _judge(
    table: Table, row: Row, raws: list[str], found: list[Move], width: int
) -> Iterator[Finding]:
    surplus = len(raws) - width
    if surplus > 0 and not row.misfits and not "".join(raws[width:]).strip():
        return  # an empty cell behind the last column shifts nothing
    if surplus == 0 and not row.misfits:
        return
    move = _best(table, raws, found)
    doubted = _doubted(table, row, raws, move)
    shape = f"{len(raws)} cells under {width} headings" if surplus else _misfit(table, raws)
    if move is None:
        grave = surplus > 0 or _wrong_unit(table, raws)
        yield Finding(
            ("R9",),
            "error" if grave else "note",
            "medium",
            "the cells of this row do not fit their headings",
            shape,
            doubted,
        )
        return
    columns = columns_of(table.headings)
    row.printed, row.misfits, row.unshifted = move.printed(columns), False, True
    yield Finding(
        ("R9",),
        "error",
        "high",
        "the cells of this row stand under the wrong headings",
        f"{shape}; with one missing cell moved every cell fits its column",
        doubted,
        _suggestion(table, raws, move),
    )


def _best(table: Table, raws: Sequence[str], found: Sequence[Move]) -> Move | None:
    """The move after which the row looks most like the other rows of its table."""
    if not found:
        return None
    columns = columns_of(table.headings)
    names = [column.name if column else "" for column in columns]
    filled = Counter[str]()
    others = [row for row in table.rows if row.measured and not row.misfits]
    metrics = {column.name: column.metric for column in columns if column and column.metric}
    for row in others:
        filled.update(name for name, metric in metrics.items() if metric in row.printed)

    def unlike(move: Move) -> tuple[float, bool, int]:
        pattern = sum(
            (cell.kind == "missing") == (2 * filled[name] > len(others))
            for name, cell in zip(names, move.cells, strict=True)
            if name in RESULTS
        )
        taken = raws[move.taken] if move.taken is not None else ""
        return pattern + _far(move, table, others), bool(taken.strip(" -–—")), found.index(move)

    return min(found, key=unlike)


def _far(move: Move, table: Table, others: Sequence[Row]) -> float:
    """How many of its numbers are far from those of the column."""
    printed = move.printed(columns_of(table.headings))
    far = 0
    for metric, number in printed.items():
        values = [row.printed[metric].value for row in others if metric in row.printed]
        middle = median(values) if values else 0
        if middle > 0 and not 1 / _FAR < number.value / middle < _FAR:
            far += 1
    return far


def _doubted(table: Table, row: Row, raws: Sequence[str], move: Move | None) -> tuple[Place, ...]:
    if move is None:
        names = [
            column.name
            for column, raw in zip(columns_of(table.headings), raws, strict=False)
            if column and _does_not_fit(column.name, raw, table)
        ]
        return tuple(row.at(name) for name in names) or (row.at(),)
    changed = [
        place
        for place, raw in enumerate(raws)
        if place >= len(move.raws) or raw != move.raws[place]
    ]
    names = [table.columns[place] if place < len(table.columns) else "" for place in changed]
    return tuple(
        row.at(name or f"#{place + 1}") for place, name in zip(changed, names, strict=True)
    )


def _does_not_fit(name: str, raw: str, table: Table) -> bool:
    column = (
        columns_of(table.headings)[table.columns.index(name)] if name in table.columns else None
    )
    return bool(column and parse_cell(raw, column).misfit)


def _misfit(table: Table, raws: Sequence[str]) -> str:
    pairs = zip(columns_of(table.headings), raws, strict=False)
    odd = [
        f"{_short(raw)!r}: {cell.misfit}"
        for c, raw in pairs
        if c and (cell := parse_cell(raw, c)).misfit
    ]
    return ", ".join(odd)


def _short(raw: str) -> str:
    """A cell as evidence quotes it; the finding's cells have all of it."""
    return raw if len(raw) <= _QUOTED else f"{raw[:_QUOTED]}..."


def _wrong_unit(table: Table, raws: Sequence[str]) -> bool:
    """A unit of another quantity, or a count that is none: not merely words in a number's place."""
    pairs = zip(columns_of(table.headings), raws, strict=False)
    said = [parse_cell(raw, column).misfit or "" for column, raw in pairs if column]
    return any(text and not text.startswith("no number") for text in said)


def _suggestion(table: Table, raws: Sequence[str], move: Move) -> str:
    parts = [
        f"{heading} {new or 'blank'}"
        for heading, new, old in zip(table.headings, move.raws, raws, strict=False)
        if new != old
    ]
    lead = f"drop one {raws[move.taken]!r}: " if move.put is None and move.taken is not None else ""
    return lead + ", ".join(parts)


RULE = Rule(
    "R9",
    10,
    "Cells under the wrong headings",
    "every cell fits the type and unit of its column, and rows have as many cells as headings",
    "no tolerance; a row is put right by moving one missing cell, if then every cell fits",
    "error",
    check,
)
