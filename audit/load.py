"""Load the input of the rules from the warehouse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from ..schema.warehouse import Warehouse
from ..vocabulary.cell_pieces import half_digit_of
from .input import AuditInput, Document, Row, Table
from .interval import Printed

_FOUND = ("env", "printed", "other_cells", "notes_tokens", "invalid", "unshifted", "vocab_fitted")
_WORD = re.compile(r"[^\W\d_]{2,}(?:-?\d+)?")
_FIELDS = [f.name for f in fields(Row) if f.name not in _FOUND]
_SPECIAL = {
    "table_id": "c.table_id",
    "number": "c.row_number",
    "nodes": "coalesce(c.nodes_stated, c.nodes)",
    "devices": "c.devices_stated",
    "world": "c.world_size",
    "procs_stated": "c.procs_per_node_stated IS NOT NULL",
    "sharded": "coalesce(c.dp_replicate, c.dp_shard) IS NOT NULL",
}
_AUDITED = """
    CREATE OR REPLACE TEMP TABLE audited AS
    SELECT run_id, table_id FROM configurations
    WHERE origin IN ('row', 'quote')
      AND ($uris::VARCHAR[] IS NULL OR uri IN (SELECT unnest($uris::VARCHAR[])))
      AND ($model::VARCHAR IS NULL OR size = $model
           OR label_params_b(size) = label_params_b($model))"""


def load(
    warehouse: Warehouse,
    uris: Sequence[str] | None = None,
    model: str | None = None,
    *,
    stated: bool = False,
) -> AuditInput:
    """Every document with its rows in order, or those of `uris` or of one size label; with `stated`
    also the statements of its context lines, which are read again for that."""
    rows = _rows(warehouse, uris, model)
    tables = {
        table["table_id"]: Table(
            table["uri"],
            table["table_id"],
            table["header_line"],
            tuple(table["columns"]),
            tuple(table["headings"]),
        )
        for table in warehouse.dicts(
            """SELECT * FROM tables WHERE number IS NOT NULL
               AND table_id IN (SELECT table_id FROM audited) ORDER BY uri, header_line"""
        )
    }
    sources = "SELECT DISTINCT uri FROM runs WHERE origin = 'log' ORDER BY uri"
    documents = {uri: Document(uri) for (uri,) in warehouse.rows(sources) if model is None}
    quotes: dict[str, Table] = {}
    for row in rows:
        documents.setdefault(row.uri, Document(row.uri))
        if row.table_id in tables:
            tables[row.table_id].rows.append(row)
        elif row.origin == "quote":
            quotes.setdefault(row.uri, Table(row.uri, None, row.line, (), ())).rows.append(row)
    for table in (*quotes.values(), *tables.values()):
        if table.rows:
            documents[table.uri].tables.append(table)
    if stated:
        _add_stated(warehouse, documents)
    wanted = None if uris is None else set(uris)
    kept = [one for uri, one in sorted(documents.items()) if wanted is None or uri in wanted]
    return AuditInput(warehouse, kept)


def _rows(warehouse: Warehouse, uris: Sequence[str] | None, model: str | None) -> list[Row]:
    # New documents are audited one at a time: reading the others would be wasted.
    warehouse.rows(_AUDITED, {"uris": None if uris is None else sorted(set(uris)), "model": model})
    chosen = ", ".join(f"{_SPECIAL.get(name, f'c.{name}')} AS {name}" for name in _FIELDS)
    _, found = warehouse.table(
        f"""SELECT {chosen} FROM configurations c SEMI JOIN audited USING (run_id)
            ORDER BY c.uri, c.line"""
    )
    rows = [Row(*values) for values in found]
    by_id = {row.run_id: row for row in rows}
    for row in rows:
        row.flags = tuple(row.flags or ())
        row.invalid = "misfit" in row.flags
    _add_measured(warehouse, by_id)
    _add_quoted(warehouse, by_id)
    _add_env(warehouse, by_id)
    _add_other_cells(warehouse, rows)
    return rows


def _add_measured(warehouse: Warehouse, by_id: dict[str, Row]) -> None:
    query = """SELECT run_id, metric, value, (high - low) / 2, unit, scope, raw
               FROM measurements SEMI JOIN audited USING (run_id)
               WHERE isfinite(value) AND value >= 0
               QUALIFY row_number() OVER (PARTITION BY run_id, metric ORDER BY line, raw) = 1"""
    for run_id, metric, value, half, unit, scope, raw in warehouse.rows(query):
        if run_id in by_id:
            by_id[run_id].printed[metric] = Printed(value, half, unit, scope, raw)


def _add_quoted(warehouse: Warehouse, by_id: dict[str, Row]) -> None:
    """Add quoted log lines as rows, with the precision of their digits."""
    if not any(row.origin == "quote" for row in by_id.values()):
        return  # the steps of a warehouse need not be read
    query = """SELECT i.run_id, i.step_time_s, i.tflops, i.samples_per_s
               FROM iterations i JOIN runs r USING (run_id) SEMI JOIN audited USING (run_id)
               WHERE r.origin = 'quote'
               QUALIFY count(*) OVER (PARTITION BY i.run_id) = 1"""
    for run_id, time, tflops, samples in warehouse.rows(query):
        row = by_id.get(run_id)
        for name, value in (("step_time_s", time), ("tflops", tflops), ("samples_per_s", samples)):
            if row is not None and value is not None:
                row.printed[name] = Printed(value, half_digit_of(value), raw=repr(value))


def _add_env(warehouse: Warehouse, by_id: dict[str, Row]) -> None:
    query = """SELECT run_id, list(name || '=' || coalesce(value, '') ORDER BY name, value)
               FROM env_flags SEMI JOIN audited USING (run_id) GROUP BY run_id"""
    for run_id, flags in warehouse.rows(query):
        if run_id in by_id:
            by_id[run_id].env = tuple(flags)


def _add_other_cells(warehouse: Warehouse, rows: Sequence[Row]) -> None:
    query = """SELECT table_id, row_number, list(trim(raw) ORDER BY column_number) FROM cells
               WHERE coalesce(name, '') IN ('', 'notes') AND raw IS NOT NULL
                 AND table_id IN (SELECT table_id FROM audited) GROUP BY ALL"""
    texts = {(table, number): text for table, number, text in warehouse.rows(query)}
    for row in rows:
        row.other_cells = tuple(texts.get((row.table_id, row.number), ()))
        row.notes_tokens = tuple(
            word.casefold() for text in row.other_cells for word in _WORD.findall(text)
        )


def _add_stated(warehouse: Warehouse, documents: dict[str, Document]) -> None:
    """Add the statements of context lines, even those that a column of the table overrides."""
    from ..ingest.documents.context_lines import configuration  # pages do not need it

    query = """SELECT DISTINCT r.uri, f.line, f.raw FROM facts f JOIN runs r ON r.run_id = f.run_id
               WHERE r.run_id IN (SELECT run_id FROM audited) AND f.line IS NOT NULL ORDER BY ALL"""
    for uri, line, raw in warehouse.rows(query):
        if uri in documents:
            found: list[Any] = configuration(raw, line)
            documents[uri].stated += [(f.field, f.value, line) for f in found if f.value]
