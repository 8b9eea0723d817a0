"""`bench export`: write the tables, or a record of each run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import options as o
from ..messages import say


class ExportFormat(StrEnum):
    """The file formats of `bench export`."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


def export(
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write here, one file a table.")
    ] = Path("export"),
    format: Annotated[
        ExportFormat, typer.Option("--format", help="File format.")
    ] = ExportFormat.PARQUET,
    records: Annotated[
        Path | None,
        typer.Option("--records", metavar="FOLDER", help="One JSON a run instead, for git."),
    ] = None,
    scrub: Annotated[
        str | None,
        typer.Option("--scrub", metavar="KINDS", help="Take hosts,users,paths out of the records."),
    ] = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Write every public table to a folder as Parquet, CSV or JSON; or every run as a record."""
    from ...reports.export import export as write
    from ..opening import open_for_reading

    if records or scrub:
        from ...records.command import export_to

        export_to(records, scrub, paths or [], db, lock_timeout)
        return
    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        for name, rows, file in write(warehouse, output, format.value):
            say(f"{file}: {rows} {name}")
