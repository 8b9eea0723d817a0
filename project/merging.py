"""`bench merge`: merge warehouses, records, logs and tables of several groups."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..schema.errors import BenchError
from ..schema.location import home_of, is_shared, is_there, located
from ..schema.merge import MergeResult, merge
from ..schema.opening import open_read, open_write
from .after_ingest import Checked, after_ingest_into

_GROUP = re.compile(r"[\w][\w.+@-]{0,63}")
_HEAD = 16
_MAGIC = slice(8, 12)  # offset of DUCK in a DuckDB file


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A warehouse (shared or a file) or folder of a group, and the group's name."""

    group: str
    path: Path


def parse_other(text: str) -> MergeSource:
    """Parse `NAME=PATH`, or a path named after its folder; raises BenchError if it is missing."""
    name, equals, rest = text.partition("=")
    named = bool(equals) and not (is_shared(Path(text)) or Path(text).exists())
    path = located(rest if named else text, Path.cwd())
    if not is_there(path):
        raise BenchError(f"no such path: {rest if named else text}", hint="bench merge lab-a=PATH")
    if not named:
        # Warehouses mostly have the same file name: the folder identifies them.
        whole = is_shared(path) or path.is_file()
        name = (home_of(path) if whole else path).name
    if not _GROUP.fullmatch(name):
        raise BenchError(f"{name!r} is not a valid group name", hint=f"bench merge NAME={path}")
    return MergeSource(name, path)


def merge_all(
    db: Path, others: Sequence[MergeSource], formats: Path | None, lock_timeout: float
) -> tuple[list[tuple[MergeSource, MergeResult]], Checked]:
    """Merge each of the others into `db` in a transaction of its own, then post-process.

    Raises BenchError, Locked, Incompatible; earlier merges stay, and a repeated call does the
    rest.
    """
    names = [other.group for other in others]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BenchError(f"duplicate group name {twice!r}", hint="bench merge NAME=PATH")
    done = []
    for other in others:
        if _is_same(db, other.path):
            raise BenchError(f"{db} is the warehouse itself", hint="name another one")
        for file in _as_warehouse(other.path, formats):
            done.append((other, merge(db, file, other.group, lock_timeout)))
    return done, after_ingest_into(db, lock_timeout, [uri for _, one in done for uri in one.added])


def _is_same(path: Path, other: Path) -> bool:
    if is_shared(path) or is_shared(other):
        return path == other
    return path.exists() and path.samefile(other)


def contradicting(db: Path, lock_timeout: float) -> list[str]:
    """Contradictions between merged copies and statements, one sentence each."""
    from ..audit.run import found_by

    with open_read(db, lock_timeout) as warehouse:
        findings = found_by(warehouse, "R12c")
    return [
        f"{finding.uri}:{finding.line}: {finding.message}: {finding.evidence}"
        for finding in findings
    ]


def _as_warehouse(path: Path, formats: Path | None) -> Iterator[Path]:
    """The warehouse file, or a temporary one made from a folder."""
    if is_shared(path) or _is_warehouse(path):
        yield path
        return
    from ..ingest.files.pipeline import ingest_into

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
