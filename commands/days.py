"""`bench days`: how long a training takes."""

from __future__ import annotations

from ..decide.query import Query
from ..terminal import options as o
from ..terminal.source import Source


@o.command(query=(*o.SELECTION, *o.DAYS, *o.LISTING))
def days(source: Source, query: Query, format: o.Format = None, output: o.Output = None) -> None:
    """Estimate training time in days and device-hours, with ranges."""
    from ..terminal import deciding

    deciding.report("days", source, query, format, output, next_command="bench best")
