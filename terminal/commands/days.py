"""`bench days`: how long a training takes."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import options as o


def days(
    paths: o.Paths = None,
    told: o.Tell = None,
    db: o.Db = None,
    model: o.Model = None,
    table: o.Table = None,
    where: o.Where = None,
    since: o.Since = None,
    document: o.Document = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", min=1, help="Only runs on N nodes.")
    ] = None,
    goodput: Annotated[
        float | None,
        typer.Option(
            "--goodput", metavar="SHARE", min=0.01, max=1, help="Share of the time that trains."
        ),
    ] = None,
    ramp_up: Annotated[
        str | None,
        typer.Option(
            "--ramp-up", metavar="START,INC,SAMPLES", help="The batch grows: 32,32,1953125."
        ),
    ] = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Let fits tell of --nodes that nobody measured.")
    ] = False,
    all_rows: o.All = False,
    steps: o.Steps = None,
    tokens: o.Tokens = None,
    columns: o.Columns = None,
    group: o.Group = None,
    format: o.Format = None,
    output: o.Output = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
    lock_timeout: o.LockTimeout = o.LOCK_TIMEOUT,
) -> None:
    """Tell the days and device-hours that a training takes, with their range."""
    from .. import deciding

    asked = deciding.Asked(
        db, tuple(paths or ()), model, table, where, since, document, all_rows, tokens, steps,
        lock_timeout, columns, group,
    )  # fmt: skip
    length = deciding.Length(nodes, goodput, ramp_up, extrapolate)
    deciding.days(asked, length, format, output)
