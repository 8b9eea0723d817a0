"""Views computed once and kept as tables: in the warehouse file, else while it is open.

Binding nested views repeatedly took three quarters of a page's time, and a query for one run reads
all. `stored.py` writes the tables of the file.
"""

from __future__ import annotations

import duckdb

from .migrate import LAST_STORED, SOURCES_STORED, STORED_VIEWS
from .warehouse import Warehouse

SMALL = 200_000  # rows, of all tables together
# Each after those that it reads.
OF_RUNS = ("current_uris", "current_loads", "hidden_runs", "annotations", "user_facts", "run_stats",
           "judged_runs", "runs", "configurations")  # fmt: skip
OF_SOURCES = ("sources", "companions", "tables", "cells", "facts", "env_flags", "statements",
              "measurements", "topology", "iterations")  # fmt: skip
_MORE_OF_RUNS = ("measured", "findings", "model_flops", "token_rates", "utilization", "left_out",
                 "regimes")  # fmt: skip
OF_PAGES = (*OF_RUNS, *_MORE_OF_RUNS)
OF_CONTINUATIONS = ("current_uris", "current_loads", "hidden_runs", "judged_runs", "runs",
                    "topology", "iterations", "events", "continuations")  # fmt: skip
# Inputs of the views of pages, read several times each.
_READ_OF_SOURCES = OF_SOURCES[: OF_SOURCES.index("topology")]
# Inputs of other views alone.
_ON_THE_WAY = ("judged_runs",)
# Views stored in the file: all but rows that are stored once already, line by line.
STORED = (*(view for view in OF_RUNS if view not in _ON_THE_WAY), *_READ_OF_SOURCES, *_MORE_OF_RUNS,
          "results", LAST_STORED)  # fmt: skip
# Those that depend on no other source: an audit reads them before its findings make the rest.
OF_ONE_SOURCE = tuple(view for view in STORED if view not in ("left_out", "results", LAST_STORED))
# Passes of the optimizer that take less time than they save, also in a small warehouse.
_WORTH_IT = ["unused_columns", "column_lifetime", "filter_pushdown"]
# The tables with a row for each line, cell or argument of a source: no other is larger.
_COUNTED = ("cells", "facts", "iterations", "timers", "memory")


def materialize(warehouse: Warehouse, *views: str) -> None:
    """Hide views behind tables; read them from the file if stored there, else compute them."""
    # A writer would be left with views of tables that the next transaction changes.
    stored = stored_views(warehouse) if warehouse.read_only else ()
    _run_as_written(warehouse)
    for view in stored:
        if view in views and view not in warehouse.materialized:
            warehouse.rows(f"CREATE TEMP VIEW {view} AS FROM wh.{STORED_VIEWS}.{view}")
            warehouse.materialized.append(view)
    compute(warehouse, *(view for view in views if not stored or view not in _ON_THE_WAY))


def compute(warehouse: Warehouse, *views: str) -> None:
    """Hide views behind tables that are computed now."""
    _run_as_written(warehouse)
    for view in views:
        if view not in warehouse.materialized:
            warehouse.rows(f"CREATE TEMP TABLE {view} AS SELECT * FROM wh.main.{view}")
            warehouse.materialized.append(view)


def _run_as_written(warehouse: Warehouse) -> None:
    """Skip the optimizer in a small warehouse: there it takes longer than the query."""
    if is_small(warehouse) and not warehouse.hastened:
        warehouse.hastened = True
        warehouse.rows("SET threads = 1")
        # By names: with `disable_optimizer` a window over a whole run compares each of its
        # intervals with all others. A scan of all columns of a run takes longer than the passes
        # that find those in use.
        [(names,)] = warehouse.rows(
            "SELECT string_agg(name) FROM duckdb_optimizers() WHERE name NOT IN (SELECT unnest(?))",
            [_WORTH_IT],
        )
        warehouse.rows(f"SET disabled_optimizers = '{names}'")


def views_are_stored(warehouse: Warehouse) -> bool:
    """Whether the file has all of them in their present state."""
    return stored_views(warehouse) == STORED


def stored_views(warehouse: Warehouse) -> tuple[str, ...]:
    """The views that the file has in their present state: each transaction drops two tables, which
    are recreated once all views, or all of single sources, are up to date."""
    if warehouse.stored is None:
        marks = ((LAST_STORED, STORED), (SOURCES_STORED, OF_ONE_SOURCE))
        warehouse.stored = next((views for mark, views in marks if _exists(warehouse, mark)), ())
    return warehouse.stored


def _exists(warehouse: Warehouse, mark: str) -> bool:
    try:
        warehouse.rows(f"FROM {STORED_VIEWS}.{mark} LIMIT 0")
    except duckdb.CatalogException:
        return False
    return True


def materialize_if_cheap(warehouse: Warehouse, *views: str) -> None:
    """The same for a small warehouse, or one that stores them: for views with all statements of
    sources."""
    if is_small(warehouse):
        materialize(warehouse, *views)
    elif warehouse.read_only:
        stored = stored_views(warehouse)
        materialize(warehouse, *(view for view in views if view in stored))


def materialize_pages(warehouse: Warehouse) -> None:
    """Materialize the views of pages: those of runs, and their inputs where these are cheap."""
    materialize(warehouse, *OF_RUNS)
    materialize_if_cheap(warehouse, *_READ_OF_SOURCES)
    materialize(warehouse, *OF_PAGES, "results")


def is_small(warehouse: Warehouse) -> bool:
    """Whether planning the queries of a page takes longer than running them."""
    if warehouse.small is None:
        # DuckDB's own list of its tables takes 15 ms: it makes all of its own views first.
        counts = " + ".join(f"(SELECT count(*) FROM raw.{table})" for table in _COUNTED)
        [(rows,)] = warehouse.rows(f"SELECT {counts}")
        warehouse.small = int(rows) < SMALL
    return warehouse.small
