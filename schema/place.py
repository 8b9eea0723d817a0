"""Where a warehouse lies: a file of one machine, or a place that many machines write to.

`--db` names a file, `folder:DIR`, or a lake by its catalog: `ducklake:FILE.ducklake`,
`ducklake:sqlite:FILE`. A shared place is a sequence of
numbered commits. Each is rows for the tables of schema `raw`, whole or not there at all; what reads
and writes is a replica, a warehouse file of this machine (`replica.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .errors import BenchError, Locked

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER, LAKE = "folder:", "ducklake:"
_CATALOG = re.compile(r"ducklake:(?:(?P<kind>sqlite|postgres):)?(?P<name>.+)", re.S)
# A `Path` has made one slash of the two of a URL.
_SECRET = re.compile(r"\b(?:passfile|\w*(?:password|secret))\s*=|:/+[^/@]*:[^/@]*@", re.I)
Slices = Callable[[], Iterator["pa.Table"]]


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

    def create(self, data: Path | None) -> None:
        """Make an empty one; `data` is where a lake keeps its Parquet files."""

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

    def collect(self, age: timedelta) -> int:
        """Remove files older than `age` that no commit needs; gives how many.

        Never those of a writer at work. An age of zero also removes what a reader needs right now.
        """

    def check(self) -> tuple[int, list[str]]:
        """How many files there are, and what is wrong with them."""


class Overtaken(Locked):
    """Others have committed since this process read."""

    def __init__(self) -> None:
        super().__init__(
            "others keep writing to the warehouse", why="each commit was overtaken by another",
            hint="try again; what is stored stays",
        )  # fmt: skip


def is_shared(path: Path) -> bool:
    """Whether a name is that of a shared place."""
    return str(path).startswith((FOLDER, LAKE))


def place_of(path: Path) -> Place:
    """The shared place of a name; raises BenchError for one that cannot be."""
    if (name := str(path)).startswith(FOLDER):
        from .folder import Folder

        return Folder(Path(name.removeprefix(FOLDER)))
    from .lake import Lake

    kind, catalog = catalog_of(path)
    return Lake(kind, catalog)


def catalog_of(path: Path) -> tuple[str, str]:
    """The kind of a lake's catalog (`duckdb`, `sqlite`, `postgres`) and its name.

    Raises BenchError.
    """
    found = _CATALOG.fullmatch(str(path))
    if found is None:
        raise BenchError(
            f"{LAKE} lacks its catalog", hint="ducklake:FILE.ducklake, ducklake:sqlite:FILE"
        )
    kind, name = found["kind"] or "duckdb", found["name"]
    return kind, name


def located(name: str | Path, folder: Path) -> Path:
    """A warehouse by its name as seen from a folder: absolute, also inside of a place's name.

    Raises BenchError when the name holds a password, or a lake no catalog that is supported.
    """
    text = str(name)
    _refuse_secret(text)
    if not is_shared(Path(text)):
        return folder / Path(text).expanduser()
    if text.startswith(FOLDER):
        head, path = FOLDER, text.removeprefix(FOLDER)
    else:
        kind, path = catalog_of(Path(text))
        if kind == "postgres":  # not shown yet to lose nothing when writers are killed
            raise BenchError(
                "a catalog in PostgreSQL is not supported",
                hint="folder:DIR, in a folder that all machines see",
            )
        head = text.removesuffix(path)
    return Path(head + str(folder / Path(path).expanduser()))


def _refuse_secret(name: str) -> None:
    """A password would be seen in lists of processes, and repeated in messages: not in this one."""
    if _SECRET.search(name):
        raise BenchError(
            "the name of the warehouse holds a password",
            why="passwords on command lines are seen by others",
            hint="folder:DIR, ducklake:sqlite:FILE or ducklake:FILE.ducklake",
        )


def home_of(path: Path) -> Path:
    """The folder that paths of sources begin at: that of the file, folder or catalog.

    A catalog in PostgreSQL has none: there it is the working folder.
    """
    if not is_shared(path):
        return path.absolute().parent
    name = str(path).removeprefix(FOLDER)
    if name.startswith(LAKE):
        kind, name = catalog_of(path)
        if kind == "postgres":
            return Path.cwd()
    return Path(os.path.abspath(name)).parent


def require_place(path: Path) -> None:
    """Raises BenchError when no warehouse has been made at a shared place."""
    if not place_of(path).exists():
        raise BenchError(f"no warehouse at {path}", hint=f"bench db init --db '{path}' makes one")


def is_there(path: Path) -> bool:
    """Whether there is a warehouse of this name; raises BenchError if that cannot be asked."""
    return place_of(path).exists() if is_shared(path) else path.exists()
