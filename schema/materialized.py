"""Views kept as temporary tables of the same names, which hide them: computed once, read often.

Binding nested views again and again took three quarters of a page's time. They are released
before anything is written.
"""

from __future__ import annotations

from .warehouse import Warehouse

SMALL = 200_000  # rows, of all tables together
# Each after those that it reads.
OF_RUNS = ("current_uris", "current_loads", "hidden_runs", "annotations", "user_facts", "run_stats",
           "judged_runs", "runs", "configurations")  # fmt: skip
OF_SOURCES = ("sources", "companions", "tables", "cells", "facts", "env_flags", "statements",
              "measurements", "topology", "iterations")  # fmt: skip
_MORE_OF_RUNS = ("measured", "findings", "left_out", "model_flops", "token_rates", "regimes")
OF_PAGES = (*OF_RUNS, *_MORE_OF_RUNS)
OF_CONTINUATIONS = ("current_uris", "current_loads", "hidden_runs", "judged_runs", "runs",
                    "topology", "iterations", "events", "continuations")  # fmt: skip
# What the views of pages read of sources, several times each.
_READ_OF_SOURCES = OF_SOURCES[: OF_SOURCES.index("topology")]
# The tables with a row for each line, cell or argument of a source: no other is larger.
_COUNTED = ("cells", "facts", "iterations", "timers", "memory")


def materialize(warehouse: Warehouse, *views: str) -> None:
    """Compute views that are not held yet; in a small warehouse, queries then run as written."""
    if is_small(warehouse) and not warehouse.materialized:
        warehouse.rows("SET threads = 1")
        warehouse.rows("PRAGMA disable_optimizer")
    for view in views:
        if view not in warehouse.materialized:
            warehouse.rows(f"CREATE TEMP TABLE {view} AS SELECT * FROM wh.main.{view}")
            warehouse.materialized.append(view)


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
