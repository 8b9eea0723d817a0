"""One run with its values and their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from sys import getsizeof
from typing import Any

from ..audit.places import column_of
from ..ingest.files.source_text import StoredText, stored_texts, text_as_read
from ..ingest.logs.header import declared_arguments
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.secrets import redact_text
from .tree import Node, SourceSpan

Interval = tuple[int, int, float, int, bool]  # line, iteration, value, grade, used
# Cells of a table whose name differs from the run's column.
_CELLS = {"model": "size", "params_b": "size", "params_stated": "params"}
_KEPT_BYTES = 2**26  # of texts: all would fill the memory;
_KEPT = 2  # at least: a log, and the document that states its budget
_ON_RANK = "parameters on rank"  # the field of a header's line; the rank follows
UNITS = {
    "gbs": "sequences",
    "mbs": "sequences",
    "seq_len": "tokens",
    "vocab": "tokens",
    "params_b": "1e9 parameters",
    "params_stated": "parameters",
    "params": "parameters",
    "params_computed": "parameters",
    "params_without_embedding": "parameters",
    "tokens_per_step": "tokens",
    "vocab_used": "tokens",
    "world_size": "processes",
}


@dataclass(slots=True)
class Lines:
    """Reads lines of sources below `root`; missing or changed files give no text.

    The texts last used are kept, up to `_KEPT_BYTES` together.
    """

    warehouse: Warehouse
    root: Path
    stored: Mapping[str, StoredText] | None = None  # of all sources, where many are read
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)  # bytes of each kept text
    _states: dict[str, str] = field(default_factory=dict)

    def text(self, uri: str, line: int | None) -> str:
        """A line without secrets; '' if not available."""
        lines = self._read(uri)
        return redact_text(lines[line - 1].strip()) if line and 0 < line <= len(lines) else ""

    def all(self, uri: str) -> list[str]:
        """All lines, stripped, with secrets; empty if not available."""
        return [line.strip() for line in self._read(uri)]

    def begins(self, uri: str, line: int) -> int | None:
        """The column of a line's first character, from 1: that of findings on the whole line."""
        lines = self._read(uri)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return len(text) - len(text.lstrip()) + 1 if text.strip() else None

    def column(self, uri: str, line: int, number: int, raw: str) -> int | None:
        """The column of the first character of a line's n-th cell, from 1."""
        lines = self._read(uri)
        return column_of(lines[line - 1], number, raw) if 0 < line <= len(lines) else None

    def state(self, uri: str) -> str:
        """Why the text of a source is not available; '' if it is."""
        self._read(uri)
        return self._states[uri]

    def _read(self, uri: str) -> list[str]:
        if (text := self._texts.pop(uri, None)) is None:
            stored = self.stored or stored_texts(self.warehouse, uri)
            text, self._states[uri] = text_as_read(self.root, uri, stored.get(uri))
            self._make_room(uri, sum(map(getsizeof, text)))
        self._texts[uri] = text  # as the one used last
        return text

    def _make_room(self, uri: str, size: int) -> None:
        """Drop the texts that were used first, for one of so many bytes."""
        self._sizes[uri] = size
        total = sum(self._sizes.values())
        while len(self._texts) >= _KEPT and total > _KEPT_BYTES:
            dropped = next(iter(self._texts))
            total -= self._sizes.pop(dropped)
            del self._texts[dropped]


