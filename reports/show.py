"""Everything that is known of one run, and where each of it stands."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from ..schema.errors import BenchError
from ..schema.held import OF_PAGES, hold_if_small
from ..schema.warehouse import Warehouse
from .selection import source_named

Listing = tuple[list[str], list[tuple[Any, ...]]]


def show(warehouse: Warehouse, asked: str) -> Listing:
    """The parts of one run with the lines that state them; raises BenchError unless one fits."""
    run_id = find_run(warehouse, asked)
    hold_if_small(warehouse, *OF_PAGES)
    rows = warehouse.rows(_parts(), {"run": run_id})
    return ["part", "name", "value", "unit", "stated_at"], rows


def find_run(warehouse: Warehouse, asked: str) -> str:
    """The run that `asked` means: an id, the start of one, or FILE:LINE."""
    place = re.fullmatch(r"(.+):(\d+)", asked)
    if place:
        uri = source_named(warehouse, place[1])
        query = """SELECT run_id FROM runs WHERE uri = ? AND line <= ? AND last_line >= ?
                   ORDER BY line DESC LIMIT 1"""
        found = warehouse.rows(query, [uri, int(place[2]), int(place[2])])
    else:
        found = warehouse.rows(
            "SELECT run_id FROM runs WHERE starts_with(run_id, ?) ORDER BY run_id LIMIT 9",
            [asked.lower()],
        )
    if len(found) == 1:
        return str(found[0][0])
    if not found:
        raise BenchError(
            f"no run {asked!r}",
            hint="bench runs --all lists ids and places; or name one as FILE:LINE",
        )
    listed = ", ".join(run for (run,) in found)
    raise BenchError(f"several runs begin with {asked!r}", why=listed, hint="write more of the id")


@cache
def _parts() -> str:
    return (files(__package__ or "bench.reports") / "show.sql").read_text("utf-8")
