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


class AuditFormat(StrEnum):
    """The formats of `bench audit`."""

    TABLE = "table"
    MD = "md"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    HTML = "html"
    SARIF = "sarif"
    GITHUB = "github"


class Grade(StrEnum):
    """What makes `bench audit` fail."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


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
        done = "shown again" if undo else f"hidden; bench forget --undo {name} shows it again"
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
    update: Annotated[
        bool, typer.Option("--update", help="Rewrite the regions of the markdown files named.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 when a region is stale.")
    ] = False,
    sources: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="PATH", help="Make regions from these, not the warehouse."),
    ] = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Write a page on what was measured: days to train, sweep tables, what was left out and why.

    With --update or --check: the regions of markdown files, as their own markers ask.
    """
    if update or check or sources:
        from .ci.update import update_or_check

        given = (model, table, where, since, document, all_rows, steps, tokens, templates, format)
        raise typer.Exit(
            update_or_check(
                arguments, sources, db, lock_timeout, update, check, any((*given, output))
            )
        )
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
def audit(
    paths: Paths = None,
    db: o.Db = None,
    model: o.Model = None,
    fail_on: Annotated[
        Grade,
        typer.Option("--fail-on", help="Exit 1 when a finding of this grade or worse stands."),
    ] = Grade.ERROR,
    format: Annotated[
        AuditFormat | None,
        typer.Option("--format", help="Default: table, md in a pipe.", show_default=False),
    ] = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Check every printed number against physics: what contradicts itself, by which equation."""
    from .terminal.auditing import audit as find

    raise typer.Exit(find(db, paths or [], model, fail_on, format, output, lock_timeout))


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
        names, rows = ask(warehouse, query)
        text = render(names, rows, choose_format(format, output), exact=True)
        emit(text, output, name="query.md")


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
    from .reports.export import export as write
    from .terminal.opening import open_for_reading

    if records or scrub:
        from .records.command import export_to

        export_to(records, scrub, paths or [], db, lock_timeout)
        return
    with open_for_reading(db, paths or [], lock_timeout) as warehouse:
        for name, rows, file in write(warehouse, output, format.value):
            say(f"{file}: {rows} {name}")


@app.command()
def diff(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="OLD NEW | PATH", help="Files, folders, records or warehouses."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with what git has of them at REV."),
    ] = None,
    where: o.Where = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 1 when a row is changed or removed.")
    ] = False,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Tell which rows were added, removed or changed, and by how much."""
    from .ci.diffing import diff as compare

    raise typer.Exit(compare(paths or [], base, where, check, format, output))


class Task(StrEnum):
    """What `bench ci` does."""

    GITHUB = "github"
    CONFIG = "config"


@app.command()
def ci(
    task: Annotated[
        Task,
        typer.Argument(metavar="github|config", help="A job's work, or a look at bench.toml."),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Markdown files, or bench.toml; none: the usual."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Compare with where HEAD left this branch."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Keep the comment for --post.")
    ] = None,
    post: Annotated[
        Path | None, typer.Option("--post", metavar="FILE", help="Write only a saved comment.")
    ] = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """In a pull request: check regions, compare rows, annotate lines, keep one comment."""
    if task is Task.CONFIG:
        from .ci.config import validate

        validate(files or [])
        return
    from .ci.github import github

    raise typer.Exit(github(files or [], base, save, post, lock_timeout))


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
