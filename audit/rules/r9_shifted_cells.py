"""R9: cells under the wrong headings, and the single move that restores them.

Cells are parsed again here: the warehouse stores each cell parsed under its own heading, and
this rule needs to know how it parses under another one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from ...vocabulary.cells import STRUCK, parse_cell
from ...vocabulary.headings import columns_of
from ..cell_moves import CellMove, moves
from ..finding import Finding, Place
from ..input import AuditInput, Row, Table
from ..rule import declared

RULE = declared(__name__)


_MANY = 3  # cells that do not fit: fewer are slips
_ALL = 2  # rows that are alike: a single one may as well have lost its place
_ODD = {"ragged", "worded"}
# `~1% faster` under a rate is relative to another row.
_COMPARES = re.compile(
    r"\b(?:faster|slower|better|worse|more|less|higher|lower|same|baseline|gain)\b|更|提升", re.I
)
_QUOTED = 60  # characters of a cell
_NOTATIONS = ("no number", "more than a number")  # an unknown notation need not be wrong
_FAR = 20.0  # times the median of a column: no such row is a neighbour of the others


RESULTS = ("mem", "step_time", "tflops", "agg_pflops", "samples_per_s", "tokens_per_s",
           "tokens_per_s_per_device", "mfu", "hfu", "peak_share")  # fmt: skip


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows that are ragged or whose cells do not fit, and the one move that repairs them."""
    raws = _raws(data)
    for table in data.tables:
        odd = [row for row in table.rows if row.invalid or _ODD & set(row.flags)]
        columns = columns_of(table.headings) if odd else []
        alike = _unknown_notation(table, odd, raws)
        if alike:
            yield _unread(table, alike, raws)
        unheaded = _lacks_headings(table, odd, raws)
        if unheaded:
            yield unheaded
            continue
        unread = {row.run_id for row in alike}
        others = _Others(table)
        for row in (row for row in odd if row.run_id not in unread):
            cells = raws.get(row.run_id, [])
            yield from _judge(table, row, cells, list(moves(cells, columns)), others)


def _raws(data: AuditInput) -> dict[str, list[str]]:
    """The cells of ragged or invalid rows."""
    query = """SELECT r.run_id, list(c.raw ORDER BY c.column_number)
               FROM runs r JOIN cells c ON c.table_id = r.table_id AND c.row_number = r.row_number
               WHERE list_has_any(r.flags, ['misfit', 'worded', 'ragged']) GROUP BY r.run_id"""
    return dict(data.warehouse.rows(query))


def _unknown_notation(table: Table, odd: Sequence[Row], raws: dict[str, list[str]]) -> list[Row]:
    """The rows of a column with mostly invalid cells: a notation that we cannot parse."""
    by_column: dict[str, list[Row]] = {}
    for row in odd:
        for name in table.columns if row.invalid or "worded" in row.flags else ():
            raw = dict(zip(table.columns, raws.get(row.run_id, []), strict=False)).get(name, "")
            if name and _does_not_fit(name, raw, table):
                by_column.setdefault(name, []).append(row)
    most = max(by_column.values(), key=len, default=[])
    return most if len(most) >= _MANY and 2 * len(most) > len(table.rows) else []


def _lacks_headings(table: Table, odd: Sequence[Row], raws: dict[str, list[str]]) -> Finding | None:
    """That every row has equally many cells more than the headings, and each known one fits."""
    widths = {len(raws.get(row.run_id, ())) for row in table.rows}
    width = len(table.headings)
    if len(table.rows) < _ALL or len(widths) > 1 or min(widths) <= width:
        return None
    if any(row.invalid or "worded" in row.flags for row in odd):
        return None
    shape = f"{min(widths)} cells under {width} headings in every row"
    return RULE.finding("unheaded", tuple(row.at() for row in table.rows), shape=shape)


def _unread(table: Table, rows: Sequence[Row], raws: dict[str, list[str]]) -> Finding:
    first = raws.get(rows[0].run_id, [])
    return RULE.finding(
        "unread",
        tuple(c for row in rows for c in _doubted(table, row, raws.get(row.run_id, []), None)),
        invalid=_invalid(table, first),
        number=len(rows) - 1,
    )


def _judge(
    table: Table, row: Row, raws: list[str], found: list[CellMove], others: _Others
) -> Iterator[Finding]:
    width = len(table.headings)
    surplus = len(raws) - width
    if surplus > 0 and not row.invalid and not "".join(raws[width:]).strip():
        return  # an empty cell after the last column shifts nothing
    worded = "worded" in row.flags
    if surplus == 0 and not row.invalid and not worded:
        return
    if worded and not row.invalid and surplus == 0 and _are_remarked(table, raws):
        return
    if surplus == 0 and not worded and _are_struck(table, raws):
        return  # taken back, not misplaced
    move = _best(table, raws, found, others)
    doubted = _doubted(table, row, raws, move)
    shape = f"{len(raws)} cells under {width} headings" if surplus else _invalid(table, raws)
    if worded and not (move and move.shifts_numbers(raws)):
        return  # a remark in place of a number
    if move is None:
        is_error = surplus > 0 or _wrong_unit(table, raws)
        yield RULE.finding(
            "invalid", doubted, severity="error" if is_error else "note", shape=shape
        )
        return
    others.remove(row)
    columns = columns_of(table.headings)
    row.printed, row.invalid, row.unshifted = move.printed(columns), False, True
    others.add(row)
    yield RULE.finding("shifted", doubted, shape=shape, fix=_suggestion(table, raws, move))


