"""A shared place: a sequence of numbered commits, whatever keeps it.

Each is rows for the tables of schema `raw`, whole or not there at all.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from .errors import Locked

if TYPE_CHECKING:
    import pyarrow as pa

_ATTEMPTS = 200
_P = ParamSpec("_P")
_T = TypeVar("_T")
Slices = Callable[[], Iterator["pa.Table"]]
Tell = Callable[[str], None]


def untold(text: str) -> None:
    """For who does not ask."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit adds: rows by table of `raw`, and the loads whose checkpoints it drops.

    A `whole` one stands for all before it: its rows are all that there are.
    """

    number: int
    tables: Mapping[str, Slices]
    whole: bool = False
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """A line of the history: number, time (UTC), the tables that it filled."""

    number: int
    at: datetime
    tables: tuple[str, ...]


class Place(Protocol):
    """A shared place; every method raises BenchError when it cannot be reached."""

    def exists(self) -> bool:
        """Whether a warehouse has been made there."""

    @property
    def home(self) -> Path:
        """The folder that paths of sources begin at."""

    @property
    def scratch(self) -> Path | None:
        """A folder of it for files that soon go again, None of an object store."""

    def create(self, data: str | None) -> None:
        """Make an empty one; `data` is where a lake keeps its Parquet files: a folder, `s3://`."""

    def latest(self) -> int:
        """The number of the newest commit; 0 of none."""

    def changes(self, after: int) -> Iterator[Change]:
        """The commits behind a number in their order; a whole one where they are gone by now."""

    def commit(self, after: int, change: Change) -> int | None:
        """Add a commit right behind `after`; gives its number, None if others were faster."""

    def history(self) -> list[Commit]:
        """The commits that are kept, oldest first."""

    def merge(self) -> bool:
        """Put many small files together; False where a whole commit has to do it."""

    def collect(self, age: timedelta, tell: Tell = untold) -> int:
        """Remove files older than `age` that no commit needs; gives how many.

        Never those of a writer at work. An age of zero also removes what a reader needs right now.
        What stays since it may be of somebody else is told.
        """

    def check(self) -> tuple[int, list[str]]:
        """How many files there are, and what is wrong with them."""


class Again(Locked):
    """What may succeed when it begins anew, after a look at what is stored by then."""


class Overtaken(Again):
    """Others have committed since this process read."""

    def __init__(self) -> None:
        super().__init__(
            "others keep writing to the warehouse", why="each commit was overtaken by another",
            hint="try again; what is stored stays",
        )  # fmt: skip


def repeated(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Begins anew, after a while, what others have overtaken or what a lost connection ended.

    The function opens the warehouse itself. Raises Again after many times.
    """

    @functools.wraps(function)
    def insistent(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        for attempt in range(_ATTEMPTS):
            try:
                return function(*args, **kwargs)
            except Again:
                time.sleep(random.uniform(0, min(0.02 * 1.5**attempt, 1.0)))
        return function(*args, **kwargs)

    return insistent
