"""`bench best --neighbours`: what to run next to the best, as a listing or a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.errors import BenchError
from .answers import fitted, write
from .messages import say
from .tables import Format, emit

if TYPE_CHECKING:
    from ..decide.answer import Answer
    from ..decide.asked import Asked
    from ..decide.rows import Row
    from ..schema.warehouse import Warehouse


def plan(
    warehouse: Warehouse, asked: Asked, ranked: Answer, form: Format | None, output: Path | None
) -> None:
    """Write the configurations next to the best; as TOML, a plan of runs."""
    from ..decide.neighbours import memory_of, neighbours
    from ..decide.planned import as_plan
    from ..decide.rows import load
    from ..reports.selection import Selection, select
    from ..reports.short import Names

    if not ranked.rows:
        raise BenchError("there is no best to look beside", hint="bench best says what is left out")
    first = ranked.rows[0]
    select(warehouse, Selection())
    names = Names(uri for (uri,) in warehouse.rows("SELECT uri FROM sources"))

    def allowed(row: Row) -> bool:
        return _holds(warehouse, asked.where, row)

    memory = memory_of(warehouse, first["run"])
    answer = neighbours(names, first, load(warehouse), memory, allowed)
    if output is not None and output.suffix == ".toml":
        emit(as_plan(answer), output)
    else:
        write(fitted(answer, asked), form, output, "neighbours.md")
    say(f"{len(answer.rows)} to run, {len(answer.left_out)} that cannot be; -o plan.toml: a plan")


def _holds(warehouse: Warehouse, where: str | None, row: Row) -> bool:
    """Whether a run with these sizes would satisfy the user's condition."""
    from ..reports.conditions import condition

    if where is None:
        return True
    sizes = [row[name] for name in ("dp", "tp", "pp", "mbs")]
    replaced = "dp, ?::INTEGER AS tp, ?::INTEGER AS pp, ?::INTEGER AS mbs"
    query = f"""SELECT ({condition(warehouse, where)}) IS TRUE FROM (
                SELECT * REPLACE (?::INTEGER AS {replaced}) FROM selected WHERE run_id = ?
                ) AS selected"""
    found = warehouse.rows(query, [*sizes, row["run"]])
    return bool(found and found[0][0])


__all__ = ["plan"]
