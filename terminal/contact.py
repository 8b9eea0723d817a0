"""What a lead asks at the first look into a folder: how runs ended, what is missing, what next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .messages import say

if TYPE_CHECKING:
    from ..schema.warehouse import Warehouse

_NAMED = 4
_ENDINGS = """SELECT status, count(*) FROM configurations WHERE kind = 'measured'
    GROUP BY status ORDER BY status <> 'ok', count(*) DESC, status"""
_LOGS = "SELECT count(DISTINCT uri) FROM runs"
_JOBS = "SELECT count(*), count(DISTINCT uri) FROM jobs"
_WITHOUT = """SELECT uri, line FROM configurations WHERE origin = 'log'
    AND dp IS NULL AND tp IS NULL AND pp IS NULL ORDER BY uri, line"""
_UNREAD = """SELECT uri, lines_unread, lines FROM sources WHERE kind = 'log' AND lines_unread > 0
    ORDER BY lines_unread DESC, uri"""


def tell_contact(warehouse: Warehouse, skipped: Sequence[str]) -> None:
    """Say on standard error what the listing of a folder does not show."""
    for line in contact(warehouse, skipped):
        say(line)


def contact(warehouse: Warehouse, skipped: Sequence[str]) -> Iterator[str]:
    """The remarks, each a line; what is not missing is not spoken of."""
    endings = warehouse.rows(_ENDINGS)
    [(files,)] = warehouse.rows(_LOGS)
    told = ", ".join(f"{count} {status}" for status, count in endings)
    runs = sum(count for _, count in endings)
    yield f"{runs} {'run' if runs == 1 else 'runs'} in {_files(files)}: {told}"
    [(jobs, sources)] = warehouse.rows(_JOBS)
    if jobs:
        yield f"what schedulers say of {jobs} jobs is read from {_files(sources)}"
    without = [f"{uri}:{line}" for uri, line in warehouse.rows(_WITHOUT)]
    if without:
        yield f"without topology: {len(without)} runs whose logs state no DP, TP or PP: " + _some(
            without
        )
    if skipped:
        yield f"not recognised: {_files(len(skipped))}: {_some(skipped)}"
    unread = warehouse.rows(_UNREAD)
    if unread:
        worst, _, _ = unread[0]
        lines, of = (sum(row[place] for row in unread) for place in (1, 2))
        share = f"{lines:,} of {of:,} lines of {_files(len(unread))}"
        yield f"no format reads {share}, most of {worst}: bench doctor {worst}"


def _files(count: int) -> str:
    return f"{count} {'file' if count == 1 else 'files'}"


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
