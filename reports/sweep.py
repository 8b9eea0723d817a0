"""Published tables on a page: with computed cells, or as they were published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..decide.lookup import benchmark_tables
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.cell_pieces import format_pieces
from ..vocabulary.cell_words import LINK
from ..vocabulary.format import significant
from ..vocabulary.printable import visible
from .escape import Markdown, italic, pipe_table, verbatim_cell

_LIFTED = frozenset(
    ("size", "gbs", "layers", "hidden", "heads", "seq_len", "freq", "device", "dtype", "framework")
)
_LEFT = frozenset(("notes", "device", "framework", "dtype", "size"))
_COMPUTED = frozenset(("step_time", "agg_pflops"))  # whose missing cells are
_WARN = " ⚠"
_STATED = {
    "device": "",
    "gbs": "GBS ",
    "mbs": "MBS ",
    "seq_len": "sequence length ",
    "recompute": "recompute ",
    "dtype": "",
    "framework": "",
    "layers": "layers ",
    "hidden": "hidden ",
    "heads": "heads ",
}


@dataclass(frozen=True)
class Sweep:
    """One published table of a page: laid out on demand, since most may not be shown."""

    published: Row
    shown: tuple[Row, ...]  # rows with a result, or planned
    without_result: tuple[Row, ...]
    context: Sequence[Row]
    parts: tuple[Sweep, ...] = ()  # the joined tables of one layout

    @property
    def uri(self) -> str:
        return str(self.published["uri"])

    @property
    def number(self) -> int:
        return int(self.published["number"])

    @property
    def header_line(self) -> int:
        return int(self.published["header_line"])

    @property
    def title(self) -> str:
        path = self.published["heading_path"]
        return str(path[-1]) if path else ""

    @property
    def heading_line(self) -> int | None:
        lines = self.published["heading_lines"]
        return int(lines[-1]) if lines else None

    @property
    def rows(self) -> int:
        return len(self.shown)

    @property
    def counted(self) -> int:
        """The number of its rows that are not excluded."""
        return sum(not row["left_out"] for row in self.shown)

    @cached_property
    def lifted(self) -> dict[int, str]:
        """The columns with a common value in all rows, and its text."""
        return _common(self.published["columns"], self.shown)

    @property
    def common(self) -> str:
        """The values common to its rows, stated once above it."""
        headings = self.published["headings"]
        shared = (f"{headings[at]} {text}" for at, text in self.lifted.items() if text != "-")
        return ", ".join(filter(None, [*shared, self.facts]))

    @property
    def facts(self) -> str:
        """The statements of the surrounding text about its rows."""
        return ", ".join(
            f"{_STATED.get(fact['field'], fact['field'])}{fact['value']} (line {fact['line']})"
            for fact in self.context
        )

    @property
    def table(self) -> Markdown:
        """The table with computed cells and lines; empty without rows."""
        published = self.published
        columns, headings = published["columns"], published["headings"]
        places = [place for place in range(len(headings)) if place not in self.lifted]
        header = [verbatim_cell(headings[place]) for place in places]
        alignment = ["left" if columns[place] in _LEFT else "right" for place in places]
        computed = any(
            row["model_tflops"] is not None and not row["left_out"] for row in self.shown
        )
        body = [_body_row(row, places, published, computed) for row in self.shown]
        if self.parts:
            header, alignment = ["Table", *header], ["right", *alignment]
            numbers = [part.number for part in self.parts for _ in part.shown]
            body = [[str(n), *cells] for n, cells in zip(numbers, body, strict=True)]
        if computed:
            header.append("Model TFLOP/s/process")
            alignment.append("right")
        return pipe_table([*header, "Line"], body, [*alignment, "right"]) if body else Markdown("")


def sweeps(
    tables: Sequence[Row],
    rows: Sequence[Row],
    context: Sequence[Row] = (),
    seconds: Mapping[str, float] | None = None,
) -> list[Sweep]:
    """The tables of a page in document order; `context` are statements of the surrounding text,
    `seconds` the step times by run implied by TFLOPs if no time is stated."""
    around: dict[str, list[Row]] = {}
    for fact in context:
        around.setdefault(fact["table_id"], []).append(fact)
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        known = (seconds or {}).get(row["run_id"])
        by_table.setdefault(row["table_id"], []).append({**row, "seconds": known})
    return [
        _sweep(table, by_table.get(table["table_id"], []), around.get(table["table_id"], []))
        for table in tables
    ]


def merged(found: Sequence[Sweep]) -> list[Sweep]:
    """The tables of a page with adjacent ones of one document and layout merged, without the rows
    that the page lists as excluded."""
    groups: list[list[Sweep]] = []
    for every in found:
        sweep = replace(every, shown=tuple(row for row in every.shown if not row["left_out"]))
        alike = groups and _layout(groups[-1][-1]) == _layout(sweep) and sweep.shown
        groups[-1].append(sweep) if alike else groups.append([sweep])
    return [group[0] if len(group) == 1 else _joined(group) for group in groups]


def _layout(sweep: Sweep) -> object:
    return (sweep.uri, list(sweep.published["columns"]), list(sweep.published["headings"]))


def _joined(group: Sequence[Sweep]) -> Sweep:
    stated = [{_stated_as(fact) for fact in sweep.context} for sweep in group]
    shared = set.intersection(*stated)
    return Sweep(
        group[0].published,
        tuple(row for sweep in group for row in sweep.shown),
        tuple(row for sweep in group for row in sweep.without_result),
        [fact for fact in group[0].context if _stated_as(fact) in shared],
        tuple(
            replace(
                sweep, context=[fact for fact in sweep.context if _stated_as(fact) not in shared]
            )
            for sweep in group
        ),
    )


def _stated_as(fact: Row) -> tuple[Any, ...]:
    return fact["field"], fact["value"], fact["line"]


def _sweep(table: Row, rows: Sequence[Row], context: Sequence[Row]) -> Sweep:
    shown = tuple(row for row in rows if _has_result(row))
    empty = tuple(row for row in rows if not _has_result(row))
    return Sweep(table, shown, empty, context)


def _has_result(row: Row) -> bool:
    return bool(row["status"] == "ok" or row["kind"] == "planned")


def _common(columns: Sequence[str], rows: Sequence[Row]) -> dict[int, str]:
    """Columns of the model or setting with equal cells, stated once above the table, and those
    without any, `-`."""
    found: dict[int, str] = {}
    for place, name in enumerate(columns):
        texts = {_raw(row, place) for row in rows}
        if texts <= {"", "-"}:
            if name not in _COMPUTED:
                found[place] = "-"
        elif name in _LIFTED and len(texts) == 1 and (len(rows) > 1 or name in ("size", "gbs")):
            found[place] = texts.pop()
    return found if rows else {}


def _raw(row: Row, place: int) -> str:
    return str(row["cells"][place]["raw"]) if place < len(row["cells"]) else ""


def _body_row(row: Row, places: Sequence[int], table: Row, computed: bool) -> list[str]:
    columns, headings = table["columns"], table["headings"]
    cells = [_cell(row, place, columns[place], headings[place]) for place in places]
    surplus = [verbatim_cell(cell["raw"]) for cell in row["cells"][len(columns) :]]
    if surplus:
        cells[-1] = " ".join([cells[-1], *surplus])
    if computed:
        cells.append("" if row["left_out"] else italic(significant(row["model_tflops"], 3)))
    return [*cells, f"{row['line']}{_WARN if row['left_out'] else ''}"]


def _cell(row: Row, place: int, name: str, heading: str) -> str:
    if place >= len(row["cells"]):
        return ""
    cell = row["cells"][place]
    in_pflops = name == "agg_pflops" and "p" in heading.lower().partition("flop")[0]
    if in_pflops and cell["kind"] == "missing" and not row["left_out"]:
        return italic(significant(row["documented_aggregate"], 3)) or verbatim_cell(cell["raw"])
    if name == "step_time" and row["seconds"] and cell["kind"] == "missing":
        marked = any("^" in c["raw"] for c in row["cells"] if c["name"] == "tflops")
        return italic(significant(row["seconds"], 3) + ("^" if marked else ""))
    doubted = {name or "-", f"#{place + 1}"} & set(row["doubted"] or ())
    # The target of a link would be most of a table, and is in the source.
    text = LINK.sub(r"\2", cell["raw"])
    return verbatim_cell(text) + (_WARN if cell["invalid_reason"] or doubted else "")


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The markdown of tables, and the cells that differ from their typed values."""

    markdown: str
    not_rebuilt: tuple[str, ...]
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def regenerate(warehouse: Warehouse, name: str, number: int | None) -> Regenerated:
    """The N-th benchmark table of a source, or all; raises BenchError without one."""
    uri, chosen = benchmark_tables(warehouse, name, number)
    parts = [_table(warehouse, uri, table) for table in chosen]
    if len(parts) == 1:
        return parts[0]
    return Regenerated(
        "\n".join(part.markdown for part in parts), tuple(c for p in parts for c in p.not_rebuilt)
    )


def _table(warehouse: Warehouse, uri: str, table: Mapping[str, Any]) -> Regenerated:
    headings, alignment = table["headings"], table["alignment"]
    query = """SELECT row_number, line, column_number, raw, pieces FROM cells
               WHERE table_id = ? ORDER BY row_number, column_number"""
    rows: dict[int, list[str]] = {}
    missed: list[str] = []
    for row, line, column, raw, pieces in warehouse.rows(query, [table["table_id"]]):
        text = format_pieces(json.loads(pieces))
        if text != raw:
            missed.append(f"{uri}:{line} column {column}: {raw!r}")
        rows.setdefault(row, []).append(text if text == raw else raw)
    width = max([len(headings), *map(len, rows.values())])
    header = [*headings, *[""] * (width - len(headings))]
    full = [[*cells, *[""] * (width - len(cells))] for cells in rows.values()]
    sides = [*alignment, *["none"] * (width - len(alignment))][:width]
    body = [[verbatim_cell(cell) for cell in cells] for cells in full]
    markdown = visible(pipe_table([verbatim_cell(name) for name in header], body, sides)) + "\n"
    return Regenerated(markdown, tuple(missed), tuple(header), tuple(map(tuple, full)))
