"""Views of pages stored as tables in the file, and updated source by source.

A view of `materialized.STORED` is a table of its name in the schema `materialized`. Every
transaction drops the last of them, which invalidates the others: none is older than its inputs. The
table `inputs` has the inputs of each source's rows, so that after a load only the rows of changed
sources are recomputed, and nothing that a killed process leaves is taken for new.
"""

from __future__ import annotations

from .materialized import OF_ONE_SOURCE, OF_RUNS, STORED, compute, is_small, views_are_stored
from .migrate import LAST_STORED, SOURCES_STORED, STORED_VIEWS
from .sql import sql_file
from .warehouse import Warehouse, transaction

# Inputs of others, or few rows: computed as a whole.
_WHOLE = ("current_uris", "current_loads", "hidden_runs", "annotations", "user_facts", "companions")
# The rows of a source, by its key column; each after its inputs.
_BY_SOURCE = {
    "sources": "source_id", "run_stats": "run_id", "runs": "run_id", "configurations": "run_id",
    "tables": "table_id", "cells": "table_id", "facts": "coalesce(run_id, table_id)",
    "env_flags": "run_id", "statements": "uri", "measurements": "run_id", "measured": "run_id",
    "findings": "audit_id", "model_flops": "run_id", "token_rates": "run_id",
    "utilization": "run_id", "regimes": "run_id",
}  # fmt: skip
# Sources whose rows or findings are made from other inputs, and those of them whose rows are.
_CHANGED = f"""
    SELECT coalesce(o.source_id, n.source_id) AS source_id,
        o.made_from IS DISTINCT FROM n.made_from AS in_rows
    FROM {STORED_VIEWS}.inputs o FULL JOIN inputs n ON n.source_id = o.source_id
    WHERE (o.made_from, o.audited) IS DISTINCT FROM (n.made_from, n.audited)"""
# Keys of their rows, as stored and as computed now.
_IDS = f"""
    WITH rows_of AS (SELECT source_id FROM changed WHERE in_rows)
    SELECT 'source_id' AS kind, source_id AS id FROM rows_of
    UNION SELECT 'run_id', run_id FROM raw.runs SEMI JOIN rows_of USING (source_id)
    UNION SELECT 'run_id', run_id FROM {STORED_VIEWS}.runs SEMI JOIN rows_of USING (source_id)
    UNION SELECT 'table_id', table_id FROM raw.tables SEMI JOIN rows_of USING (source_id)
    UNION SELECT 'table_id', table_id FROM {STORED_VIEWS}.tables
        SEMI JOIN rows_of USING (source_id)
    UNION SELECT 'uri', uri FROM raw.loads SEMI JOIN rows_of USING (source_id)
    UNION SELECT 'audit_id', audit_id FROM raw.audits WHERE load_id IN (
        SELECT load_id FROM raw.loads SEMI JOIN changed USING (source_id))"""
# The changed sources, and the sidecar files with statements about their runs.
_READ = """
    SELECT source_id FROM changed
    UNION SELECT source_id FROM companions WHERE run_id IN (SELECT id FROM ids)"""
# What copies agree in, of each run: marks of its printed digits, and their sum. The view `left_out`
# compares them as text, in which a missing value bears no metric.
_DIGITS = f"""
    SELECT run_id, sum(hash(CASE WHEN value IS NOT NULL THEN metric END, value)::HUGEINT) AS digits,
        list(value) AS values, count(value) < count(*) AS lacks
    FROM {STORED_VIEWS}.measurements
    WHERE metric IN ('step_time_s', 'tflops', 'memory') AND run_id IN (FROM {{runs}})
    GROUP BY run_id"""
# Touched runs whose results have not been made again yet: until then an audit reads the rest.
_LEFT_OVER = f"{STORED_VIEWS}.touched"
# Runs that findings or equal digits may link to changed ones, as stored and as computed now.
_TOUCHED = f"""
    WITH runs AS (
        SELECT id AS run_id FROM ids WHERE kind = 'run_id'
        UNION SELECT run_id FROM {STORED_VIEWS}.findings
            WHERE run_id IS NOT NULL AND audit_id IN (SELECT id FROM ids WHERE kind = 'audit_id')
    ) FROM runs LEFT JOIN ({_DIGITS.format(runs="runs")}) USING (run_id)"""
