"""A markdown document -> rows of the warehouse, with its coverage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from ...schema.rows import Rows
from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import columns_of
from ...vocabulary.secrets import redact_lines
from ..coverage import Coverage
from .document import read_document
from .quoted_logs import add_quotes
from .sections import Document, FoundTable
from .statements import DASH
from .status import Footnotes
from .truncated_models import without_whole_models
from .variants import add_variants
from .warehouse_rows import RowReader


def read_markdown(text: str, source_id: str) -> tuple[Rows, Coverage]:
    """Every table, quoted log line and statement; secrets are gone before anything is read."""
    document = read_document(redact_lines(text))
    without_whole_models(document.tables)
    rows = Rows()
    for warning in document.warnings:
        rows.warn(*warning)
    legends = {legend.subject: legend for legend in reversed(document.legends)}
    if legends:
        marks = {mark for found in document.tables for mark in _marks(found)}
        legends = {
            subject: one for subject, one in legends.items() if subject in marks or subject == DASH
        }
    reader = RowReader(
        source_id, rows, Footnotes(legends.values()), document.everywhere, document.accumulations
    )
    for table in document.tables:
        reader.add(table, "markdown")
    add_variants(rows, document.tables)
    quoted = add_quotes(rows, document.quotes, document.everywhere, source_id)
    for statement in [*document.statements, *legends.values()]:
        rows.add("statements", **asdict(statement))
    return rows, _coverage(document, quoted)


def _marks(found_table: FoundTable) -> Iterator[str]:
    columns = columns_of(found_table.table.header.cells)
    for row in found_table.table.rows:
        for raw, column in zip(row.cells, columns, strict=False):
            yield from parse_cell(raw, column).marks


def _coverage(document: Document, quoted: int) -> Coverage:
    """Prose counts as known: a document is more than its numbers."""
    tables = [table for table in document.tables if table.number is not None]
    rows = sum(2 + len(table.table.rows) for table in tables)
    read = rows + quoted + len(document.statements)
    return Coverage(
        kind="document",
        format="markdown",
        title=document.title,
        lines=document.lines,
        lines_read=read,
        lines_known=max(0, document.lines - read),
        lines_unread=0,
        tables=len(tables),
        tables_other=len(document.tables) - len(tables),
    )
