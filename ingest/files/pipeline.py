"""Paths -> the warehouse: list files, plan them against the ledger, read, commit whole files.

Files are read without the lock of the warehouse, which is taken to commit a batch. The ledger is
read again within each commit: a file whose plan is stale is left out and planned again, so that
nothing is lost or doubled by concurrent ingests or writers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...schema.commits import repeated
from ...schema.ledger import Ledger, Stamp, read_ledger
from ...schema.location import home_of, is_there
from ...schema.opening import LOCK_TIMEOUT_S, open_read, open_write, require_folder
from ...schema.warehouse import Warehouse
from ..version import parser_version
from .content import is_untouched
from .folders import uri_of
from .inputs import Input, inputs, is_named_input
from .summary import FormatCount as FormatCount
from .summary import Outcome, Progress
from .summary import Summary as Summary
from .summary import Warning as Warning

# Readers and stores are imported when there is something to read: most calls find known files.
if TYPE_CHECKING:
    from ...schema.incremental import Stored
    from ...schema.store import Load
    from .cluster import Cluster
    from .planner import Resume

ATTEMPTS = 20  # for a file that other processes store or write: several may follow one log
# Few commits, since each opens the warehouse; but rows wait for one in memory.
_BATCH_ROWS, _BATCH_BYTES, _BATCH_FILES = 800_000, 256 << 20, 10_000
_Stamps = Mapping[str, tuple[str, Stamp]]  # by uri, with the SHA-256 of what was then read


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
    cluster: Cluster | None = None,
) -> Summary:
    """Read logs and tables below `paths` into the warehouse file `db`, created with its first row.

    Skips known, unchanged files. Files are committed whole, several in one transaction; the
    warehouse is locked only while a batch is committed. `formats` is a folder of log formats in
    addition to the built-in ones, `stdin_name` the name of the path `-`. A `live` log is still
    being written: its last line counts when it is complete. `processes` is how many processes read
    small files (above 1, a script needs `if __name__ == "__main__"`); a `cluster` reads new files
    that are neither unpacked nor fetched. Raises Locked, Incompatible, BenchError; committed files
    stay, and the same call continues after them.
    """

    run = _Ingest(
        root=home_of(db), store=_FileStore(db, lock_timeout), progress=progress, formats=formats,
        stdin_name=stdin_name, live=live, processes=processes, cluster=cluster,
    )  # fmt: skip
    return run.all_of(paths)


def ingest_into(
    warehouse: Warehouse,
    paths: Iterable[Path],
    root: Path,
    formats: Path | None = None,
    processes: int = 1,
) -> Summary:
    """The same into a warehouse in memory; uris are relative to `root`."""

    run = _Ingest(root=root, store=_MemoryStore(warehouse), formats=formats, processes=processes)
    return run.all_of(paths)


def cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _LedgerStore(Protocol):
    """Where loads and their ledger are stored."""

    def read_ledger(self) -> Ledger:
        """What is stored of each file."""
        ...

    def commit(self, loads: Sequence[Load], stamps: _Stamps) -> Collection[str]:
        """Store loads; returns the uris of those that another process has overtaken."""
        ...

    @property
    def read_checkpoints(self) -> Resume | None:
        """Reads where the readers of these loads stopped; None: no log is continued."""


@dataclass(frozen=True, slots=True)
class _FileStore:
    """The file of a warehouse, locked only while it is read or a batch is committed."""

    db: Path
    lock_timeout: float

    def read_ledger(self) -> Ledger:
        if not is_there(self.db):
            require_folder(self.db)
            return Ledger()
        with open_read(self.db, self.lock_timeout) as warehouse:
            return read_ledger(warehouse)

    def read_checkpoints(self, load_ids: Sequence[str]) -> dict[str, Stored]:
        from ...schema.incremental import read_stored

        with open_read(self.db, self.lock_timeout) as warehouse:
            return read_stored(warehouse, load_ids)

    @repeated
    def commit(self, loads: Sequence[Load], stamps: _Stamps) -> Collection[str]:
        from ...schema.store import store

        with open_write(self.db, self.lock_timeout) as warehouse:
            return store(warehouse, loads, stamps)


@dataclass(frozen=True, slots=True)
class _MemoryStore:
    """A warehouse in memory."""

    warehouse: Warehouse
    read_checkpoints: Resume | None = None

    def read_ledger(self) -> Ledger:
        return read_ledger(self.warehouse)

    def commit(self, loads: Sequence[Load], stamps: _Stamps) -> Collection[str]:
        from ...schema.store import store

        return store(self.warehouse, loads)


@dataclass(slots=True, kw_only=True)
class _Ingest:
    """One ingest of files below `root` into a store."""

    root: Path
    store: _LedgerStore
    progress: Progress | None = None
    formats: Path | None = None
    stdin_name: str | None = None
    live: bool = False
    processes: int = 1
    cluster: Cluster | None = None
    summary: Summary = field(default_factory=Summary)

    def all_of(self, paths: Iterable[Path]) -> Summary:
        """Reads files until none is overtaken, or too often."""
        # Each pass reads the ledger again, with what other processes have stored.
        overtaken = self._pass(paths, frozenset())
        for _ in range(ATTEMPTS):
            if not overtaken:
                break
            counted = {*self.summary.uris, *self.summary.skipped, *dict(self.summary.failed)}
            again = dict.fromkeys(Path(outcome.item.given) for outcome in overtaken)
            overtaken = self._pass(filter(self._is_there, again), counted)
        for outcome in overtaken:
            self.summary.failed.append((outcome.item.uri, outcome.reason))
        return self.summary

    def _pass(self, paths: Iterable[Path], counted: Collection[str]) -> list[Outcome]:
        """Commits the new rows of files, in batches; returns the overtaken files.

        Files `counted` in an earlier pass are not counted again.
        """
        overtaken: list[Outcome] = []
        batch: list[Outcome] = []
        rows = size = 0
        with closing(self._outcomes(paths)) as outcomes:  # ends its processes in any case
            for outcome in outcomes:
                if outcome.status == "overtaken":
                    overtaken.append(outcome)
                    continue
                batch.append(outcome)
                if load := outcome.load:
                    size += load.plan.size
                    rows += load.tables.rows if load.tables else 0
                if rows >= _BATCH_ROWS or size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                    overtaken += self._commit(batch, counted)
                    batch, rows, size = [], 0, 0
        return overtaken + self._commit(batch, counted)

    def _outcomes(self, paths: Iterable[Path]) -> Generator[Outcome, None, None]:
        """The outcomes of the files in order, by the current ledger."""
        ledger = self.store.read_ledger()
        files = inputs(paths, self.root, self._unreadable, self.stdin_name)
        changed = yield from self._until_changed(files, ledger)
        if changed is None:
            return
        # Slow to import, and not needed where nothing has changed.
        from .planner import Planner

        checkpoints = self.store.read_checkpoints
        planner = Planner(self.root, ledger, self.formats, self.live, checkpoints)
        rest = chain((changed,), files)
        yield from planner.outcomes(rest, self.processes, self.progress, self.cluster)

    def _until_changed(
        self, files: Iterable[Input], ledger: Ledger
    ) -> Generator[Outcome, None, Input | None]:
        """The outcomes of the files before the first that may have changed, which it returns."""
        version = parser_version(self.formats)
        for item in files:
            if self.live or not is_untouched(item, ledger, version):
                return item
            if self.progress:
                self.progress(item.uri)
            yield Outcome(item, "known")
        return None

    def _commit(self, batch: Sequence[Outcome], counted: Collection[str]) -> list[Outcome]:
        """Stores the loads of a batch, and counts its files; returns the overtaken ones."""
        loads = [outcome.load for outcome in batch if outcome.load]
        stamps = {
            outcome.item.uri: (outcome.sha256, outcome.stamp)
            for outcome in batch
            if outcome.sha256 and outcome.stamp and (outcome.load or outcome.status == "known")
        }
        # Stamps alone are not worth a write: the file is just hashed again next time.
        stale = self.store.commit(loads, stamps) if loads else ()
        overtaken: list[Outcome] = []
        for outcome in batch:
            if outcome.load and outcome.item.uri in stale:
                outcome.reason = "another process keeps storing it; try again"
                overtaken.append(outcome)
            elif outcome.item.uri not in counted:
                self.summary.add(outcome)
        return overtaken

    def _is_there(self, path: Path) -> bool:
        """Whether an overtaken file can be read again; a missing file is reported."""
        there = is_named_input(str(path))
        if not there:
            self._unreadable(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        return there

    def _unreadable(self, what: Path | str, error: OSError) -> None:
        """Reports a file that could not be read, by its name in the warehouse."""
        name = what if isinstance(what, str) else uri_of(what, self.root)
        failure = name, error.strerror or str(error)
        if failure not in self.summary.failed:
            self.summary.failed.append(failure)
