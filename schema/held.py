"""Views held as temporary tables of the same names, which hide them: computed once, read often.

Binding nested views again and again took three quarters of a page's time. What is held is let go
before anything is written.
"""

from __future__ import annotations

from .warehouse import Warehouse

SMALL = 200_000  # rows, of all tables together
# Each after those that it reads.
OF_RUNS = ("current_uris", "current_loads", "hidden_runs", "beside", "user_facts", "run_stats",
           "runs", "configurations")  # fmt: skip
OF_PAGES = (*OF_RUNS, "measured", "findings", "left_out", "model_flops", "token_rates", "epochs")
OF_SOURCES = ("sources", "companions", "tables", "cells", "facts", "env_flags", "statements",
              "measurements", "topology", "iterations")  # fmt: skip


def hold(warehouse: Warehouse, *views: str) -> None:
    """Compute views that are not held yet; in a small warehouse, queries then run as written."""
    if is_small(warehouse):
        warehouse.rows("SET threads = 1")
        warehouse.rows("PRAGMA disable_optimizer")
    for view in views:
        if view not in warehouse.held:
            warehouse.rows(f"CREATE TEMP TABLE {view} AS SELECT * FROM wh.main.{view}")
            warehouse.held.append(view)


def hold_if_small(warehouse: Warehouse, *views: str) -> None:
    """The same of a small warehouse: for views that hold all that sources say."""
    if is_small(warehouse):
        hold(warehouse, *views)


def is_small(warehouse: Warehouse) -> bool:
    """Whether it takes longer to think about the queries of a page than to run them."""
    [(rows,)] = warehouse.rows(
        "SELECT sum(estimated_size) FROM duckdb_tables() WHERE schema_name = 'raw'"
    )
    return int(rows or 0) < SMALL
