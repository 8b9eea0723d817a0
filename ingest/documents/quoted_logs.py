"""Logs quoted in a document: a block of code, or lines one below another, with several steps.

Their runs keep the origin `quote`, and get facts of the text around where the log states none.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from ...schema.rows import Rows, content_id
from ..logs.dialect import dialects
from ..logs.lines import read_lines
from ..logs.log import LogReader
from .fact import Fact
from .quoted_lines import OF_STEPS, add_quote, add_settings, read_quoted
from .sections import Quote

_OF_EVERY_LINE = frozenset(("iteration", "samples", "train_iters", "epoch"))
# A comment or words alone, except messages of programs that save or evaluate.
_REMARK = re.compile(
    r"\s*(?:#|//|--|==)"
    r"|(?!.*(?:sav|load|checkpoint|eval|valid|warn|start|finish|done|clear|compil))"
    r"\s*[A-Za-z][A-Za-z'-]*+(?:[ ,]{1,2}[A-Za-z][A-Za-z'-]*+)+\s*[:.]?\s*$",
    re.I,
)
LEAST_STEPS = 2  # fewer are a quoted line, not a log
LEAST_OF_TEXT = 4  # of lines without the marks of code, which may compare runs


def add_quotes(
    rows: Rows, quotes: Sequence[Quote], everywhere: Sequence[Fact], source_id: str
) -> int:
    """Adds the runs of quoted logs and lines of steps; returns how many lines were read."""
    seen: Counter[str] = Counter()
    read = 0
    for lines in _passages(quotes):
        least = LEAST_STEPS if lines[0].line.block else LEAST_OF_TEXT
        if len(lines) >= least and _steps(lines) >= least:
            read += _add_log(rows, lines, everywhere, source_id)
        else:
            read += sum(add_quote(rows, quote, everywhere, source_id, seen) for quote in lines)
    return read


def _passages(quotes: Sequence[Quote]) -> Iterator[list[Quote]]:
    """Each block of code, and the lines of text without an empty one in between."""
    for block, group in groupby(quotes, key=lambda quote: quote.line.block):
        lines = list(group)
        if block:
            yield lines
            continue
        ends = [at for at, (one, other) in enumerate(pairwise(lines), 1)
                if other.line.line > one.line.line + 1]  # fmt: skip
        for first, end in pairwise((0, *ends, len(lines))):
            yield lines[first:end]


def _steps(lines: Sequence[Quote]) -> int:
    """The number of steps of a format; 0 if the block quotes two runs.

    Then a step does not increase, or there is text between two steps.
    """
    found: dict[str, dict[int, set[str]]] = defaultdict(dict)
    between = False
    for quote in lines:
        record = read_quoted(quote.line.text, OF_STEPS)
        if record is None:
            between |= bool(found and _REMARK.match(quote.line.text))
            continue
        step = record.fields.get("iteration")
        if not isinstance(step, int):
            continue
        steps, printed = found[record.dialect], set(record.fields) - _OF_EVERY_LINE
        # A step may be printed on several lines, each with other fields.
        if between or (steps and step < next(reversed(steps))) or printed & steps.get(step, set()):
            return 0
        steps.setdefault(step, set()).update(printed)
    return max(map(len, found.values()), default=0)


def _add_log(rows: Rows, lines: Sequence[Quote], everywhere: Sequence[Fact], source_id: str) -> int:
    first = lines[0].line.line
    reader = LogReader(content_id(source_id, "quote", first), dialects())
    for line in read_lines(io.BytesIO(_text(lines, first).encode("utf-8")), above=first - 1):
        reader.feed(line)
    log = reader.finish()
    rows.extend(log.rows)
    topologies = {row["run_id"]: row for row in log.rows.by_table.get("topology", ())}
    for run in log.rows.by_table.get("runs", ()):
        run |= {"source_id": source_id, "origin": "quote"}
        around = next((line for line in lines if line.line.line == run["line"]), lines[0])
        add_settings(rows, run, topologies.get(run["run_id"]), around, everywhere)
    return log.lines_read


def _text(lines: Sequence[Quote], first: int) -> str:
    """The text of the block with its empty lines, without the common indent."""
    by_number = {quote.line.line: quote.line.text for quote in lines}
    indent = min(len(text) - len(text.lstrip()) for text in by_number.values())
    last = lines[-1].line.line
    return "\n".join(by_number.get(number, "")[indent:] for number in range(first, last + 1))
