"""Pages of sources as text with an anchor for each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..explain.run import Lines
from ..reports.answer import configuration_words
from ..schema.warehouse import Row
from .line_rows import SourceLine
from .load import LINES, Content, source_file

_WHOLE = 20_000  # maximum of lines for showing a document in full
AROUND = 2  # context lines around a cited line of a log


def source_key(content: Content, uri: str, lines: Lines) -> tuple[object, ...]:
    """The key of a source's pages, without reading it."""
    source = content.sources[uri]
    try:
        at_hand = (lines.root / uri).stat().st_size >= 0
    except (OSError, ValueError):  # ValueError: a NUL in its name
        at_hand = False
    return (
        source["sha256"],
        source["parser_version"],
        source["generation"],
        at_hand,
        content.names.at(uri, None),
        content.cited.get(uri),
    )


def source_pages(
    content: Content, uri: str, lines: Lines, rows: Sequence[Row]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pages of a source and their template contexts."""
    source, slug = content.sources[uri], content.slugs[uri]
    cited = sorted({*content.cited.get(uri, ()), *content.linked[uri]})
    total = max(source["lines"] or 0, cited[-1] if cited else 0)
    at_hand = not lines.state(uri)
    whole = at_hand and source["kind"] != "log" and total <= _WHOLE
    parts = sorted(
        {0, *((line - 1) // LINES for line in (range(1, total + 1, LINES) if whole else cited))}
    )
    runs = {row["line"]: row for row in rows}
    for part in parts:
        first, last = part * LINES + 1, min((part + 1) * LINES, total)
        here = [line for line in cited if first <= line <= last]
        around = AROUND if at_hand else 0
        shown = (
            range(first, last + 1)
            if whole
            else sorted(
                {
                    near
                    for line in here
                    for near in range(max(line - around, first), min(line + around, last) + 1)
                }
            )
        )
        yield (
            source_file(slug, part),
            {
                "title": content.names.short(uri),
                "source": source,
                "path": content.names.path(uri),
                "lines": list(_lines(content, uri, shown, {*here}, lines, runs, first)),
                "parts": [
                    (source_file(slug, part), part * LINES + 1, min((part + 1) * LINES, total))
                    for part in parts
                ],
                "total": total,
                "whole": whole,
                "at_hand": at_hand,
                "runs": len(rows),
                "tail": last - shown[-1] if len(shown) else last - first + 1,
            },
        )


def _lines(
    content: Content,
    uri: str,
    shown: Sequence[int],
    cited: set[int],
    lines: Lines,
    runs: dict[int, Row],
    first: int,
) -> Iterator[SourceLine]:
    before = first - 1
    for line in shown:
        gap, before = line - before - 1, line
        row = runs.get(line)
        text = lines.text(uri, line) or (_of_row(row) if row else "")
        has_page = row is not None and row["run"] in content.with_pages
        href = content.href(row["run"]) if row is not None and has_page else None
        yield SourceLine(line, text, line in cited, gap, href)


def _of_row(row: Row) -> str:
    """A replacement for the text of a row whose document is not available."""
    return f"({row['status']}: {configuration_words({**row, 'settings': None})})"
