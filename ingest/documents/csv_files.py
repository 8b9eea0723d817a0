"""CSV and TSV files with one header row, read by the headings and cell grammar of tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ...schema.rows import Rows
from ...vocabulary.headings import is_benchmark
from ...vocabulary.secrets import redact_lines
from ..coverage import Coverage
from .grid import MOST_ROWS, Table, TableRow, endless
from .sections import FoundTable
from .training_tables import are_steps
from .warehouse_rows import RowReader

_FIELD_LIMIT = 2**31 - 1  # that of the module, 128 KiB, would fail the file
_TITLES = 5  # first rows that are searched for the headings
# An export of bench itself would count every run twice.
_OWN_COLUMNS = frozenset(("run", "where")), frozenset(("runs", "where"))
_OWN_IDS = frozenset(("run_id", "table_id"))
# schema/rows.py: content_id; records/scrub.py: keyed_id
_OWN_ID = re.compile(r"[0-9a-f]{12}|k[0-9a-f]{11}")


def read_separated(text: str, source_id: str, form: str) -> tuple[Rows, Coverage]:
    """The table of a file; `form` is csv or tsv."""
    table = _table(redact_lines(text), form)
    lines = text.count("\n") + (not text.endswith("\n"))
    if table is None:
        return Rows(), Coverage(form, None, None, lines, 0, lines, 0)
    cells = [row.cells for row in table.rows]
    others = _is_own(table) or are_steps(table.header.cells, cells)
    read_as_runs = is_benchmark(table.header.cells) and not others
    rows = Rows()
    if read_as_runs and len(table.rows) > MOST_ROWS:
        rows.warn(*endless(table))
        read_as_runs = False
    number = 1 if read_as_runs else None
    RowReader(source_id, rows).add(FoundTable(table, number, (), []), form)
    read = len(table.rows) + 1 if number else 0
    other = 0 if number else 1
    return rows, Coverage(form, form, None, lines, read, lines - read, 0, number or 0, other)


def _is_own(table: Table) -> bool:
    """Whether bench wrote the table: the columns of its listings, or runs by its own ids."""
    headings = table.header.cells
    if any(names <= set(headings) for names in _OWN_COLUMNS):
        return True
    places = [at for at, name in enumerate(headings) if name in _OWN_IDS]
    cells = (row.cells[at] for at in places for row in table.rows if at < len(row.cells))
    ids = [cell for cell in cells if cell]  # a run of a log is of no table
    return bool(ids) and all(map(_OWN_ID.fullmatch, ids))


def _table(text: str, form: str) -> Table | None:
    csv.field_size_limit(_FIELD_LIMIT)
    first = _first_line(text)
    delimiters = "\t" if form == "tsv" else sorted(",;\t", key=first.count, reverse=True)
    # A line of title has other commas.
    headed = (one for one in delimiters if _header(_first_rows(text, one)) is not None)
    rows = list(_rows(_reader(text, next(headed, delimiters[0]))))
    if not rows:
        return None
    at = _header(rows) or 0
    header = rows[at]
    return Table(header, None, ("none",) * len(header.cells), tuple(rows[at + 1 :]))


def _first_rows(text: str, delimiter: str) -> list[TableRow]:
    return list(islice(_rows(_reader(text, delimiter)), _TITLES))


def _reader(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _header(rows: Sequence[TableRow]) -> int | None:
    """The row of the headings: the first, or one below a title of fewer cells."""
    for at, row in enumerate(rows[:_TITLES]):
        if is_benchmark(row.cells):
            return at if all(len(one.cells) < len(row.cells) for one in rows[:at]) else None
    return None


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip() and line[0] != "#"), "")


def _rows(reader: Iterator[list[str]]) -> Iterator[TableRow]:
    line = 1
    for cells in reader:
        # `#GPUs` is a heading, `# from the cluster` a remark
        remark = cells and cells[0].startswith("#") and not is_benchmark(cells)
        if any(cell.strip() for cell in cells) and not remark:
            yield TableRow(line, tuple(cell.strip() for cell in cells))
        line = reader.line_num + 1  # type: ignore[attr-defined]
