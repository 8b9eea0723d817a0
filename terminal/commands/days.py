"""`bench days`: how long a training takes."""

from __future__ import annotations

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
    nodes: o.Nodes = None,
    goodput: o.Goodput = None,
    ramp_up: o.RampUp = None,
    extrapolate: o.Extrapolate = False,
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
    from ...decide.asked import Asked, Length
    from .. import deciding
    from ..answers import Source

    asked = Asked(model, table, where, since, document, all_rows, tokens, steps, columns, group)
    length = Length(nodes, goodput, ramp_up, extrapolate)
    source = Source(db, tuple(paths or ()), lock_timeout)
    deciding.days(source, asked, length, format, output)
