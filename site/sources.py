"""Sources as text with a name for each line, so that every number has a place to link to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..explain.run import Lines
from .load import LINES, Content, source_file

AROUND = 2  # lines of a log beside one that is cited


def source_pages(content: Content, uri: str, lines: Lines) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pages of a source, of so many lines each, and what the template needs."""
    source = content.sources[uri]
    cited = sorted(set(content.cited.get(uri, ())))
    total = max(source["lines"] or 0, cited[-1] if cited else 0)
    at_hand = not lines.state(uri)
    whole = at_hand and source["kind"] != "log"
    parts = range(-(-total // LINES)) if whole else sorted({(line - 1) // LINES for line in cited})
    runs = {row["line"]: row for row in content.rows if row["uri"] == uri}
    for part in parts or [0]:
        first, last = part * LINES + 1, min((part + 1) * LINES, total)
        here = [line for line in cited if first <= line <= last]
        shown = sorted({near for line in here for near in range(line - AROUND, line + AROUND + 1)
                        if first <= near <= last}) if not whole else range(first, last + 1)  # fmt: skip
        if not at_hand:
            shown = here
        yield source_file(content.slugs[uri], part), {
            "title": content.names.short(uri), "uri": uri, "source": source, "path": content.names.path(uri),
            "lines": list(_lines(content, uri, shown, {*here}, lines, runs)),
            "parts": [(source_file(content.slugs[uri], one), one * LINES + 1, min((one + 1) * LINES, total))
                      for one in parts], "part": part, "total": total, "whole": whole, "at_hand": at_hand,
        }  # fmt: skip


def _lines(
    content: Content, uri: str, shown: Any, cited: set[int], lines: Lines, runs: dict[int, Any]
) -> Iterator[dict[str, Any]]:
    before = None
    for line in shown:
        gap = line - before - 1 if before is not None else 0
        before = line
        row = runs.get(line)
        yield {"number": line, "text": lines.text(uri, line), "cited": line in cited, "gap": gap,
               "run": content.href(row["run"]) if row is not None and row["run"] in content.with_pages else None}  # fmt: skip
