"""Queue for a warehouse file: a waiting writer goes before later readers.

DuckDB admits any number of readers, and a writer only while there are none: overlapping readers
would exclude it for as long as they come.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import suppress
from pathlib import Path

_COURTESY_S = 2.0  # limit of a reader's wait: a sequence of writers cannot exclude it either


class QueueTurn:
    """A place in the queue for the file at `path`; leave it by `with`.

    The queue is an advisory lock on its folder, which ends with its process. Where folders cannot
    be locked, as on some network file systems, nobody waits.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._descriptor: int | None = None

    def yield_to_writer(self, most_s: float) -> None:
        """Wait while a writer is in the queue, up to two seconds or `most_s` if that is less."""
        until = time.monotonic() + min(most_s, _COURTESY_S)
        while self._is_claimed() and time.monotonic() < until:
            pause()

    def claim(self) -> None:
        """Make later readers wait, unless another writer does."""
        if self._descriptor is None:
            with suppress(BlockingIOError):
                self._descriptor = self._lock(fcntl.LOCK_EX)

    def __enter__(self) -> QueueTurn:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_claimed(self) -> bool:
        try:
            taken = self._lock(fcntl.LOCK_SH)
        except BlockingIOError:
            return True
        if taken is not None:
            os.close(taken)
        return False

    def _lock(self, kind: int) -> int | None:
        """The folder, locked; None if that is impossible. Raises BlockingIOError if another has
        it."""
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            fcntl.flock(folder, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise
        except OSError:
            os.close(folder)
            return None
        return folder


def pause() -> None:
    """Sleep until the next attempt, for a time that differs between processes."""
    time.sleep(random.uniform(0.02, 0.08))
