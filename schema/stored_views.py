"""Views of pages stored as tables in the file, and updated source by source.

A view of `materialized.STORED` is a table of its name in the schema `materialized`. Every
transaction drops the last of them, which invalidates the others: none is older than its inputs. The
table `inputs` has the inputs of each source's rows, so that after a load only the rows of changed
sources are recomputed, and nothing that a killed process leaves is taken for new. Many sources are
recomputed in batches, which bounds the memory.
"""

from __future__ import annotations

from .materialized import (
    OF_CONTINUATIONS,
    OF_ONE_SOURCE,
    OF_RUNS,
    STORED,
    compute,
    is_small,
)
from .migrate import LAST_STORED, SOURCES_STORED, STORED_VIEWS
from .sql import sql_file
from .warehouse import Warehouse, transaction

AT_ONCE = 200_000  # runs of a batch, with those of its last source
# Inputs of others, or few rows: computed as a whole.
_WHOLE = ("current_uris", "current_loads", "hidden_runs", "annotations", "user_facts", "companions")
# The columns that make equal rows of those with a row for each file.
_KEYS = {"current_uris": "uri, generation, load_id", "current_loads": "load_id, uri, shown_by"}
# The rows of a source, by its key column; each after its inputs.
_BY_SOURCE = {
    "sources": "source_id", "run_stats": "run_id", "runs": "run_id", "configurations": "run_id",
    "tables": "table_id", "cells": "table_id", "facts": "coalesce(run_id, table_id)",
    "env_flags": "run_id", "statements": "uri", "measurements": "run_id", "measured": "run_id",
    "findings": "audit_id", "model_flops": "run_id", "token_rates": "run_id",
    "utilization": "run_id", "regimes": "run_id", "digits": "run_id",
}  # fmt: skip
# Sources whose rows or findings are made from other inputs, those of them whose rows are, and new
# ones.
_CHANGED = f"""
    SELECT coalesce(o.source_id, n.source_id) AS source_id,
        o.made_from IS DISTINCT FROM n.made_from AS in_rows, o.source_id IS NULL AS is_new
    FROM {STORED_VIEWS}.inputs o FULL JOIN inputs n ON n.source_id = o.source_id
    WHERE (o.made_from, o.audited) IS DISTINCT FROM (n.made_from, n.audited)"""
_BATCH = """
    WITH sized AS (
        SELECT due.source_id, due.in_rows, due.is_new, count(r.run_id) AS runs
        FROM due LEFT JOIN raw.runs r ON r.source_id = due.source_id GROUP BY ALL
    ), summed AS (
        FROM sized SELECT *, sum(runs) OVER (ORDER BY source_id ROWS UNBOUNDED PRECEDING) AS until
    ) SELECT source_id, in_rows, is_new FROM summed WHERE until - runs < {at_once}"""
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
# What copies agree in, of each row of a table: the sum of marks of its printed digits. The view
# `left_out` compares them as text, in which a missing value bears no metric.
_DIGITS = """
    SELECT run_id, sum(hash(CASE WHEN value IS NOT NULL THEN metric END, value)::HUGEINT) AS digits
    FROM measurements SEMI JOIN (FROM configurations WHERE origin = 'row') USING (run_id)
    WHERE metric IN ('step_time_s', 'tflops', 'memory') GROUP BY run_id"""
# Touched runs whose results have not been computed again yet: an audit comes first.
_LEFT_OVER = f"{STORED_VIEWS}.touched"
# Runs that findings or equal digits may link to changed ones, as stored and as computed now.
_TOUCHED = f"""
    WITH runs AS (
        SELECT id AS run_id FROM ids WHERE kind = 'run_id'
        UNION SELECT run_id FROM {STORED_VIEWS}.findings
            WHERE run_id IS NOT NULL AND audit_id IN (SELECT id FROM ids WHERE kind = 'audit_id')
    ) FROM runs LEFT JOIN {STORED_VIEWS}.digits USING (run_id)"""
# Copies agree in every digit: such a run may have become a copy, or the first of some.
_DOUBTFUL = f"""
    SELECT run_id FROM touched
    UNION SELECT run_id FROM {STORED_VIEWS}.digits SEMI JOIN touched USING (digits)"""
# Repetition of a configuration in a table depends on all its rows.
_BESIDE = f"""
    SELECT run_id, table_id FROM {STORED_VIEWS}.configurations
    WHERE run_id IN (FROM doubtful) OR table_id IN (
        SELECT table_id FROM {STORED_VIEWS}.configurations WHERE run_id IN (FROM doubtful))"""
