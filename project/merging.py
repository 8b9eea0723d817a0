"""`bench merge`: warehouses, records, logs and tables of several groups become one warehouse."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.errors import BenchError
from ..schema.merge import Merged, merge
from ..schema.opening import open_read, open_write
from ..schema.place import home_of, is_shared, is_there, located
from .after_ingest import Checked, after_ingest_into

_GROUP = re.compile(r"[\w][\w.+@-]{0,63}")
_HEAD = 16
_MAGIC = slice(8, 12)  # where a DuckDB file has DUCK


@dataclass(frozen=True, slots=True)
class Other:
    """A warehouse, shared or a file, or a folder of a group, and what the group is called here."""

    group: str
    path: Path


def parse_other(text: str) -> Other:
    """`NAME=PATH`, or a path, named after its folder; raises BenchError for what is not there."""
    name, equals, rest = text.partition("=")
    named = bool(equals) and not (is_shared(Path(text)) or Path(text).exists())
    path = located(rest if named else text, Path.cwd())
    if not is_there(path):
        raise BenchError(f"no such path: {rest if named else text}", hint="bench merge lab-a=PATH")
    if not named:
        # Warehouses are mostly called alike: their folder tells whose they are.
        whole = is_shared(path) or path.is_file()
        name = (home_of(path) if whole else path).name
    if not _GROUP.fullmatch(name):
        raise BenchError(f"{name!r} is no name of a group", hint=f"bench merge NAME={path}")
    return Other(name, path)


def merge_all(
    db: Path, others: Sequence[Other], formats: Path | None, lock_timeout: float
) -> tuple[list[tuple[Other, Merged]], Checked]:
    """Take each of the others into `db`, one transaction each, then work out what follows.

    Raises BenchError, Locked, Incompatible; what was merged before stays, and the same call again
    does the rest.
    """
    names = [other.group for other in others]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BenchError(f"two groups are called {twice!r}", hint="bench merge NAME=PATH")
    done = []
    for other in others:
        if _is_same(db, other.path):
            raise BenchError(f"{db} is the warehouse itself", hint="name another one")
        for file in _as_warehouse(other.path, formats):
            done.append((other, merge(db, file, other.group, lock_timeout)))
    return done, after_ingest_into(db, lock_timeout, [uri for _, one in done for uri in one.added])


def _is_same(one: Path, other: Path) -> bool:
    if is_shared(one) or is_shared(other):
        return one == other
    return one.exists() and one.samefile(other)


def contradicting(db: Path, lock_timeout: float) -> list[str]:
    """What merged copies and statements contradict each other in, a sentence each."""
    from ..audit.run import found_by

    with open_read(db, lock_timeout) as warehouse:
        found = found_by(warehouse, "R12c")
    return [f"{one.uri}:{one.line}: {one.message}: {one.evidence}" for one in found]


def _as_warehouse(path: Path, formats: Path | None) -> Iterator[Path]:
    """The file itself, or one made of what lies below a folder, for as long as it is needed."""
    if is_shared(path) or _is_warehouse(path):
        yield path
        return
    from ..ingest.pipeline import ingest_into

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        made = Path(folder, "bench.duckdb")
        root = path if path.is_dir() else path.parent
        with open_write(made) as warehouse:
            summary = ingest_into(warehouse, [path], root, formats, 1)
        if summary.failed:
            uri, reason = summary.failed[0]
            raise BenchError(f"cannot read {uri}", why=reason, where=str(path))
        if not summary.new:
            raise BenchError(f"{path} holds no warehouse, record, log or table")
        yield made


def _is_warehouse(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_HEAD)[_MAGIC] == b"DUCK"
