"""Logs quoted in a document: a block of code with several steps is read as a log.

Their runs keep the origin `quote`, and get facts of the text around where the log states none.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby

from ...schema.rows import Rows, content_id
from ..logs.dialect import dialects
from ..logs.lines import read_lines
from ..logs.log import LogReader
from .fact import Fact
from .quotes import add_quote, add_settings, read_quoted
from .sections import Quote

OF_STEPS = frozenset(("iteration", "part"))
_OF_EVERY_LINE = frozenset(("iteration", "samples", "train_iters", "epoch"))
# A comment or words alone, except messages of programs that save or evaluate.
_REMARK = re.compile(
    r"\s*(?:#|//|--|==)"
    r"|(?!.*(?:sav|load|checkpoint|eval|valid|warn|start|finish|done|clear|compil))"
    r"\s*[A-Za-z][A-Za-z'-]*+(?:[ ,]{1,2}[A-Za-z][A-Za-z'-]*+)+\s*[:.]?\s*$",
    re.I,
)
LEAST_STEPS = 2  # fewer are a quoted line, not a log


def add_quotes(
    rows: Rows, quotes: Sequence[Quote], everywhere: Sequence[Fact], source_id: str
) -> int:
    """Adds the runs of quoted logs and lines of steps; returns how many lines were read."""
    seen: Counter[str] = Counter()
    read = 0
    for block, group in groupby(quotes, key=lambda quote: quote.line.block):
        lines = list(group)
        if block and _steps(lines) >= LEAST_STEPS:
            read += _add_log(rows, lines, everywhere, source_id)
        else:
            read += sum(add_quote(rows, quote, everywhere, source_id, seen) for quote in lines)
    return read


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
        if between or (steps and step < max(steps)) or printed & steps.get(step, set()):
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
