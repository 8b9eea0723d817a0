"""Whose turn it is to open a warehouse file: one that waits to write goes before later readers.

DuckDB admits any number of readers, and a writer only while there are none: readers that overlap
would keep it out for as long as they come.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_COURTESY_S = 2.0  # that a reader stands back: writers that come in turn cannot keep it out either


class Turn:
    """A place in line for the file at `path`; leave it by `with`.

    The line is an advisory lock on its folder, which ends with the process that holds it. Where
    folders cannot be locked, as on some network file systems, nobody stands back.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._held: int | None = None

    def stand_back(self, most_s: float) -> None:
        """Wait while a writer is in line, up to two seconds or `most_s` if that is less."""
        until = time.monotonic() + min(most_s, _COURTESY_S)
        while self._is_claimed() and time.monotonic() < until:
            pause()

    def claim(self) -> None:
        """Let later readers stand back, unless another writer has them do so."""
        if self._held is None:
            with suppress(BlockingIOError):
                self._held = self._lock(fcntl.LOCK_EX)

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _is_claimed(self) -> bool:
        try:
            taken = self._lock(fcntl.LOCK_SH)
        except BlockingIOError:
            return True
        if taken is not None:
            os.close(taken)
        return False

    def _lock(self, kind: int) -> int | None:
        """The folder, locked; None where it cannot be. Raises BlockingIOError when another does."""
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
    """A moment until the next try, another one for each process."""
    time.sleep(random.uniform(0.02, 0.08))
