"""A shared warehouse as one of its commits left it, in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .connect import confine
from .errors import BenchError
from .opening import in_memory
from .place import is_shared, place_of, require_place
from .replica import Replica, insert
from .warehouse import Warehouse


def open_commit(path: Path, number: int, complete: Callable[[Warehouse, Path], None]) -> Warehouse:
    """The warehouse at `path` with the rows up to commit `number` alone.

    `complete` is called with it and the folder that paths of sources are relative to. Raises
    BenchError for a file, and for a commit that is not kept.
    """
    if not is_shared(path):
        raise BenchError(
            f"{path} is a file: it has no commit {number}", hint="--known-at '2024-05-31 12:00'"
        )
    require_place(path)
    place = place_of(path)
    latest = place.latest()
    if not 0 < number <= latest:
        raise BenchError(
            f"no commit {number} at {path}",
            why=f"the newest is {latest}",
            hint="bench db snapshots",
        )
    warehouse = in_memory()
    try:
        for change in place.changes(0, number):
            insert(warehouse.con, change)
        confine(warehouse.con)
        complete(warehouse, place.home)
    except BaseException as error:
        warehouse.close()
        if isinstance(error, BenchError) and number not in {one.number for one in place.history()}:
            raise BenchError(
                f"commit {number} of {path} is no longer kept",
                why="bench db compact and gc keep what the newest needs", hint="bench db snapshots",
            ) from error  # fmt: skip
        raise
    warehouse.confined = warehouse.read_only = True
    warehouse.replica = Replica(path, place.home, place, number)
    return warehouse
