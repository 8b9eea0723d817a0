"""Paths -> the warehouse: read outside the lock, commit whole files, tell what happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from ..schema.ledger import Ledger, read_ledger
from ..schema.warehouse import LOCK_TIMEOUT_S, Warehouse, open_read, open_write, require_folder
from .folders import Unreadable, uri_of
from .inputs import inputs
from .options import Options, Progress
from .tally import FormatCount as FormatCount
from .tally import Summary as Summary
from .tally import Warning as Warning
from .untouched import Untouched

# What reads and stores is imported where there is something to read: most calls find known files.
if TYPE_CHECKING:
    from ..schema.growing import Stored
    from ..schema.store import Load

ATTEMPTS = 20  # at a file that others store: a log may grow while several follow it
_BATCH_ROWS = 800_000
_BATCH_BYTES = 256 << 20


def ingest(
    paths: Iterable[Path],
    db: Path,
    *,
    lock_timeout: float = LOCK_TIMEOUT_S,
    progress: Progress | None = None,
    formats: Path | None = None,
    stdin_name: str | None = None,
    live: bool = False,
    processes: int = 1,
) -> Summary:
    """Read logs and tables below `paths` into the warehouse file `db`, made with its first row.

    Known, unchanged files are left alone. Files are committed whole, several in one transaction;
    the warehouse is locked only while a batch is committed. `formats` is a folder of log formats
    beside the built-in ones, `stdin_name` what the path `-` is called. A `live` log is still being
    written: its last line counts when it is whole. With `processes` above 1 many small files are
    read in so many (a script then needs `if __name__ == "__main__"`). Raises Locked, Incompatible,
    BenchError; what was committed before stays, and the same call goes on from there.
    """
    summary = Summary()
    options = Options(progress, formats, stdin_name, live, processes)
    stale = _ingest_once(paths, db, lock_timeout, summary, options)
    for _ in range(ATTEMPTS):
        if not stale:
            return summary
        # Another process changed what these files are copies of: plan them afresh.
        again = Summary()
        stale = _ingest_once(stale.values(), db, lock_timeout, again, options)
        summary.failed += again.failed
        # Each file counts once, as it was first read; what its second reading adds is told.
        told = set(summary.warnings)
        summary.warnings += [warning for warning in again.warnings if warning not in told]
    summary.failed += [(uri, "another process keeps storing it: try again") for uri in stale]
    return summary


def ingest_into(
    warehouse: Warehouse,
    paths: Iterable[Path],
    root: Path,
    formats: Path | None = None,
    processes: int = 1,
) -> Summary:
    """The same into a warehouse in memory; uris are relative to `root`."""
    from ..schema.store import store
    from .loading import Reading

    summary, options = Summary(), Options(formats=formats, processes=processes)
    reading = Reading(root, read_ledger(warehouse), summary, options)
    for batch in _batches(reading.loads(inputs(paths, root, _unreadable(summary, root)))):
        store(warehouse, batch)
    return summary


def _ingest_once(
    paths: Iterable[Path], db: Path, lock_timeout: float, summary: Summary, options: Options
) -> dict[str, Path]:
    """One pass; gives the files whose plan another process has overtaken, by their names."""
    root, known = db.absolute().parent, _known(db, lock_timeout)
    found = inputs(paths, root, _unreadable(summary, root), options.stdin_name)
    rest = dropwhile(Untouched(known, summary, options).counts, found)
    first = next(rest, None)
    if first is None:
        return {}
    from ..schema.growing import read_stored
    from ..schema.store import store, store_stamps
    from .loading import Reading

    def resume(load_ids: Sequence[str]) -> dict[str, Stored]:
        with open_read(db, lock_timeout) as warehouse:
            return read_stored(warehouse, load_ids)

    reading = Reading(root, known, summary, options, resume)
    stale: dict[str, Path] = {}
    for batch in _batches(reading.loads(chain((first,), rest))):
        with open_write(db, lock_timeout) as warehouse:
            overtaken = [load.uri for load in store(warehouse, batch)]
            stale |= {uri: Path(reading.given[uri]) for uri in overtaken}
            store_stamps(warehouse, reading.looks.taken())
    return stale


def _unreadable(summary: Summary, root: Path) -> Unreadable:
    """What notes, by its name in the warehouse, that a file could not be read."""
    return lambda what, error: summary.fail(
        what if isinstance(what, str) else uri_of(what, root), error
    )


def _known(db: Path, lock_timeout: float) -> Ledger:
    if not db.exists():
        require_folder(db)
        return Ledger()
    with open_read(db, lock_timeout) as warehouse:
        return read_ledger(warehouse)


def _batches(loads: Iterable[Load]) -> Iterator[Sequence[Load]]:
    batch: list[Load] = []
    rows = size = 0
    for load in loads:
        batch.append(load)
        size += load.size
        rows += load.tables.rows if load.tables else 0
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, rows, size = [], 0, 0
    if batch:
        yield batch
