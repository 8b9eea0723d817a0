"""Logs that a document quotes: a block of code with several steps in it is read as a log is.

Their runs are quotations still, with the facts around them where the log itself states none.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby

from ..schema.rows import Rows, content_id
from .dialect import dialects
from .fact import Fact
from .lines import read_lines
from .log import LogReader
from .quotes import add_quote, add_settings, read_quoted
from .sections import Quote

OF_STEPS = frozenset(("iteration", "part"))
LEAST_STEPS = 2  # fewer are a line that is quoted, not a log


def add_quotes(
    rows: Rows, quotes: Sequence[Quote], everywhere: Sequence[Fact], source_id: str
) -> int:
    """Add the runs of quoted logs and lines of steps; gives how many lines were read."""
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
    """Steps of a format, none before the one above it: what is no log may quote two runs."""
    found: dict[str, list[int]] = defaultdict(list)
    for quote in lines:
        record = read_quoted(quote.line.text, OF_STEPS)
        step = record.fields.get("iteration") if record else None
        if record is not None and isinstance(step, int):
            found[record.dialect].append(step)
    if any(steps != sorted(steps) for steps in found.values()):
        return 0
    return max((len(set(steps)) for steps in found.values()), default=0)


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
        around = next((one for one in lines if one.line.line == run["line"]), lines[0])
        add_settings(rows, run, topologies.get(run["run_id"]), around, everywhere)
    return log.lines_read


def _text(lines: Sequence[Quote], first: int) -> str:
    """The block as it stands, its empty lines too; what indents all of it is no part of it."""
    by_number = {quote.line.line: quote.line.text for quote in lines}
    indent = min(len(text) - len(text.lstrip()) for text in by_number.values())
    last = lines[-1].line.line
    return "\n".join(by_number.get(number, "")[indent:] for number in range(first, last + 1))