@dataclass
class RunContext:
    """A run of the temporary table `selected`, with lookups into the warehouse."""

    warehouse: Warehouse
    lines: Lines
    row: Row
    # Caches by value; see columns.py.
    ways: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    # By metric, prefetched for many runs (many.py): the listed intervals, how many
    # are left out, and how many there are. Empty: queried on demand.
    intervals: Mapping[str, tuple[Sequence[Interval], int, int]] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return str(self.row["run_id"])

    @property
    def uri(self) -> str:
        return str(self.row["uri"])

    @cached_property
    def cells(self) -> dict[str, Row]:
        """The cells of a table's row by column name, and by `#n`."""
        if self.row["table_id"] is None:
            return {}
        query = """SELECT c.*, coalesce(t.headings[c.column_number], '') AS heading
                   FROM cells c JOIN tables t USING (table_id)
                   WHERE c.table_id = ? AND c.row_number = ? ORDER BY c.column_number"""
        return cells_by_name(
            self.warehouse.dicts(query, [self.row["table_id"], self.row["row_number"]])
        )

    @cached_property
    def facts(self) -> dict[tuple[str, str], Row]:
        """Facts of surrounding lines by (scope of an argument or '', field)."""
        query = """SELECT * FROM facts WHERE run_id = ? AND how = 'stated' AND scope <> 'bundle'
                   ORDER BY file IS NOT NULL, line"""
        return facts_by_scope(self.warehouse.dicts(query, [self.run_id]))

    @cached_property
    def measurements(self) -> dict[str, Row]:
        """The measurement of each metric, from `measured`."""
        rows = self.warehouse.dicts("SELECT * FROM measured WHERE run_id = ?", [self.run_id])
        return {row["metric"]: row for row in rows}

    @cached_property
    def user_facts(self) -> dict[str, list[Row]]:
        """Annotations of the run by column; those in effect first."""
        query = """SELECT * FROM annotations WHERE run_id = ? AND field <> 'boundary'
                   ORDER BY outcome <> 'counts', file, line"""
        groups: dict[str, list[Row]] = {}
        for row in self.warehouse.dicts(query, [self.run_id]):
            groups.setdefault(row["field"], []).append(row)
        return groups

    def ends(self, view: str) -> tuple[float | None, float | None]:
        """The range of a metric, from its view."""
        query = f"SELECT low, high FROM {view} WHERE run_id = ?"
        return next(iter(self.warehouse.rows(query, [self.run_id])), (None, None))

    def evaluated(self, value: str, note: str) -> tuple[Any, str | None]:
        """A value and note: SQL expressions over the run's columns of `selected`."""
        query = f"SELECT {value}, {note} FROM selected WHERE run_id = ?"
        [(result, text)] = self.warehouse.rows(query, [self.run_id])
        return result, text

    def printed(self, metric: str, line: int) -> str:
        """The text of a measured number; '' if none is stored."""
        query = """SELECT raw FROM measurements WHERE run_id = ? AND metric = ?
                   ORDER BY line = ? DESC, raw LIMIT 1"""
        rows = self.warehouse.rows(query, [self.run_id, metric, line])
        return str(rows[0][0]) if rows else ""

    def statistics(self, metric: str) -> Row | None:
        """The statistics of a log's intervals."""
        query = "SELECT * FROM run_stats WHERE run_id = ? AND metric = ?"
        return next(iter(self.warehouse.dicts(query, [self.run_id, metric])), None)

    def cell_place(self, cell: Row) -> SourceSpan:
        """The place of a cell."""
        column = self.lines.column(self.uri, cell["line"], cell["column_number"], cell["raw"])
        return SourceSpan(self.uri, cell["line"], column, cell["raw"])

    def line_place(self, line: int | None, raw: str = "", file: str | None = None) -> SourceSpan:
        """A line of the source or its companion file, with its text if available."""
        uri = file or self.uri
        return SourceSpan(uri, line, None, self.lines.text(uri, line) or raw)

    def stated(self, name: str, title: str = "", value: Any = None) -> Node:
        """A column of the run as stated: by a cell, a surrounding line, or an argument."""
        node = self._stated(name, title, value)
        others = [row for row in self.user_facts.get(name, ()) if row["outcome"] in _OTHERWISE]
        others_say = [
            f"{_by(row)} states {row['value']}, {_OTHERWISE[row['outcome']]}" for row in others
        ]
        return (
            replace(node, note="; ".join(filter(None, (node.note, *others_say))))
            if others_say
            else node
        )

    def _stated(self, name: str, title: str, value: Any) -> Node:
        value = self.row.get(name) if value is None else value
        unit = UNITS.get(name, "")
        cell = self.cells.get(_CELLS.get(name, name))
        if cell is not None:
            invalid = cell["invalid_reason"]
            note = f"under {cell['heading']!r}" + (f"; {invalid}" if invalid else "")
            return Node(title or name, value, unit, place=self.cell_place(cell), note=note)
        fact = self._fact(name)
        if fact is not None:
            place = self.line_place(fact["line"], fact["raw"], fact["file"])
            note = _AROUND.get(fact["scope"], f"{fact['field']} in the {fact['scope']}")
            return Node(title or name, value, unit, place=place, note=note)
        # After cells and lines, since values stated by sources have precedence over annotations.
        user = next(iter(self.user_facts.get(name, ())), None)
        if user is not None and user["outcome"] == "counts" and value is not None:
            if user["origin"] == "bundle":
                place = self.line_place(user["line"], f"{name} = {user['value']}", user["file"])
                return Node(title or name, value, unit, place=place, note=f"by {user['reason']}")
            note = f"stated by a user: {_reason(user)}"
            if user["origin"] == "set":
                return Node(title or name, value, unit, note=note)
            place = SourceSpan(user["file"], user["line"], None, f"{name} = {user['value']}")
            return Node(title or name, value, unit, place=place, note=note)
        note = "not stated" if value is None else "as the source was read"
        return Node(title or name, value, unit, note=note)

    def _fact(self, name: str) -> Row | None:
        """The fact of a column: by arguments, which have precedence, else header lines or text."""
        for argument in declared_arguments():
            if argument.column != name:
                continue
            block, _, own = argument.name.rpartition(".")
            fact = self.facts.get((block or "arguments", own))
            if argument.when:
                needed = self.facts.get(("arguments", argument.when))
                fact = fact if needed and needed["raw"] == "True" else None
            if fact and fact["raw"] is not None and argument.value(fact["raw"]) is not None:
                return fact
        fact = self.facts.get(("", name)) or self.facts.get(("", _CELLS.get(name, name)))
        if fact is None and name == "params_stated":
            # Of a model in one part, what its first rank holds is the whole.
            held = (one for (_, field), one in self.facts.items() if field.startswith(_ON_RANK))
            fact = next(held, None)
        return fact


