"""Steps of logs that a later run repeats from a checkpoint: only the repetition counts.

Computed after each ingest, so that the files may come in any order.
"""

from __future__ import annotations

from datetime import timedelta

from .materialized import OF_CONTINUATIONS, materialize_if_cheap
from .migrate import now_utc
from .sql import sql_file
from .warehouse import Warehouse, transaction

Superseded = tuple[str, int, str]  # run, the first of its repeated iterations, the repeating run

_LOADED = "SELECT 1 FROM raw.events WHERE kind = 'load' LIMIT 1"
_STORED = "SELECT run_id, iteration, superseded_by FROM superseded_steps ORDER BY run_id"


def find_superseded(warehouse: Warehouse) -> list[Superseded]:
    """The superseded steps of all runs that are shown."""
    # Runs in every command that reads paths: few logs continue from a checkpoint.
    if not warehouse.rows(_LOADED):
        return []
    # Its views read each other many times: planning the query takes half a second otherwise.
    materialize_if_cheap(warehouse, *OF_CONTINUATIONS)
    return [
        (run, int(first), again) for run, first, again in warehouse.rows(sql_file("superseded"))
    ]


def superseded_is_stored(warehouse: Warehouse, supersededs: list[Superseded]) -> bool:
    """Whether the stored set is this one."""
    return supersededs == warehouse.rows(_STORED)


def store_superseded(warehouse: Warehouse, supersededs: list[Superseded]) -> bool:
    """Store superseded steps, and the statistics without them; False if they are stored."""
    known = {run: (first, again) for run, first, again in warehouse.rows(_STORED)}
    wanted = {run: (first, again) for run, first, again in supersededs}
    changed = sorted(
        run for run in known.keys() | wanted.keys() if known.get(run) != wanted.get(run)
    )
    if not changed:
        return False
    from .store import restate  # stored sets rarely change

    query = """SELECT DISTINCT l.shown_by FROM raw.runs r JOIN current_loads l USING (load_id)
               WHERE list_contains($runs, r.run_id) ORDER BY ALL"""
    with transaction(warehouse):
        loads = [load for (load,) in warehouse.rows(query, {"runs": changed})]
        [(last,)] = warehouse.rows("SELECT max(found_at) FROM raw.redone")
        # Later than all before, whatever the clock shows.
        at = now_utc() if last is None else max(now_utc(), last + timedelta(microseconds=1))
        warehouse.con.executemany(
            "INSERT INTO raw.redone VALUES (?, ?, ?, ?)",
            [[run, *wanted.get(run, (None, None)), at] for run in changed],
        )
        restate(warehouse.con, loads)
    return True
