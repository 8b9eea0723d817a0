"""Views kept as tables, computed once and read often: in the file of a small warehouse, else for
as long as it is open.

Binding nested views again and again took three quarters of a page's time. Every transaction drops
them before anything is written, so none is ever older than what it shows.
"""

from __future__ import annotations

import duckdb

from .migrate import STORED_VIEWS
from .warehouse import Warehouse, transaction

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
# What the views of pages read of sources, several times each.
_READ_OF_SOURCES = OF_SOURCES[: OF_SOURCES.index("topology")]
# What is kept in the file: all but rows that are stored once already, line by line.
STORED = (*OF_PAGES, *_READ_OF_SOURCES, "continuations")
# The tables with a row for each line, cell or argument of a source: no other is larger.
_COUNTED = ("cells", "facts", "iterations", "timers", "memory")


def materialize(warehouse: Warehouse, *views: str) -> None:
    """Hide views behind tables; in a small warehouse, queries then run as written.

    Those that the file has are read from there, the others are computed.
    """
    if is_small(warehouse) and not warehouse.materialized:
        warehouse.rows("SET threads = 1")
        warehouse.rows("PRAGMA disable_optimizer")
    # Who may write would be left with views of tables that the next transaction drops.
    stored = STORED if warehouse.read_only and views_are_stored(warehouse) else ()
    for view in views:
        if view in warehouse.materialized:
            continue
        if view in stored:
            warehouse.rows(f"CREATE TEMP VIEW {view} AS FROM wh.{STORED_VIEWS}.{view}")
        else:
            warehouse.rows(f"CREATE TEMP TABLE {view} AS SELECT * FROM wh.main.{view}")
        warehouse.materialized.append(view)


def views_are_stored(warehouse: Warehouse) -> bool:
    """Whether the file has them; the last of them is there with all others or not at all."""
    if warehouse.stores_views is None:
        try:
            warehouse.rows(f"FROM {STORED_VIEWS}.{STORED[-1]} LIMIT 0")
            warehouse.stores_views = True
        except duckdb.CatalogException:
            warehouse.stores_views = False
    return warehouse.stores_views


def lacks_stored_views(warehouse: Warehouse) -> bool:
    """Whether `store_views` would store any: a small warehouse without them."""
    return not views_are_stored(warehouse) and is_small(warehouse)


def store_views(warehouse: Warehouse) -> None:
    """Keep the views of a small warehouse in its file, until something is written to it.

    The warehouse is confined to its file from then on. Raises BenchError when the disk is full, and
    for a view that reads another file.
    """
    if not is_small(warehouse):
        return
    warehouse.confine()
    materialize(warehouse, *STORED)
    with transaction(warehouse, STORED):
        warehouse.con.execute(f"CREATE SCHEMA {STORED_VIEWS}")
        for view in STORED:
            warehouse.con.execute(f"CREATE TABLE {STORED_VIEWS}.{view} AS FROM temp.main.{view}")


def materialize_if_small(warehouse: Warehouse, *views: str) -> None:
    """The same of a small warehouse: for views that hold all that sources say."""
    if is_small(warehouse):
        materialize(warehouse, *views)


def materialize_pages(warehouse: Warehouse) -> None:
    """What pages read: the views of runs, and of a small warehouse those that they are made of."""
    materialize(warehouse, *OF_RUNS)
    materialize_if_small(warehouse, *_READ_OF_SOURCES)
    materialize(warehouse, *OF_PAGES)


def is_small(warehouse: Warehouse) -> bool:
    """Whether it takes longer to think about the queries of a page than to run them."""
    if warehouse.small is None:
        # DuckDB's own list of its tables takes 15 ms: it makes all of its own views first.
        counts = " + ".join(f"(SELECT count(*) FROM raw.{table})" for table in _COUNTED)
        [(rows,)] = warehouse.rows(f"SELECT {counts}")
        warehouse.small = int(rows) < SMALL
    return warehouse.small
