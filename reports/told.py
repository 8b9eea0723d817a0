"""What users tell and sources do not: its mark in tables, and who says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .escape import markdown_cell
from .format import number
from .layout import Markdown, pipe_table
from .short import Names

Row = Mapping[str, Any]
MARK = "‡"
# The columns behind what a cell of a page shows.
DEVICE = ("device",)
SIZE = ("nodes", "devices", "ranks", "devices_per_node", "procs_per_node")
SPLIT = ("dp", "tp", "pp", "cp")
MODEL = ("model", "params_b", "params_stated")
SHAPE = ("layers", "hidden", "heads")
_MOST = 4  # sources that a cell lists


def with_mark(text: str, row: Row, *names: str) -> str:
    """A cell, marked where a user tells one of the columns that it shows."""
    return f"{text}{MARK}" if text and not set(names).isdisjoint(row.get("told") or ()) else text


def told_table(names: Names, rows: Sequence[Row]) -> Markdown:
    """Each thing told: of which source, by whom and why; what it gives way to."""
    body = [
        [
            f"{row['field']} = {markdown_cell(row['value'])}",
            markdown_cell(_of(names, row["uris"])),
            number(row["runs"]),
            markdown_cell(told_by(row)),
            "" if row["stated"] is None else f"{markdown_cell(row['stated'])} counts",
        ]
        for row in rows
    ]
    header = ["Told", "Of", "Runs", "By"]
    if any(row["stated"] is not None for row in rows):
        header.append("But the source states")
    side = ["left", "left", "right", "left", "left"]
    return pipe_table(header, [row[: len(header)] for row in body], side[: len(header)])


def told_by(row: Row) -> str:
    """Where it was told, why, by whom and when."""
    if row["origin"] == "record":
        return str(row["reason"])
    place = "" if row["origin"] == "set" else f"{row['file']}:{row['line']}: "
    when = row["stated_on"].isoformat() if row["stated_on"] else ""
    by = ", ".join(filter(None, (row["author"], when)))
    return f"{place}{row['reason']}" + (f" ({by})" if by else "")


def _of(names: Names, uris: Sequence[str]) -> str:
    listed = ", ".join(map(names.short, uris[:_MOST]))
    return listed + (f" and {len(uris) - _MOST} more" if len(uris) > _MOST else "")
