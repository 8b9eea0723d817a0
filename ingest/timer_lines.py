"""Lines of timers that differ in their numbers only, and the rows that they give.

As with steps, a line that the careful reader has just read is the template: a line of the same
words with as many decimals gives the same timers with other times.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..schema.shapes import shapes
from .arrays import Whole
from .candidates import Candidates
from .dialect import Dialect
from .digits import outline
from .pairs import Pairs
from .record import Record
from .template import NUMBERS

DECIMAL = re.compile(r"[0-9]+(?:\.([0-9]+))?")


@dataclass(frozen=True, slots=True)
class TimerLine:
    """The shape of a line of timers, taken from one that `dialect` has read."""

    dialect: Dialect
    pattern: str  # one group for each time
    names: tuple[str, ...]


def timer_line_of(
    dialect: Dialect, line: str, text: str, record: Record, candidates: Candidates
) -> TimerLine | None:
    """The shape of a line; None where it is not plain. `text` is the line without prefixes."""
    reader, values = dialect.reader, record.fields.get("values")
    if not isinstance(reader, Pairs) or not isinstance(values, dict) or not line.endswith(text):
        return None
    if record.fields.keys() - {"values", "printed_at"} or record.before.strip() or dialect.set:
        return None
    # Of a length that is counted, a longer number may be read otherwise.
    if record.after.strip() or r"\d{" in reader.pair.pattern or reader.groups:
        return None
    if not candidates.only(text, dialect):
        return None
    found = reader.anchor.search(text)
    if found is None:
        return None
    names, pattern, end, at = [], "^", found.end(), 0
    line_start = len(line) - len(text)
    while (pair := reader.pair.match(text, end)) and pair.end() > end:
        number = DECIMAL.fullmatch(pair["value"])
        if number is None:
            return None
        start, end = line_start + pair.start("value"), pair.end()
        decimals = len(number[1] or "")
        pattern += _literal(line[at:start]) + (
            "([0-9]+%s)" % (rf"\.[0-9]{{{decimals}}}" * bool(decimals))
        )
        at = line_start + pair.end("value")
        names.append(pair["key"].strip())
        if not _loose(reader.pair, outline(text[pair.start() : end]), decimals):
            return None
    if not names or names != list(values):
        return None
    return TimerLine(dialect, pattern + _literal(line[at:]) + "$", tuple(names))


@functools.lru_cache(maxsize=1024)
def _loose(pattern: re.Pattern[str], text: str, decimals: int) -> bool:
    """Whether a pair, whose digits are zeros, is read as well with any time of so many decimals."""
    found = pattern.match(text)
    if found is None:
        return False
    start, end = found.span("value")
    for whole in NUMBERS:
        value = whole + ("." + whole[0] * decimals if decimals else "")
        again = pattern.match(text[:start] + value + text[end:])
        if again is None or (again["key"], again["value"]) != (found["key"], value):
            return False
    return True


def _literal(text: str) -> str:
    """An expression for a text as it stands, which Polars takes."""
    return " ".join(re.escape(part) for part in text.split(" "))


def timer_rows(
    shape: TimerLine,
    times: pa.Table,
    lines: Whole,
    iterations: list[int | None],
    run_id: str,
) -> pa.Table:
    """Rows of `timers`; for each line its number and the step that it was printed after."""
    rows, width = len(times), len(shape.names)
    values = pa.array(np.column_stack([column.to_numpy() for column in times.columns]).ravel())
    schema = shapes()["timers"].schema
    columns = {
        "run_id": pa.repeat(pa.scalar(run_id), rows * width),
        "iteration": pa.array(iterations, pa.int64()).take(
            pa.array(np.repeat(np.arange(rows), width))
        ),
        "line": pa.array(np.repeat(lines, width)),
        "name": pa.array(list(shape.names) * rows),
        "min_ms": values,
        "max_ms": values,
    }
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)
