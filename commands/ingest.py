"""`bench ingest`: read logs and tables into the warehouse."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal import options as o
from ..terminal.messages import Progress, info, volume, warn_of
from ..terminal.source import Source
from ..terminal.tables import choose_format, emit, render
from ..terminal.time_options import parse_since
from ..vocabulary.format import counted

if TYPE_CHECKING:
    from ..ingest.files.cluster import Cluster


@o.command(source=("db", "overrides"))
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Files, directories, globs, tar archives, URLs, or - (stdin)."
        ),
    ],
    source: Source,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Source name for standard input.")
    ] = None,
    history: Annotated[
        bool,
        typer.Option("--history", help="Read the git history of documents at PATH, not the files."),
    ] = False,
    branch: Annotated[
        str | None,
        typer.Option("--branch", metavar="NAME", help="Branch of --history. Default: the present."),
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since",
            metavar="DATE|'90 days'",
            parser=parse_since,
            show_default=False,
            help="Begin --history with the state at this time.",
        ),
    ] = None,
    authors: Annotated[
        bool, typer.Option("--authors", help="With --history, keep names and e-mail addresses.")
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="local|slurm|pbs[:N]|tcp://HOST:PORT",
            help="Read on workers of Dask: N processes here, N jobs, or those of a scheduler.",
        ),
    ] = None,
    format: o.Format = None,
) -> None:
    """Read logs and tables into the warehouse; skip unchanged files."""
    from ..ingest.files.pipeline import cores
    from ..ingest.files.pipeline import ingest as read_in
    from ..project.after_ingest import after_ingest_into
    from ..project.settings import find_db, read_settings
    from ..schema import own_process
    from ..terminal.summary import COLUMNS, print_summary, rows_of

    own_process.calculate_alone()
    db = find_db(source.db)
    if history:
        from ..terminal.histories import read_histories

        refused = {
            "--set": source.overrides, "--name": name, "--format": format, "--cluster": cluster
        }  # fmt: skip
        if given := [option for option, value in refused.items() if value]:
            raise typer.BadParameter(f"{given[0]} does not go with --history.")
        raise typer.Exit(read_histories(paths, db, branch, since, authors, source.lock_timeout))
    if branch or since or authors:
        raise typer.BadParameter("--branch, --since and --authors go with --history.")
    with Progress("reading") as progress, _workers(cluster, db) as workers:
        summary = read_in(
            paths,
            db,
            lock_timeout=source.lock_timeout,
            formats=read_settings().formats,
            stdin_name=name,
            progress=lambda uri: progress.advance(label=uri),
            processes=cores(),
            cluster=workers,
        )
    checked = after_ingest_into(db, source.lock_timeout, summary.uris, source.overrides)
    if summary.formats and not volume.quiet:
        emit(render(COLUMNS, rows_of(summary), choose_format(format)))
    if errors := checked.errors:
        number = counted(errors, "audit error")
        info(f"{number} in tables; affected rows are excluded (see bench audit)")
    code = print_summary(summary)
    warn_of((*checked.unused, *checked.contradictions))
    raise typer.Exit(code)


def _workers(word: str | None, db: Path) -> AbstractContextManager[Cluster | None]:
    """The requested cluster, if any."""
    if word is None:
        return nullcontext()
    from ..ingest.files.cluster import opened
    from ..schema.location import scratch_of

    return opened(word, scratch_of(db), info)
