"""`bench runs`: list runs."""

from __future__ import annotations

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


@o.command(query=("model", "where", "since", "document", "columns", "group", "all_rows"), kept=True)
def runs(source: Source, query: Query, format: o.Format = None, output: o.Output = None) -> None:
    """List runs, one row per configuration; --all lists every run."""
    from ..terminal import reporting

    reporting.runs(source, query, format, output)
