"""`bench runs`: list runs."""

from __future__ import annotations

from .. import options as o


def runs(
    paths: o.Paths = None,
    told: o.Tell = None,
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
    from .. import reporting

    words = reporting.Words("runs", tuple(paths or ()))
    asked = reporting.Asked(
        db, words, model, None, where, since, document, all_rows, lock_timeout=lock_timeout
    )
    reporting.runs(asked, columns, group, format, output)
