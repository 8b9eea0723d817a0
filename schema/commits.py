"""A shared place: a sequence of numbered commits, in any kind of storage.

Each has rows for the tables of schema `raw`, and is complete or absent.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from .errors import BenchError, Locked

if TYPE_CHECKING:
    import pyarrow as pa

# With lost connections; and overtaken by others, of whom each time one succeeds: of 1,000 writers
# that begin at once some are overtaken 700 times (`benchmarks/writers.py`).
_ATTEMPTS, _OVERTAKEN = 200, 5000
# A `Path` has reduced the two slashes of a URL to one.
_SECRET = re.compile(r"\b(?:passfile|\w*(?:password|secret))\s*=|:/+[^/@]*:[^/@]*@", re.I)
_P = ParamSpec("_P")
_T = TypeVar("_T")
Slices = Callable[[], Iterator["pa.Table"]]
Notify = Callable[[str], None]


def ignore_note(text: str) -> None:
    """Discard a note."""


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a commit: rows by table of `raw`, and the loads whose checkpoints it drops.

    A `whole` one replaces all before it: its rows are all that there are.
    """

    number: int
    tables: Mapping[str, Slices]
    whole: bool = False
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """An entry of the history: number, time (UTC), the tables with new rows."""

    number: int
    at: datetime
    tables: tuple[str, ...]


class Place(Protocol):
    """A shared place; every method raises BenchError if it cannot be reached."""

    def exists(self) -> bool:
        """Whether a warehouse has been created there."""

    @property
    def identity(self) -> str:
        """A text that another warehouse created at the same place does not have."""

    @property
    def home(self) -> Path:
        """The folder that paths of sources are relative to."""

    @property
    def scratch(self) -> Path | None:
        """A folder of it for temporary files, None for an object store."""

    def create(self, data: str | None) -> None:
        """Create an empty one; `data` is the place of a lake's Parquet files: a folder, `s3://`."""

    def latest(self) -> int:
        """The number of the newest commit; 0 without commits."""

    def changes(self, after: int, until: int | None = None) -> Iterator[Change]:
        """The commits after a number in order, up to `until`; a whole one if some were removed.

        Raises BenchError if `until` is given and no longer kept.
        """

    def commit(self, after: int, change: Change) -> int | None:
        """Add a commit right after `after`; returns its number, None if another was first."""

    def history(self) -> list[Commit]:
        """The commits that are kept, oldest first."""

    def merge(self) -> bool:
        """Merge many small files; False if this takes a whole commit."""

    def collect(self, age: timedelta, notify: Notify = ignore_note) -> int:
        """Remove files older than `age` that no commit needs; returns their number.

        Never those of a writer at work. An age of zero also removes files that a reader needs right
        now. `notify` gets a note on files kept because they may have other owners.
        """

    def check(self) -> tuple[int, list[str]]:
        """The number of files, and the problems found."""


class Retry(Locked):
    """A failure that may succeed on a retry, after reading the stored state."""


class CommitConflict(Retry):
    """Others have committed since this process read."""

    def __init__(self) -> None:
        super().__init__(
            "others keep writing to the warehouse", why="each commit was overtaken by another",
            hint="try again; what is stored stays",
        )  # fmt: skip


def repeated(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Retry a function, with pauses, after a commit conflict or a lost connection.

    The function opens the warehouse itself. Raises Retry after 200 attempts, CommitConflict after
    5,000.
    """

    @functools.wraps(function)
    def insistent(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for attempt in itertools.count(1):
            try:
                return function(*args, **kwargs)
            except Retry as error:
                if attempt >= (_OVERTAKEN if isinstance(error, CommitConflict) else _ATTEMPTS):
                    raise
                time.sleep(random.uniform(0, min(0.02 * 1.5 ** min(attempt, 10), 1.0)))
        raise AssertionError("unreachable")

    return insistent


def refuse_secret(name: str) -> None:
    """Raises BenchError for a password, which process lists, messages and catalogs would show."""
    if _SECRET.search(name):
        raise BenchError(
            "the name of the warehouse contains a password",
            why="passwords on command lines are seen by others",
            hint="leave it out: PostgreSQL takes it from ~/.pgpass or PGPASSWORD",
        )