# Tables of no view: what rows are made from, and what copies agree in.
_OWN = {"inputs": sql_file("inputs"), "digits": _DIGITS}
# Of a batch: whether there are more, whether rows have changed, whether all its sources are new.
_CASE = """
    SELECT (SELECT count(*) FROM due) > count(*), coalesce(bool_or(in_rows), false),
        coalesce(bool_and(is_new), true)
    FROM changed"""
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
    else:
        _refresh_all(warehouse, results=results)


def rebuild(warehouse: Warehouse) -> None:
    """Recompute all stored views. Errors as those of `store_views`."""
    warehouse.confine()
    con = warehouse.con
    [(runs,)] = warehouse.rows("SELECT count(*) FROM raw.runs")
    if runs > AT_ONCE:
        with transaction(warehouse):
            _create_empty(warehouse)
        _refresh_all(warehouse)
        return
    compute(warehouse, *OF_RUNS, *STORED)
    with transaction(warehouse, STORED):
        con.execute(f"DROP SCHEMA IF EXISTS {STORED_VIEWS} CASCADE")
        con.execute(f"CREATE SCHEMA {STORED_VIEWS}")
        for name, query in () if is_small(warehouse) else _OWN.items():
            con.execute(f"CREATE TABLE {STORED_VIEWS}.{name} AS {query}")
        con.execute(f"CREATE TABLE {_LEFT_OVER} (run_id VARCHAR, digits HUGEINT)")
        for view in STORED:
            con.execute(f"CREATE TABLE {STORED_VIEWS}.{view} AS FROM temp.main.{view}")


def _can_be_refreshed(warehouse: Warehouse) -> bool:
    """Whether there are stored views, possibly of an earlier state."""
    query = """SELECT table_name FROM information_schema.tables
               WHERE table_catalog = 'wh' AND table_schema = ?"""
    there = {name for (name,) in warehouse.rows(query, [STORED_VIEWS])}
    return there >= {*_OWN, "touched", *STORED[:-1]}


def _create_empty(warehouse: Warehouse) -> None:
    """Tables of all stored views but the last, without rows."""
    con = warehouse.con
    con.execute(f"DROP SCHEMA IF EXISTS {STORED_VIEWS} CASCADE")
    con.execute(f"CREATE SCHEMA {STORED_VIEWS}")
    for view in STORED[:-1]:
        con.execute(f"CREATE TABLE {STORED_VIEWS}.{view} AS FROM wh.main.{view} LIMIT 0")
        _show_stored(warehouse, view)  # to those that read it
    for name, query in _OWN.items():
        con.execute(f"CREATE TABLE {STORED_VIEWS}.{name} AS FROM ({query}) LIMIT 0")
    con.execute(f"CREATE TABLE {_LEFT_OVER} (run_id VARCHAR, digits HUGEINT)")
    for view in STORED[:-1]:
        con.execute(f"DROP VIEW temp.main.{view}")


def _refresh_all(warehouse: Warehouse, *, results: bool = True) -> None:
    """Update the rows of all changed sources. After a kill the next call continues."""
    more = True
    while more:
        try:
            with transaction(warehouse):
                more = _refresh(warehouse, results=results)
        except BaseException:
            warehouse.materialized.clear()  # rolled back, too
            raise


def _refresh(warehouse: Warehouse, *, results: bool) -> bool:
    """Update the rows of a batch of changed sources; returns whether there are more."""
    for view in (*_WHOLE, "job_endings"):
        _compute(warehouse, view)
    for name, query in (("inputs", _OWN["inputs"]), ("due", _CHANGED),
                        ("changed", _BATCH.format(at_once=AT_ONCE)), ("ids", _IDS),
                        ("read", _READ), ("touched", _TOUCHED)):  # fmt: skip
        _compute(warehouse, name, query)
    [(more, in_rows, are_new)] = warehouse.rows(_CASE)
    results = results or more  # only the last batch waits for an audit, so that all are bounded
    for view in _WHOLE:
        _replace(warehouse, view)
    its = "source_id IN (SELECT source_id FROM changed)"
    _exchange(warehouse, "inputs", its, are_new=are_new)
    _refresh_sources(warehouse, in_rows=in_rows, are_new=are_new)
    con = warehouse.con
    con.execute(f"INSERT INTO touched {_TOUCHED}")
    con.execute(f"INSERT INTO touched FROM {_LEFT_OVER}")
    none = " LIMIT 0" if results else ""
    con.execute(f"CREATE OR REPLACE TABLE {_LEFT_OVER} AS FROM touched{none}")
    if results:
        _refresh_results(warehouse, in_rows=in_rows, are_new=are_new)
    if not results:
        con.execute(f"CREATE TABLE {STORED_VIEWS}.{SOURCES_STORED} AS SELECT 1 LIMIT 0")
    elif not more:
        _store_last(warehouse)
    warehouse.release()
    return bool(more)


