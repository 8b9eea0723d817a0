"""Documents read ahead by other processes: many of them at once, in the order asked for."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..schema.ledger import new_source
from ..schema.rows import Rows
from .collect import Collected
from .folders import files_below, uri_of
from .rotated import size_of
from .source import MARKDOWN, ReadFile, fingerprint, read_file

WORTH_BYTES = 1 << 20  # of documents: less is read before another process has begun
_MOST = 4  # processes; each proves the formats of logs once more
_WAITING = 3  # documents a process, so that few lie in memory


@dataclass(frozen=True, slots=True)
class Whole:
    """A document that was read for a source, from bytes with this SHA-256."""

    sha256: str
    source_id: str
    read: ReadFile  # without its rows
    collected: Collected


@dataclass(slots=True)
class Ahead:
    """Documents on their way; `take` gives one, and begins another."""

    pool: Executor | None = None
    waiting: deque[tuple[Path, str, str]] = field(default_factory=deque)
    begun: dict[Path, Future[Whole | None]] = field(default_factory=dict)

    def begin(self, number: int = 1) -> None:
        """Have so many more read."""
        for _ in range(min(number, len(self.waiting)) if self.pool else 0):
            path, uri, source_id = self.waiting.popleft()
            assert self.pool is not None, "there are none to read without it"
            self.begun[path] = self.pool.submit(_whole, path, uri, source_id)

    def take(self, path: Path, sha256: str, source_id: str) -> Whole | None:
        """The document at `path` as read for that source; None where it has to be read here."""
        future = self.begun.pop(path, None)
        if future is None:
            return None
        try:
            found = future.result()
            self.begin()
        except (OSError, BrokenExecutor):  # the file is told of where it is read again
            return None
        same = found and (found.sha256, found.source_id) == (sha256, source_id)
        return found if same else None


@contextmanager
def reading_ahead(paths: Iterable[Path], root: Path, processes: int) -> Iterator[Ahead]:
    """Have the documents below `paths` read by other processes, if there is much to read.

    A program that is started by its file needs `if __name__ == "__main__"`: the others import it.
    """
    found = deque(
        (path, uri, new_source(uri))
        for path in files_below((one for one in paths if one.exists()), lambda *_: None)
        if path.suffix.lower() in MARKDOWN
        for uri in [uri_of(path, root)]
    )
    many = min(processes, _MOST, len(found))
    if many < 2 or sum(size_of(path) for path, _, _ in found) < WORTH_BYTES:
        yield Ahead()
        return
    # Few commands have so much to read: who has not waits for neither.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")  # a fork would copy locks of DuckDB's threads
    with ProcessPoolExecutor(many, context, _quietly) as pool:
        ahead = Ahead(pool, found)
        ahead.begin(_WAITING * many)
        try:
            yield ahead
        finally:
            pool.shutdown(cancel_futures=True)


def _whole(path: Path, uri: str, source_id: str) -> Whole | None:
    """Read a document in this process; None for what is none, or too large to hand over."""
    sha256, size = fingerprint(path)
    collected = Collected()
    read = read_file(path, sha256, size, source_id, sink=collected.add, uri=uri)
    if read.kind is None:
        return None
    collected.add(read.rows)
    if collected.tables.on_disk:
        return None
    return Whole(sha256, source_id, replace(read, rows=Rows()), collected)


def _quietly() -> None:
    """An interrupt is told by the process that the user started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