def cells_by_name(cells: Iterable[Row]) -> dict[str, Row]:
    """The cells of a row, in order, by column name and by `#n`."""
    rows: dict[str, Row] = {}
    for cell in cells:
        rows.setdefault(cell["name"] or f"#{cell['column_number']}", cell)
        rows[f"#{cell['column_number']}"] = cell
    return rows


def facts_by_scope(facts: Iterable[Row]) -> dict[tuple[str, str], Row]:
    """The first stated fact by (scope of an argument or '', field)."""
    rows: dict[tuple[str, str], Row] = {}
    for fact in facts:
        around = fact["scope"] in _AROUND
        rows.setdefault(("" if around else fact["scope"], fact["field"]), fact)
    return rows


_AROUND = {
    "cell": "stated in a cell",
    "heading": "stated by the heading",
    "line": "stated by the line",
    "section": "stated by the section",
    "document": "stated elsewhere in the document",
    "legend": "stated by the legend",
    "formula": "stated by the formula",
    "header": "stated by the header of the log",
    "quote": "stated by the quoted line",
    "record": "stated by the record",
}
_OTHERWISE = {
    "contradicts": "not used: the source states another",
    "outvoted": "not used: another annotation has precedence",
    "superseded": "not used: superseded by a later one of its author",
    "withdrawn": "not used: it was withdrawn",
}


def _by(user: Row) -> str:
    """The place of an annotation."""
    place = "" if user["origin"] == "set" else f"{user['file']}:{user['line']}, "
    return f"{place}{_reason(user)}"


def _reason(user: Row) -> str:
    """Reason, author and date of an annotation."""
    when = user["stated_on"].isoformat() if user["stated_on"] else ""
    by = ", ".join(filter(None, (user["author"], when)))
    return f"{user['reason']} ({by})" if by else str(user["reason"])


def run_context(warehouse: Warehouse, lines: Lines, run_id: str) -> RunContext:
    """A run by id; raises BenchError if it is not selected."""
    rows = warehouse.dicts("SELECT * FROM selected WHERE run_id = ?", [run_id])
    if not rows:
        raise BenchError(
            f"the run {run_id} is not among those selected",
            hint="leave --model out, or name another",
        )
    return RunContext(warehouse, lines, rows[0])
