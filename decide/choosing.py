"""The runs that a question is about, with what the whole warehouse knows of doubts and spread."""

from __future__ import annotations

from dataclasses import dataclass

from ..reports.conditions import condition
from ..reports.regenerate import benchmark_tables
from ..reports.selection import Selection, select
from ..reports.short import Names
from ..reports.table_ref import TableRef
from ..schema.errors import NOTHING_RECOGNISED, BenchError
from ..schema.warehouse import Warehouse
from .asked import Asked
from .jobs import Spread, spreads
from .rows import Row, Rows, doubts, load, sorted_out


@dataclass(frozen=True, slots=True)
class Chosen:
    """The runs asked for, and what the whole warehouse knows of doubts and spread."""

    names: Names
    rows: list[Row]
    doubted: dict[str, str]
    spreads: dict[str, Spread]

    def sorted_out(self, need: str) -> Rows:
        """The runs that count for what needs a column, and the others."""
        return sorted_out(self.rows, self.doubted, need)


def choose(warehouse: Warehouse, asked: Asked) -> Chosen:
    """The runs asked for; raises BenchError when there are none."""
    select(warehouse, Selection())
    every = load(warehouse)
    if not every:
        error = BenchError(
            "there is no run to decide on", why="what was read holds no row and no log of one",
            hint="bench ingest PATH, or name logs and tables",
        )  # fmt: skip
        error.exit_code = NOTHING_RECOGNISED
        raise error
    where = condition(warehouse, asked.where) if asked.where is not None else None
    select(warehouse, Selection(asked.model, asked.document, where, asked.since))
    if asked.table:
        _keep_table(warehouse, asked.table)
    asked_for = {run for (run,) in warehouse.rows("SELECT run_id FROM selected")}
    rows = [row for row in every if row["run"] in asked_for]
    if not rows:
        raise BenchError(
            "no run fits the filters", why=f"{len(every)} runs are there",
            hint="bench runs lists them; --where, --model and --table say which count",
        )  # fmt: skip
    # Repeats tell of a machine in whatever document they stand; others need no audit.
    machines = {row["system"] for row in rows}
    near = [row for row in every if row["system"] in machines]
    doubted = doubts(warehouse, sorted({row["uri"] for row in near}))
    known = spreads(sorted_out(near, doubted, "pace").kept)
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))
    return Chosen(names, rows, doubted, known)


def _keep_table(warehouse: Warehouse, table: TableRef) -> None:
    _, found = benchmark_tables(warehouse, table.file, table.number)
    ids = [one["table_id"] for one in found]
    warehouse.rows(
        "DELETE FROM selected WHERE list_contains(?::VARCHAR[], table_id) IS NOT TRUE", [ids]
    )
