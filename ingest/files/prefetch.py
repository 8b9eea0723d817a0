"""Reads new files ahead, several at once: small ones in processes of this machine if that is
faster, all of them on a cluster.

Reading ahead is speculative: whether a result is used is decided when its file is planned.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Protocol, TypeVar

from ...schema import own_process
from .folders import is_log_name
from .inputs import Input
from .parsed import Parsed, ParsedTogether, parse_together
from .task import Task

T = TypeVar("T")

DOCUMENT = 20  # the work for a byte of a document, compared with a log
WORTH_IT = 24 << 20  # bytes of new logs that justify processes: each takes a second to start
_CHUNK_BYTES, _CHUNK_FILES = 4 << 20, 256
_MOST_CHUNKS = 16  # collected before processes are found worthwhile


@dataclass(slots=True)
class Turn:
    """A file and its result, in order; for a file read ahead, `task` and `take` give both.

    `arrive` waits for a file that a cluster reads: `task` then has its hash and size, None if the
    file has to be read here; `broke` is why no process can read it.
    """

    item: Input
    task: Task | None = None
    take: Callable[[], Parsed | None] = lambda: None
    arrive: Callable[[], None] = lambda: None
    broke: str = ""


@dataclass(slots=True)
class Chunk:
    """Files in order, and the work for those read ahead."""

    turns: list[Turn] = field(default_factory=list)
    work: int = 0  # as bytes of a log

    @property
    def is_passing(self) -> bool:
        """Whether its last file is temporary, and deleted when the next one is requested."""
        return bool(self.turns) and not self.turns[-1].item.stays


class Workers(Protocol):
    """Reads chunks ahead."""

    def start_if_worth(self, work: int) -> bool:
        """Starts if there is enough work; returns whether waiting chunks are to be read now."""

    def ahead(self) -> int:
        """How many chunks are read, or looked at, before their turn."""

    def read(self, chunk: Chunk) -> None:
        """Submits a chunk."""

    def end(self) -> None:
        """Ends the workers."""


def read_ahead(
    items: Iterable[Input], plan: Callable[[Input], Task | None], workers: Workers
) -> Generator[Turn, None, None]:
    """The files in order; new ones are read by then, or when their results are taken.

    `plan` returns the task to read a file ahead, or None. The workers end with the generator: close
    it.
    """
    waiting: deque[Chunk] = deque()
    try:
        for chunk in _chunks(items, plan):
            waiting.append(chunk)
            started = workers.start_if_worth(sum(each.work for each in waiting))
            for each in waiting if started else (chunk,):
                workers.read(each)
            while waiting and (chunk.is_passing or len(waiting) > workers.ahead()):
                yield from waiting.popleft().turns
        for chunk in waiting:
            yield from chunk.turns
    finally:
        workers.end()


def _chunks(items: Iterable[Input], plan: Callable[[Input], Task | None]) -> Iterator[Chunk]:
    chunk = Chunk()
    for item in items:
        task = plan(item)
        chunk.turns.append(Turn(item, task))
        if task:
            size = task.content.size
            chunk.work += size if is_log_name(Path(item.uri).name) else DOCUMENT * size
        full = chunk.work >= _CHUNK_BYTES or len(chunk.turns) >= _CHUNK_FILES
        if full or chunk.is_passing:
            yield chunk
            chunk = Chunk()
    if chunk.turns:
        yield chunk


@dataclass(slots=True)
class Processes:
    """Processes that read chunks, once started; until then this one does."""

    processes: int
    _pool: ProcessPoolExecutor | None = None

    def start_if_worth(self, work: int) -> bool:
        """Starts the processes if there is enough work; returns whether it did."""
        if self._pool or self.processes == 1 or work < WORTH_IT:
            return False
        # Not forked: DuckDB and Arrow have threads.
        spawn = get_context("spawn")
        with own_process.safe_path():
            self._pool = ProcessPoolExecutor(self.processes, spawn, initializer=begin_worker)
        return True

    def ahead(self) -> int:
        """How many chunks are read, or looked at, before their turn."""
        if self.processes == 1:
            return 0
        return 2 * self.processes if self._pool else _MOST_CHUNKS

    def read(self, chunk: Chunk) -> None:
        """Submits a chunk to a process; without one, it is read when its first result is taken."""
        turns = [turn for turn in chunk.turns if turn.task]
        tasks = [turn.task for turn in turns if turn.task]
        result: Callable[[], Sequence[Parsed | None]]
        result = cache(lambda: parse_together(tasks).divided())
        if self._pool is not None and tasks:
            try:
                with no_interrupts(), own_process.safe_path():
                    future = self._pool.submit(parse_together, tasks)
                result = cache(lambda: self._result(future, len(tasks)))
            except BrokenExecutor:
                self._give_up()
        for place, turn in enumerate(turns):
            turn.take = partial(nth, result, place)

    def end(self) -> None:
        """Ends the processes, also while they read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, future: Future[ParsedTogether], count: int) -> Sequence[Parsed | None]:
        try:
            return future.result().divided()
        except BrokenExecutor:  # a process was killed: its files are read here, one by one
            self._give_up()
            return [None] * count

    def _give_up(self) -> None:
        """Continues in this process alone."""
        self._pool, self.processes = None, 1


def nth(result: Callable[[], Sequence[T]], place: int) -> T:
    """The nth of several results, waiting for them."""
    return result()[place]


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Processes started here ignore Ctrl-C, which their parent handles."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """A worker process, which ends with its parent."""
    own_process.begin()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
