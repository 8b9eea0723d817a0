"""A parsed file: its rows as Arrow tables to store, and counts for the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ...schema.arrow import Tables, divided, to_arrow, to_arrow_together
from ...schema.incremental import Part, Stored
from ...schema.rows import Row, Rows
from ...schema.spill import Spill
from ...vocabulary.secrets import REDACTED, Redactions, redact_inside, redact_json, redact_text
from .source import read_file
from .task import ReadFile, Task

REMARKS_KEPT = 1000  # of one file are shown; the warehouse has all of them
# What code that is wrong raises, and a file that takes all memory. Whatever else a machine or a
# person does has other exceptions.
DEFECTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip


@dataclass(slots=True)
class Parsed:
    """The rows of one file, and counts of them; `kind` is None if it is no log or table.

    Of a log that may grow `part` has the rows that stay, and `tables` those that may change.
    """

    kind: str | None = None
    tables: Spill = field(default_factory=Spill)
    part: Part | None = None
    resumed: bool = False
    source: Row | None = None
    counts: Counter[str] = field(default_factory=Counter)  # rows by table
    remarks: list[Row] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    tables_other: int = 0  # tables of a document that are no benchmarks
    redacted_before: int = field(default_factory=lambda: Redactions.count)

    def add(self, rows: Rows) -> None:
        """Counts and converts the rows read since the last call. Raises OSError: a full disk."""
        redact_rows(rows, self.redacted_before)
        self.tables.add(to_arrow(rows))
        self.count(rows)

    def count(self, rows: Rows) -> None:
        """Counts rows that are converted elsewhere."""
        for name, found in rows.by_table.items():
            self.counts[name] += len(found)
        for name, many in rows.tables.items():
            self.counts[name] += sum(table.num_rows for table in many)
        self.remarks += rows.by_table.get("warnings", ())[: REMARKS_KEPT - len(self.remarks)]
        self.models.update(str(r["model"]) for r in rows.by_table.get("runs", ()) if r.get("model"))
        for row in rows.by_table.get("sources", ()):
            self.source = row

    def finish(self, read: ReadFile) -> None:
        """Sets what is known only at the end of the file."""
        self.kind, self.resumed = read.kind, read.resumed
        self.tables_other = read.coverage.tables_other if read.coverage else 0


@dataclass(frozen=True, slots=True)
class ParsedTogether:
    """Several small files, converted together, as another process returns them.

    None: a file that has to be read, or refused, separately.
    """

    files: Sequence[Parsed | None]
    tables: Tables
    lengths: Sequence[Mapping[str, int]]

    def divided(self) -> Sequence[Parsed | None]:
        """The files, each with its tables."""
        read = filter(None, self.files)
        for file, tables in zip(read, divided(self.tables, self.lengths), strict=True):
            file.tables.keep_in_memory(tables)
        return self.files


def parse(task: Task, before: Stored | None = None) -> Parsed:
    """One file, piece by piece; `before`: the stored part of a grown log.

    Raises what `read_file` raises, Defect where a reader of ours fails.
    """
    parsed = Parsed()
    with contained():
        read = read_file(task, parsed.add)
        if read.checkpoint:
            parsed.part = Part(read.checkpoint, before if read.resumed else None, parsed.tables)
            parsed.tables = Spill()
        parsed.add(read.rows)
        parsed.finish(read)
    return parsed


def parse_together(tasks: Sequence[Task]) -> ParsedTogether:
    """Small files in order; each with the result of `parse`."""
    files: list[Parsed | None] = []
    every: list[Rows] = []
    for task in tasks:
        before = Redactions.count
        try:
            read = read_file(task)
            redact_rows(read.rows, before)
        except (OSError, *DEFECTS):
            files.append(None)
            continue
        every.append(read.rows)
        files.append(parsed := Parsed())
        parsed.finish(read)
    try:
        tables, lengths = to_arrow_together(every)  # first, since it may add warnings to the rows
    except DEFECTS:  # of one of them
        return ParsedTogether([None] * len(files), {}, ())
    for one, rows in zip(filter(None, files), every, strict=True):
        one.count(rows)
    return ParsedTogether(files, tables, lengths)


class Defect(OSError):
    """bench failed to read a file, as if the disk had: it is reported with the others."""


@contextmanager
def contained() -> Iterator[None]:
    """Turn the exceptions of a defect into a Defect with their place in our code."""
    try:
        yield
    except DEFECTS as error:
        raise Defect(f"bench failed to read it: {described(error)}; please report it") from error


def described(error: Exception) -> str:
    """The kind of an exception and the line that raised it; its text may quote the file."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = ""
    if trace:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(error).__name__}{place}"


_JSON = frozenset(("pieces",))  # of cells
_LINES = ("line", "status_line", "header_line")
_PLAIN = frozenset((type(None), bool, int, float))
# Texts without a secret: names, kinds and settings come again in row after row, file after file.
_CLEAN: set[str] = set()
_MOST, _LONGEST = 50_000, 100  # such texts, and letters of one


def redact_rows(rows: Rows, since: int) -> None:
    """Take secrets out of every text of rows, and warn of each line that had one.

    `since` is the count of `Redactions` before the file was read: readers redact secrets by
    their names. If there is none since, the file itself contains the mark of a redaction.
    """
    lines: dict[object, None] = {}
    for name, found in rows.by_table.items():
        for row in found if name != "warnings" else ():
            for key in _redact(row):
                lines[_line_of(row, key)] = None
    for name, many in rows.tables.items():
        rows.tables[name] = [_redact_columns(table, lines) for table in many]
    for row in rows.by_table.get("warnings", ()):
        row["message"] = redact_text(str(row["message"]))
    if Redactions.count == since:
        return
    for line in lines:
        rows.warn("redacted", "a secret was redacted", line if isinstance(line, int) else None)


def _line_of(row: Row, name: str) -> object:
    """The line of a text of a row; None for a row without one."""
    lines = ("status_line", *_LINES) if name == "status_reason" else _LINES
    return next((row[key] for key in lines if row.get(key) is not None), None)


def _redact(row: Row) -> Iterator[str]:
    """The names of the texts of a row that are redacted, also of before."""
    for key, value in row.items():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, str):
            if value in _CLEAN:
                continue
            row[key] = text = _clean(value, key)
            if REDACTED in text:
                yield key
        elif isinstance(value, (list, tuple, Mapping)) and value:
            row[key] = redact_inside(value)
            if REDACTED in str(row[key]):
                yield key


def _redact_columns(table: pa.Table, lines: dict[object, None]) -> pa.Table:
    """The same for columnar rows, each text once."""
    for place, column in enumerate(table.schema):
        if not pa.types.is_string(column.type):
            continue
        texts = [text for text in table[place].unique().to_pylist() if text and text not in _CLEAN]
        clean = {text: _clean(text, column.name) for text in texts}
        if any(REDACTED in text for text in clean.values()):
            whole = [clean.get(text, text) for text in table[place].to_pylist()]
            if "line" in table.column_names:
                found = zip(table["line"].to_pylist(), whole, strict=True)
                lines.update((line, None) for line, text in found if text and REDACTED in text)
            table = table.set_column(place, column, [whole])
    return table


def _clean(value: str, column: str) -> str:
    text = redact_json(value) if column in _JSON else redact_text(value)
    if text == value and REDACTED not in text and len(text) <= _LONGEST:
        _remember(text)
    return text


def _remember(text: str) -> None:
    if len(_CLEAN) >= _MOST:
        _CLEAN.clear()
    _CLEAN.add(text)