def _are_struck(table: Table, raws: Sequence[str]) -> bool:
    """Whether all that does not fit is struck out."""
    pairs = zip(columns_of(table.headings), raws, strict=False)
    odd = [cell for column, raw in pairs if (cell := parse_cell(raw, column)).invalid]
    return all(one.invalid == STRUCK for one in odd)


def _are_remarked(table: Table, raws: Sequence[str]) -> bool:
    """Whether what does not fit begins with a number in a unit of its column: `0.58s → ~0.8s`."""
    pairs = zip(columns_of(table.headings), raws, strict=False)
    odd = [cell for column, raw in pairs if column and (cell := parse_cell(raw, column)).invalid]
    return all((one.invalid or "").startswith(_NOTATIONS[1]) and one.unit for one in odd)


class _Others:
    """The numbers that the other rows of a table print, kept in order while rows are repaired."""

    def __init__(self, table: Table) -> None:
        self.count = 0
        self.values: dict[str, list[float]] = {}
        for row in table.rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Count a row, unless it is invalid."""
        if row.measured and not row.invalid:
            self.count += 1
            for metric, number in row.printed.items():
                insort(self.values.setdefault(metric, []), number.value)

    def remove(self, row: Row) -> None:
        """Count a row no more; it is as it was when it was added."""
        if row.measured and not row.invalid:
            self.count -= 1
            for metric, number in row.printed.items():
                values = self.values[metric]
                del values[bisect_left(values, number.value)]

    def middle(self, metric: str) -> float:
        """The median of a metric; 0 without any."""
        values = self.values.get(metric, [])
        return (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2 if values else 0


def _best(
    table: Table, raws: Sequence[str], found: Sequence[CellMove], others: _Others
) -> CellMove | None:
    """The move after which the row looks most like the other rows of its table."""
    if not found:
        return None
    columns = columns_of(table.headings)
    names = [column.name if column else "" for column in columns]
    metrics = {column.name: column.metric for column in columns if column and column.metric}
    filled = {name: len(others.values.get(metric, ())) for name, metric in metrics.items()}

    def unlike(move: CellMove) -> tuple[float, bool, int]:
        pattern = sum(
            (cell.kind == "missing") == (2 * filled.get(name, 0) > others.count)
            for name, cell in zip(names, move.cells, strict=True)
            if name in RESULTS
        )
        taken = raws[move.taken] if move.taken is not None else ""
        return (
            pattern + _outliers(move, table, others),
            bool(taken.strip(" -–—")),
            found.index(move),
        )

    return min(found, key=unlike)


def _outliers(move: CellMove, table: Table, others: _Others) -> float:
    """The number of values far from those of their columns."""
    far = 0
    for metric, number in move.printed(columns_of(table.headings)).items():
        middle = others.middle(metric)
        if middle > 0 and not 1 / _FAR < number.value / middle < _FAR:
            far += 1
    return far


def _doubted(
    table: Table, row: Row, raws: Sequence[str], move: CellMove | None
) -> tuple[Place, ...]:
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
    ) or (row.at(),)  # a missing blank cell at the end changes none


def _does_not_fit(name: str, raw: str, table: Table) -> bool:
    column = (
        columns_of(table.headings)[table.columns.index(name)] if name in table.columns else None
    )
    return bool(column and parse_cell(raw, column).invalid)


def _invalid(table: Table, raws: Sequence[str]) -> str:
    pairs = zip(columns_of(table.headings), raws, strict=False)
    odd = [
        f"{_short(raw)!r}: {cell.invalid}"
        for c, raw in pairs
        if c and (cell := parse_cell(raw, c)).invalid
    ]
    return ", ".join(odd)


def _short(raw: str) -> str:
    """A cell as quoted in evidence; the finding's cells have its full text."""
    return raw if len(raw) <= _QUOTED else f"{raw[:_QUOTED]}..."


def _wrong_unit(table: Table, raws: Sequence[str]) -> bool:
    """A unit of another quantity, or an invalid count: not merely words in place of a number."""
    pairs = zip(columns_of(table.headings), raws, strict=False)
    problems = [
        parse_cell(raw, column).invalid or ""
        for column, raw in pairs
        if column and not _COMPARES.search(raw)
    ]
    return any(text and not text.startswith(_NOTATIONS) for text in problems)


def _suggestion(table: Table, raws: Sequence[str], move: CellMove) -> str:
    parts = [
        f"{heading} {new or 'blank'}"
        for heading, new, old in zip(table.headings, move.raws, raws, strict=False)
        if new != old
    ]
    lead = f"drop one {raws[move.taken]!r}: " if move.put is None and move.taken is not None else ""
    return lead + ", ".join(parts)
