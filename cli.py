"""The command line: parse, one library call, print."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .terminal import options as o
from .terminal.messages import run as run_program
from .terminal.messages import say

app = o.application("A warehouse and reporter for LLM-training benchmark results.")
Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="Logs, tables or folders; none: the warehouse."),
]


class ExportFormat(StrEnum):
    """The file formats of `bench export`."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@app.command()
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files or folders of logs and tables.")
    ],
    db: o.Db = None,
    format: o.Format = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Read logs and tables into the warehouse; known, unchanged files add nothing."""
    from .ingest.pipeline import ingest as read_in
    from .terminal.messages import Progress
    from .terminal.settings import find_db
    from .terminal.summary import COLUMNS, rows_of, tell
    from .terminal.tables import choose_format, emit, render

    with Progress("reading") as progress:
        summary = read_in(
            paths,
            find_db(db),
            lock_timeout=lock_timeout,
            progress=lambda uri: progress.advance(label=uri),
        )
    if summary.formats and not quiet:
        emit(render(COLUMNS, rows_of(summary), choose_format(format)))
    raise typer.Exit(tell(summary))


@app.command()
def forget(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE|RUN", help="Sources by path or name, runs by id or FILE:LINE."
        ),
    ],
    undo: Annotated[bool, typer.Option("--undo", help="Show again what was forgotten.")] = False,
    db: o.Db = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Hide sources or runs from every report; nothing is deleted, --undo shows them again."""
    from .reports.forget import forget as hide
    from .terminal.settings import find_db

    for scope, name in hide(find_db(db), names, undo=undo, lock_timeout=lock_timeout):
        done = "shown again" if undo else "hidden; bench forget --undo shows it again"
        say(f"{scope} {name} {done}")


@app.command()
def report(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME|PATH",
            help="A report (model) and paths to read; none: the warehouse.",
        ),
    ] = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    all_rows: o.All = False,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    templates: o.Templates = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Write a page on what was measured: days to train, sweep tables, what was left out and why."""
    from .terminal import reporting

    words = reporting.split(arguments or [])
    asked = reporting.Asked(
        db,
        words,
        model,
        table,
        where,
        since,
        document,
        all_rows,
        steps,
        tokens,
        templates,
        lock_timeout,
    )
    reporting.report(asked, format, output)


@app.command()
def runs(
    paths: Paths = None,
    db: o.Db = None,
    model: o.Model = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    columns: o.Columns = None,
    group: o.Group = None,
    all_rows: o.All = False,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """List runs, one row a configuration; --all lists every run."""
    from .terminal import reporting

    words = reporting.Words("runs", tuple(paths or ()))
    asked = reporting.Asked(
        db, words, model, None, where, since, document, all_rows, lock_timeout=lock_timeout
    )
    reporting.runs(asked, columns, group, format, output)


@app.command()
def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or FILE:LINE.")],
    paths: Paths = None,
    db: o.Db = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Show all that is known of one run, and the line that states each part."""
    from .reports.show import show as parts
    from .terminal.opening import open_for_reading
    from .terminal.tables import choose_format, emit, render

    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        emit(
            render(*parts(warehouse, run), choose_format(format, output)), output, name=f"{run}.md"
        )


@app.command()
def sql(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="One query; reads only, no file or network access."),
    ],
    paths: Paths = None,
    db: o.Db = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Run one SQL query over the public tables."""
    from .reports.query import query as ask
    from .terminal.opening import open_for_reading
    from .terminal.tables import choose_format, emit, render

    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        emit(render(*ask(warehouse, query), choose_format(format, output)), output, name="query.md")


@app.command()
def export(
    paths: Paths = None,
    db: o.Db = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write here, one file a table.")
    ] = Path("export"),
    format: Annotated[
        ExportFormat, typer.Option("--format", help="File format.")
    ] = ExportFormat.PARQUET,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Write every public table to a folder as Parquet, CSV or JSON."""
    from .reports.export import export as write
    from .terminal.opening import open_for_reading

    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        for name, rows, file in write(warehouse, output, format.value):
            say(f"{file}: {rows} {name}")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"bench {version('bench-warehouse')}")
        raise typer.Exit


@app.callback()
def bench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A warehouse and reporter for LLM-training benchmark results.

    Reading commands also take paths and then need no set-up: bench report README.md
    """


def main() -> None:
    """Run the command line and exit with its code."""
    run_program(app)


__all__ = ["app", "main"]