def _refresh_sources(warehouse: Warehouse, *, in_rows: bool, are_new: bool) -> None:
    # From here on the views show the rows of these sources, and nothing else.
    con = warehouse.con
    con.execute("DELETE FROM temp.main.current_uris WHERE source_id NOT IN (FROM read)")
    con.execute("""DELETE FROM temp.main.current_loads
                   WHERE shown_by NOT IN (SELECT load_id FROM temp.main.current_uris)""")
    _compute(
        warehouse, "judged_runs", "FROM wh.main.judged_runs SEMI JOIN current_loads USING (load_id)"
    )
    # Most often an audit alone has followed.
    views = _BY_SOURCE if in_rows else {"findings": _BY_SOURCE["findings"]}
    for view, key in views.items():
        _compute(warehouse, view, _OWN.get(view, ""))
        its = f"{key} IN (SELECT id FROM ids WHERE contains('{key}', kind))"
        _exchange(warehouse, view, its, are_new=are_new and in_rows)


def _refresh_results(warehouse: Warehouse, *, in_rows: bool, are_new: bool) -> None:
    con = warehouse.con
    _compute(warehouse, "doubtful", _DOUBTFUL)
    [(others,)] = warehouse.rows("SELECT count(*) FROM doubtful WHERE run_id NOT IN "
                                 "(SELECT id FROM ids WHERE kind = 'run_id')")  # fmt: skip
    # Without others the rows computed just now are all that they are compared with.
    alone = in_rows and not others
    shown = () if alone else OF_ONE_SOURCE
    if not alone:
        _compute(warehouse, "beside", _BESIDE)
        warehouse.release(("doubtful", "beside"))
    for view in shown:
        _show_stored(warehouse, view, _OF_BESIDE.get(view, ""))
    its = "run_id IN (FROM doubtful)"
    _compute(warehouse, "left_out")
    _exchange(warehouse, "left_out", its, are_new=are_new and alone)
    if not alone:
        _show_stored(warehouse, "configurations", f"WHERE {its}")
    _compute(warehouse, "results")
    _exchange(warehouse, "results", its, are_new=are_new and alone)
    for view in shown:
        con.execute(f"DROP VIEW temp.main.{view}")


def _store_last(warehouse: Warehouse) -> None:
    """Store the view whose table marks all others as up to date."""
    con = warehouse.con
    warehouse.release()
    shown = [view for view in OF_CONTINUATIONS if view in STORED[:-1]]
    for view in shown:
        _show_stored(warehouse, view)
    con.execute(f"CREATE TABLE {STORED_VIEWS}.{LAST_STORED} AS FROM wh.main.{LAST_STORED}")
    for view in shown:
        con.execute(f"DROP VIEW temp.main.{view}")


def _show_stored(warehouse: Warehouse, view: str, which: str = "") -> None:
    query = f"FROM {STORED_VIEWS}.{view} {which}"
    warehouse.con.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {query}")


def _compute(warehouse: Warehouse, name: str, query: str = "") -> None:
    """A temporary table that hides the view of its name, until it is released."""
    query = query or f"FROM wh.main.{name}"
    warehouse.con.execute(f"CREATE TEMP TABLE {name} AS {query}")
    warehouse.materialized.append(name)


def _exchange(
    warehouse: Warehouse, view: str, condition: str = "true", *, are_new: bool = False
) -> None:
    """Replace stored rows by the computed ones; of new sources none is stored."""
    con = warehouse.con
    if not are_new:
        con.execute(f"DELETE FROM {STORED_VIEWS}.{view} WHERE {condition}")
    con.execute(f"INSERT INTO {STORED_VIEWS}.{view} FROM temp.main.{view} WHERE {condition}")


def _replace(warehouse: Warehouse, view: str) -> None:
    """Replace all stored rows of a view; of one with a key those that differ alone."""
    key = _KEYS.get(view)
    if key is None:
        _exchange(warehouse, view)
        return
    stored, now = f"{STORED_VIEWS}.{view}", f"temp.main.{view}"
    warehouse.con.execute(f"INSERT INTO {stored} FROM {now} ANTI JOIN {stored} USING ({key})")
    counts = f"SELECT (SELECT count(*) FROM {stored}) > (SELECT count(*) FROM {now})"
    [(too_many,)] = warehouse.rows(counts)
    if too_many:
        gone = f"SELECT s.rowid FROM {stored} s ANTI JOIN {now} USING ({key})"
        warehouse.con.execute(f"DELETE FROM {stored} WHERE rowid IN ({gone})")
