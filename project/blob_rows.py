"""Rows of many blobs in commit order, parsed by processes while earlier ones are compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context

from ..ingest.files.prefetch import begin_worker, no_interrupts
from ..ingest.files.stated_rows import StatedRow, stated_rows
from ..schema import own_process
from .commits import Commit

Key = tuple[str, str]  # uri and blob: the same bytes at another path are another document
RowsOf = Sequence[StatedRow]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Commits, and a function per blob added by them that returns its rows."""

    commits: Sequence[Commit]
    rows: Mapping[Key, Callable[[], RowsOf]]
    blobs: int


Submit = Callable[[Sequence[tuple[str, bytes]]], Callable[[], Sequence[RowsOf]]]


def prefetched(chunks: Iterable[Chunk], most: int) -> Iterator[Chunk]:
    """Chunks in order, while the next ones are parsed."""
    waiting: deque[Chunk] = deque()
    for chunk in chunks:
        waiting.append(chunk)
        if len(waiting) > most:
            yield waiting.popleft()
    yield from waiting


def rows_of_all(documents: Sequence[tuple[str, bytes]]) -> list[list[StatedRow]]:
    """The rows of several documents from their uris and bytes."""
    return [stated_rows(uri, data) for uri, data in documents]


@contextmanager
def submitting(processes: int) -> Generator[Submit, None, None]:
    """A function that schedules parsing: by processes where that pays, else lazily."""
    if processes == 1:
        yield lambda documents: cache(partial(rows_of_all, documents))
        return
    with own_process.safe_path():  # spawned, not forked: DuckDB and Arrow have threads
        pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=begin_worker)

    def submit(documents: Sequence[tuple[str, bytes]]) -> Callable[[], Sequence[RowsOf]]:
        try:
            with no_interrupts(), own_process.safe_path():
                future = pool.submit(rows_of_all, documents)
        except BrokenExecutor:
            return cache(partial(rows_of_all, documents))
        return cache(partial(_result, future, documents))

    try:
        yield submit
    finally:
        pool.shutdown(cancel_futures=True)


def _result(
    future: Future[list[list[StatedRow]]], documents: Sequence[tuple[str, bytes]]
) -> Sequence[RowsOf]:
    try:
        return future.result()
    except BrokenExecutor:  # a process was killed
        return rows_of_all(documents)
