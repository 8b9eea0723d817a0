"""Where a number is printed: cells, lines of logs, and lines that state it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .found import Match
from .node import Node, Place
from .number import Number
from .world import World

_CELLS = """SELECT t.uri, c.*, coalesce(t.headings[c.column_number], '') AS heading
    FROM cells c JOIN tables t USING (table_id)
    JOIN selected r ON r.table_id = c.table_id AND r.row_number = c.row_number
    WHERE contains(replace(c.raw, ',', ''), ?) ORDER BY t.uri, c.line, c.column_number"""
_LINES = """SELECT uri, line, raw, string_agg(DISTINCT what, ', ' ORDER BY what) AS what,
        count(DISTINCT run_id) AS runs
    FROM (
        SELECT r.uri, f.line, f.raw, f.field AS what, f.run_id
            FROM facts f JOIN selected r USING (run_id) WHERE f.how = 'stated' AND f.file IS NULL
        UNION ALL SELECT uri, line, raw, kind, NULL FROM statements
        UNION ALL SELECT r.uri, m.line, m.raw, m.metric, m.run_id
            FROM measurements m JOIN selected r USING (run_id) WHERE r.origin = 'log'
        UNION ALL SELECT uri, unnest(heading_lines), unnest(heading_path), 'heading', NULL
            FROM tables
    ) WHERE contains(replace(raw, ',', ''), ?) AND uri IN (SELECT uri FROM selected)
    GROUP BY uri, line, raw ORDER BY uri, line"""
_COLUMNS = (
    "consumed_samples", "consumed_tokens", "grad_norm", "iteration", "loss", "lr",
    "samples_per_s", "step_time_s", "tflops", "tokens_per_s", "tokens_per_s_per_device",
)  # fmt: skip
_SERIES = f"""SELECT r.uri, i.line, i.iteration, {", ".join(f"i.{name}" for name in _COLUMNS)}
    FROM iterations i JOIN selected r USING (run_id)
    WHERE {
    " OR ".join(
        f"i.{name} BETWEEN $low AND $high OR i.{name}::DOUBLE * 1000 BETWEEN $low AND $high"
        for name in _COLUMNS
    )
} ORDER BY r.uri, i.line"""  # a time may have been printed in ms


def cells(world: World, number: Number) -> Iterator[Match]:
    """Cells of published tables that print the number."""
    for row in world.warehouse.dicts(_CELLS, [number.digits]):
        if number.stands_in(row["raw"]):
            place = cell_place(world, row)
            where = world.where(row["uri"], row["line"], place.column)
            yield Match(where, f"cell under {row['heading']!r}", cell_node(place, row))


def cell_place(world: World, cell: dict[str, Any]) -> Place:
    """Where a cell stands, to its first character."""
    column = world.lines.column(cell["uri"], cell["line"], cell["column_number"], cell["raw"])
    return Place(cell["uri"], cell["line"], column, cell["raw"])


def cell_node(place: Place, cell: dict[str, Any]) -> Node:
    """A cell as it was read."""
    read = cell["name"] or "no column that is known"
    notes = [f"under {cell['heading']!r}, read as {cell['kind']} of {read}"]
    notes += [f"marks {' '.join(cell['marks'])}"] if cell["marks"] else []
    notes += [f"does not fit: {cell['misfit']}"] if cell["misfit"] else []
    value = cell["value"] if cell["value"] is not None else cell["raw"]
    unit = cell["unit"] if cell["value"] is not None and cell["unit"] else ""
    return Node(cell["name"] or cell["heading"], value, unit, place=place,
                note="; ".join(notes))  # fmt: skip


def lines(world: World, number: Number) -> Iterator[Match]:
    """Lines around tables, and headers of logs, that state the number."""
    for row in world.warehouse.dicts(_LINES, [number.digits]):
        if number.stands_in(row["raw"]):
            text = world.lines.text(row["uri"], row["line"]) or row["raw"]
            place = Place(row["uri"], row["line"], None, text)
            used = f"for {row['runs']} runs" if row["runs"] > 1 else ""
            where = world.where(row["uri"], row["line"])
            yield Match(where, "stated", Node(row["what"], row["raw"], place=place, note=used))


def series(world: World, number: Number) -> Iterator[Match]:
    """Lines of logs that print the number."""
    half = 0.5 * 10.0 ** -len(number.digits.partition(".")[2]) if "e" not in number.digits else 0.0
    slack = min(half, abs(number.value) * 1e-6) or abs(number.value) * 1e-9
    low, high = number.value - slack, number.value + slack
    for row in world.warehouse.dicts(_SERIES, {"low": low, "high": high}):
        uri, line = row["uri"], row["line"]
        text = world.lines.text(uri, line)
        if text and not number.stands_in(text):
            continue
        for name in _COLUMNS:
            value = row[name]
            if value is None or not (low <= value <= high or low <= value * 1000 <= high):
                continue
            note, place = f"iteration {row['iteration']}", Place(uri, line, None, text)
            node = Node(name, float(value), note=note, place=place)
            yield Match(world.where(uri, line), f"{name} of a logged interval", node)
