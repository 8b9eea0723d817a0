"""`bench failures`: failed runs and their causes."""

from __future__ import annotations

from dataclasses import replace

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


@o.command(query=("model", "where", "document", "all_rows", "columns", "group"))
def failures(
    source: Source,
    query: Query,
    since: o.RanSince = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """List failed runs, the latest first: when they ran, why, where, and what recurs."""
    from ..terminal import computed_reports

    query = replace(query, since=since)
    computed_reports.report("failures", source, query, format, output, next_command=None)
