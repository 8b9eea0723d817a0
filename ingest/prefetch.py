"""New files are read before their turn, several at once: small ones in processes of this machine
where that pays, all of them on a cluster.

What is read ahead is a guess: whether it is wanted is decided when it is a file's turn.
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
from typing import Protocol

from ..schema import own_process
from .inputs import Input
from .names import is_log_name
from .parsed import Parsed, ParsedTogether, parse_together
from .source import Task

DOCUMENT = 20  # times the work of as many bytes of a log
WORTH_IT = (
    24 << 20
)  # bytes of new logs for which processes are started: each takes a second to start
_CHUNK_BYTES, _CHUNK_FILES = 4 << 20, 256
_MOST_CHUNKS = 16  # that wait to see whether processes are worth it


@dataclass(slots=True)
class Turn:
    """A file in its turn; of a small new one `task` is how it was read, and `take` what it gave.

    `arrive` waits for a file that a cluster reads: `task` is then what is known of its bytes, None
    where it has to be read here, and `broke` why no process can read it.
    """

    item: Input
    task: Task | None = None
    take: Callable[[], Parsed | None] = lambda: None
    arrive: Callable[[], None] = lambda: None
    broke: str = ""


@dataclass(slots=True)
class Chunk:
    """Files in their order, and the work of those of them that are read together."""

    turns: list[Turn] = field(default_factory=list)
    work: int = 0  # as bytes of a log

    @property
    def is_passing(self) -> bool:
        """Whether its last file is unpacked for the time being: gone when the next is asked for."""
        return bool(self.turns) and not self.turns[-1].item.stays


class Workers(Protocol):
    """What reads chunks before their turn."""

    def start_if_worth(self, work: int) -> bool:
        """Start where there is so much to read; whether what waits is to be given to them now."""

    def ahead(self) -> int:
        """How many chunks are read, or looked at, before their turn."""

    def read(self, chunk: Chunk) -> None:
        """Have a chunk read."""

    def end(self) -> None:
        """End what reads."""


def read_ahead(
    items: Iterable[Input], plan: Callable[[Input], Task | None], workers: Workers
) -> Generator[Turn, None, None]:
    """The files in their order; new ones have been read, or are when they are taken.

    `plan` says how to read a file ahead, None where that has to wait for its turn. The workers
    end with the generator: close it.
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
    """Processes that read chunks, once they are started; until then this one does."""

    processes: int
    _pool: ProcessPoolExecutor | None = None

    def start_if_worth(self, work: int) -> bool:
        """Start the processes where there is so much to read; whether they were started now."""
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
        """Have a chunk read: by a process at once, by this one when the first of it is taken."""
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
            turn.take = partial(_nth, result, place)

    def end(self) -> None:
        """End the processes, whatever they read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _result(self, future: Future[ParsedTogether], count: int) -> Sequence[Parsed | None]:
        try:
            return future.result().divided()
        except BrokenExecutor:  # a process was killed: its files are read here, one by one
            self._give_up()
            return [None] * count

    def _give_up(self) -> None:
        """Go on in this process alone."""
        self._pool, self.processes = None, 1


def _nth(result: Callable[[], Sequence[Parsed | None]], place: int) -> Parsed | None:
    return result()[place]


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Processes that are started here leave Ctrl-C to the one that starts them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """A process of our own, with no life after the parent's."""
    own_process.begin()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
