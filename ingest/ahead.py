"""Small new files are read before their turn, several at once, in processes where that pays.

Whether what was read is wanted is decided when it is a file's turn: `take` gives it for the bytes
and the source that it was read as, and nothing else.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from types import TracebackType

from ..records import reading as records
from ..schema import own_process
from ..schema.ledger import Known, Ledger, Stamp
from ..schema.spill import Packed, unpack
from .content import Print, fingerprint, stamp_of
from .inputs import Input
from .names import is_log_name
from .together import Result, Results, Task, read_packed, read_together, with_tables
from .version import parser_version

SMALL = 1 << 20  # bytes of a file that is read together with others
DOCUMENT = 20  # times the work of as many bytes of a log
WORTH_IT = 24 << 20  # bytes of new logs for which processes are started
_CHUNK_BYTES, _CHUNK_FILES = 4 << 20, 256
_WINDOW_BYTES, _WINDOW_FILES = 32 << 20, 4096  # looked at before their turn


@dataclass(slots=True)
class _Chunk:
    """Files that are read together, and how to come by what they gave, once."""

    tasks: list[Task]
    results: Callable[[], Results]


@dataclass(slots=True)
class _Waiting:
    """A file before its turn, and its work as bytes of a log; none of one not read ahead."""

    item: Input
    bytes: int


@dataclass(slots=True)
class Ahead:
    """Reads files ahead of their turn. Use it in a `with`, which ends its processes."""

    ledger: Ledger
    formats: Path | None = None
    processes: int = 1
    _queue: deque[_Waiting] = field(default_factory=deque)
    _unread: deque[_Waiting] = field(default_factory=deque)  # of these, what is still to be read
    _bytes: int = 0  # of the queue
    _chunks: dict[str, tuple[_Chunk, int]] = field(default_factory=dict)  # by uri
    _seen: dict[str, tuple[Stamp, Print]] = field(default_factory=dict)  # by uri
    _pool: ProcessPoolExecutor | None = None
    _running: deque[Future[tuple[Results, Packed]]] = field(default_factory=deque)
    _planned: set[str] = field(default_factory=set)  # hashes of files that are read

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def over(self, items: Iterable[Input]) -> Iterator[Input]:
        """The files in their order; small new ones have been read when they come."""
        rest, ended = iter(items), False
        while True:
            while not ended and self._has_room():
                item = next(rest, None)
                if item is None:
                    ended = True
                elif not self._queue and self.ledger.newest(item.uri):
                    yield item  # nothing stands before it, and it is not read ahead
                else:
                    self._wait(item)
            if not self._queue:
                return
            self._read_ahead()
            one = self._queue.popleft()
            self._bytes -= one.bytes
            yield one.item
            self._chunks.pop(one.item.uri, None)
            self._seen.pop(one.item.uri, None)

    def print_of(self, uri: str, stamp: Stamp) -> Print | None:
        """What a file's bytes are, where they were looked at before its turn; told once.

        None of a file that has been touched since, as its present `stamp` tells.
        """
        before, seen = self._seen.pop(uri, (None, None))
        return seen if before is not None and before.same(stamp) else None

    def take(self, plan: Known) -> Result | None:
        """What a file gave, if these are the bytes and the source that were read."""
        chunk, place = self._chunks.pop(plan.uri, (None, 0))
        if chunk is None:
            return None
        task = chunk.tasks[place]
        if (task.sha256, task.source_id, 1) != (plan.sha256, plan.source_id, plan.generation):
            return None
        results = chunk.results()
        return results[place] if results else None

    def _has_room(self) -> bool:
        if self._queue and not self._queue[-1].item.stays:
            return False
        return self._bytes < _WINDOW_BYTES and len(self._queue) < _WINDOW_FILES

    def _wait(self, item: Input) -> None:
        size = self._size(item)
        one = _Waiting(item, _work(item.path, size) if size else 0)
        self._queue.append(one)
        self._bytes += one.bytes
        if size is not None:
            self._unread.append(one)

    def _size(self, item: Input) -> int | None:
        """The bytes of a small new file; None of any other."""
        if not item.stays or self.ledger.newest(item.uri) or records.is_marker(item.path):
            return None
        try:
            size = item.path.stat().st_size
        except OSError:
            return None
        return size if size < SMALL else None

    def _read_ahead(self) -> None:
        """See that the next file is read, and that the processes have something to do."""
        if self._pool is None and self.processes > 1 and self._bytes >= WORTH_IT:
            self._pool = _pool(self.processes)
        while self._running and self._running[0].done():
            self._running.popleft()
        wanted = 2 * self.processes if self._pool else 0
        while self._unread:
            if self._unread[0] is not self._queue[0] and len(self._running) >= wanted:
                break
            self._begin_chunk()

    def _begin_chunk(self) -> None:
        """Read the next files, as many as go together."""
        tasks: list[Task] = []
        size = 0
        while self._unread and size < _CHUNK_BYTES and len(tasks) < _CHUNK_FILES:
            one = self._unread.popleft()
            if task := self._task(one.item):
                tasks.append(task)
                size += _work(task.path, task.size)
        chunk = _Chunk(tasks, cache(self._begin(tasks)))
        for place, task in enumerate(tasks):
            self._chunks[task.uri] = chunk, place

    def _task(self, item: Input) -> Task | None:
        """How to read a file; None where its bytes are known, or are read already."""
        try:
            stamp = stamp_of(item.path)
            seen = Print(*fingerprint(item.path))
        except OSError:
            return None
        self._seen[item.uri] = stamp, seen
        plan = self.ledger.plan(item.uri, seen.sha256, parser_version(self.formats), seen.size)
        if plan is None or self.ledger.holds(plan.load_id) or seen.sha256 in self._planned:
            return None
        self._planned.add(seen.sha256)
        return Task(item.path, item.uri, seen.sha256, seen.size, plan.source_id)

    def _begin(self, tasks: list[Task]) -> Callable[[], Results]:
        if self._pool is not None:
            try:
                with _no_interrupts():
                    future = self._pool.submit(read_packed, tasks, self.formats)
            except BrokenExecutor:
                self._give_up()
            else:
                self._running.append(future)
                return lambda: self._result(future)
        results = read_together(tasks, self.formats)
        return lambda: results

    def _result(self, future: Future[tuple[Results, Packed]]) -> Results:
        try:
            results, packed = future.result()
        except BrokenExecutor:  # a process was killed: its files are read here, one by one
            self._give_up()
            return []
        return with_tables(results, unpack(packed))

    def _give_up(self) -> None:
        """Go on in this process alone."""
        self._pool, self.processes = None, 1
        self._running.clear()


def _work(path: Path, size: int) -> int:
    """The bytes of a log that are as much work as a file."""
    return size if is_log_name(path.name) else DOCUMENT * size


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Processes that are started here leave Ctrl-C to the one that starts them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _pool(processes: int) -> ProcessPoolExecutor:
    # Not forked: DuckDB and Polars have threads.
    return ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin_worker)


def _begin_worker() -> None:
    """One thread each, since there is a process for each core; and no life after the parent's."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    own_process.begin()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
