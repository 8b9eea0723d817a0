"""`bench export`: write the tables, or a record of each run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..terminal import options as o
from ..terminal.messages import info
from ..terminal.source import Source
from ..vocabulary.format import counted


class ExportFormat(StrEnum):
    """The file formats of `bench export`."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@o.command()
def export(
    source: Source,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Output directory, one file per table."),
    ] = Path("export"),
    format: Annotated[
        ExportFormat, typer.Option("--format", help="File format.")
    ] = ExportFormat.PARQUET,
    records: Annotated[
        Path | None,
        typer.Option(
            "--records", metavar="DIR", help="Write one JSON record per run instead (for git)."
        ),
    ] = None,
    scrub: Annotated[
        str | None,
        typer.Option("--scrub", metavar="KINDS", help="Anonymize records: hosts,users,paths."),
    ] = None,
) -> None:
    """Export public tables as Parquet, CSV or JSON, or runs as records."""
    if records or scrub:
        _records(source, records, scrub)
        return
    from ..reports.export import export as write

    with source.opened() as warehouse:
        for name, rows, file in write(warehouse, output, format.value):
            info(f"{file}: {rows} {name}")


def _records(source: Source, folder: Path | None, scrub: str | None) -> None:
    """Write a record of every run; raises BenchError for --scrub without a folder."""
    from ..records.export import export_records
    from ..records.scrub import Scrubber, parse_kinds
    from ..schema.errors import BenchError

    if folder is None:
        raise BenchError(
            "--scrub requires --records", hint="bench export --records DIR --scrub ..."
        )
    scrubber = Scrubber(parse_kinds(scrub))
    with source.opened() as warehouse:
        done = export_records(warehouse, folder, scrubber)
    parts = [f"{done.written} written"]
    parts += [f"{done.unchanged} unchanged"] if done.unchanged else []
    parts += [f"{done.removed} outdated removed"] if done.removed else []
    folders = counted(done.folders, "folder")
    info(f"records: {', '.join(parts)}, in {folders} under {folder}")
    info(f"next: bench report {folder}")