# Copies agree in every digit: such a run may have become a copy, or the first of some. Most runs
# differ from all touched ones in each value, and need no sum.
_DOUBTFUL = f"""
    WITH near AS (
        SELECT run_id FROM {STORED_VIEWS}.measurements
        WHERE metric IN ('step_time_s', 'tflops', 'memory')
            AND value IN (SELECT unnest(values) FROM touched)
        UNION SELECT run_id FROM {STORED_VIEWS}.measurements
        WHERE metric IN ('step_time_s', 'tflops', 'memory')
            AND value IS NULL AND (SELECT bool_or(lacks) FROM touched)
    ) SELECT run_id FROM touched
    UNION SELECT run_id FROM ({_DIGITS.format(runs="near")}) SEMI JOIN touched USING (digits)"""
# Repetition of a configuration in a table depends on all its rows.
_BESIDE = f"""
    SELECT run_id, table_id FROM {STORED_VIEWS}.configurations
    WHERE run_id IN (FROM doubtful) OR table_id IN (
        SELECT table_id FROM {STORED_VIEWS}.configurations WHERE run_id IN (FROM doubtful))"""
_OF_BESIDE = {
    view: f"WHERE {key} IN (SELECT {key} FROM beside)"
    for key, views in (
        ("table_id", ("cells",)),
        ("run_id", ("configurations", "measurements", "measured", "findings", "env_flags",
                    "regimes", "model_flops", "token_rates", "utilization")),
    )
    for view in views
}  # fmt: skip


def store_views(warehouse: Warehouse, *, results: bool = True) -> None:
    """Update the stored views; without any, or in a small warehouse, all are recomputed.

    Without `results` only those of single sources are updated: an audit reads these, and what it
    finds changes the others. The warehouse is confined to its file from then on. Raises BenchError
    if the disk is full, and for a view that reads another file.
    """
    warehouse.confine()
    if is_small(warehouse) or not _can_be_refreshed(warehouse):
        rebuild(warehouse)
        return
    try:
        with transaction(warehouse):
            _refresh(warehouse, results)
    except BaseException:
        warehouse.materialized.clear()  # rolled back, too
        raise


def rebuild(warehouse: Warehouse) -> None:
    """Recompute all stored views. Errors as those of `store_views`."""
    warehouse.confine()
    compute(warehouse, *OF_RUNS, *STORED)
    with transaction(warehouse, STORED):
        con = warehouse.con
        con.execute(f"DROP SCHEMA IF EXISTS {STORED_VIEWS} CASCADE")
        con.execute(f"CREATE SCHEMA {STORED_VIEWS}")
        if not is_small(warehouse):
            con.execute(f"CREATE TABLE {STORED_VIEWS}.inputs AS {sql_file('inputs')}")
            con.execute(
                f"CREATE TABLE {_LEFT_OVER} "
                "(run_id VARCHAR, digits HUGEINT, values DOUBLE[], lacks BOOLEAN)"
            )
        for view in STORED:
            con.execute(f"CREATE TABLE {STORED_VIEWS}.{view} AS FROM temp.main.{view}")


def verify(warehouse: Warehouse) -> list[str]:
    """The stored views that differ from their views as computed now; none without stored views."""
    if not views_are_stored(warehouse):
        return []
    compute(warehouse, *OF_RUNS, *STORED)
    return [view for view in STORED if _differs(warehouse, view)]


def _differs(warehouse: Warehouse, view: str) -> bool:
    stored, shown = f"FROM {STORED_VIEWS}.{view}", f"FROM temp.main.{view}"
    both = ((stored, shown), (shown, stored))
    return any(warehouse.rows(f"({one} EXCEPT ALL {other}) LIMIT 1") for one, other in both)


def _can_be_refreshed(warehouse: Warehouse) -> bool:
    """Whether there are stored views, possibly of an earlier state."""
    query = """SELECT table_name FROM information_schema.tables
               WHERE table_catalog = 'wh' AND table_schema = ?"""
    there = {name for (name,) in warehouse.rows(query, [STORED_VIEWS])}
    return there >= {"inputs", "touched", *STORED[:-1]}


def _refresh(warehouse: Warehouse, results: bool) -> None:
    for view in (*_WHOLE, "job_endings"):
        _compute(warehouse, view)
    for name, query in (("inputs", sql_file("inputs")), ("changed", _CHANGED), ("ids", _IDS),
                        ("read", _READ), ("touched", _TOUCHED)):  # fmt: skip
        _compute(warehouse, name, query)
    for view in (*_WHOLE, "inputs"):
        _exchange(warehouse, view)
    _refresh_sources(warehouse)
    con = warehouse.con
    con.execute(f"INSERT INTO touched {_TOUCHED}")
    con.execute(f"INSERT INTO touched FROM {_LEFT_OVER}")
    con.execute(
        f"CREATE OR REPLACE TABLE {_LEFT_OVER} AS FROM touched{' LIMIT 0' if results else ''}"
    )
    if results:
        _refresh_results(warehouse)
    else:
        con.execute(f"CREATE TABLE {STORED_VIEWS}.{SOURCES_STORED} AS SELECT 1 LIMIT 0")
    warehouse.release()


def _refresh_sources(warehouse: Warehouse) -> None:
    # From here on the views show the rows of these sources, and nothing else.
    con = warehouse.con
    con.execute("DELETE FROM temp.main.current_uris WHERE source_id NOT IN (FROM read)")
    con.execute("""DELETE FROM temp.main.current_loads
                   WHERE shown_by NOT IN (SELECT load_id FROM temp.main.current_uris)""")
    _compute(
        warehouse, "judged_runs", "FROM wh.main.judged_runs SEMI JOIN current_loads USING (load_id)"
    )
    # Most often an audit alone has followed.
    [(in_rows,)] = warehouse.rows("SELECT coalesce(bool_or(in_rows), false) FROM changed")
    for view, key in _BY_SOURCE.items():
        if not in_rows and view != "findings":
            continue
        _compute(warehouse, view)
        _exchange(warehouse, view, f"{key} IN (SELECT id FROM ids WHERE contains('{key}', kind))")


def _refresh_results(warehouse: Warehouse) -> None:
    con = warehouse.con
    _compute(warehouse, "doubtful", _DOUBTFUL)
    _compute(warehouse, "beside", _BESIDE)
    warehouse.release(("doubtful", "beside"))
    for view in OF_ONE_SOURCE:
        _show_stored(warehouse, view, _OF_BESIDE.get(view, ""))
    its = "run_id IN (FROM doubtful)"
    _compute(warehouse, "left_out")
    _exchange(warehouse, "left_out", its)
    _show_stored(warehouse, "configurations", f"WHERE {its}")
    _compute(warehouse, "results")
    _exchange(warehouse, "results", its)
    last = f"{STORED_VIEWS}.{LAST_STORED}"
    con.execute(f"CREATE TABLE {last} AS FROM wh.main.{LAST_STORED}")
    for view in OF_ONE_SOURCE:
        con.execute(f"DROP VIEW temp.main.{view}")


def _show_stored(warehouse: Warehouse, view: str, which: str) -> None:
    query = f"FROM {STORED_VIEWS}.{view} {which}"
    warehouse.con.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")


def _compute(warehouse: Warehouse, name: str, query: str = "") -> None:
    """A temporary table that hides the view of its name, until it is released."""
    query = query or f"FROM wh.main.{name}"
    warehouse.con.execute(f"CREATE TEMP TABLE {name} AS {query}")
    warehouse.materialized.append(name)


def _exchange(warehouse: Warehouse, view: str, condition: str = "true") -> None:
    """Replace stored rows by the computed ones."""
    con = warehouse.con
    con.execute(f"DELETE FROM {STORED_VIEWS}.{view} WHERE {condition}")
    con.execute(f"INSERT INTO {STORED_VIEWS}.{view} FROM temp.main.{view} WHERE {condition}")
