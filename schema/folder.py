"""A shared warehouse that is a folder and nothing else: no server, no lock.

`commits/NUMBER.json` names the Parquet files of a commit, which lie in `data/`. All files are
written once. A commit is claimed by `link`, which file systems do atomically, also those whose
locks are doubtful (NFS, Lustre): of two writers of one number one fails, and begins anew. Numbers
are never free again; so once one is taken, files of writers that wanted it can be removed.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypedDict

from ..vocabulary.regular_files import parse_json, read_regular
from .commits import Change, Commit, Notify, ignore_note
from .errors import BenchError, Incompatible
from .migrate import last_table, now_utc
from .shared_files import WrittenFile, permissions_of, read, sha256, write
from .sql import tables

_MARK, _FORMAT = "bench-warehouse.json", 1
_NAME = re.compile(r"[0-9a-f]{32}\.parquet")
_LARGEST = 256 << 20  # bytes of a commit's names
_COMMIT = re.compile(r"(\d{10})\.json")


class _Entry(TypedDict):
    """A commit as written; `tables` is the number of the newest table that it may fill."""

    at: str
    tables: int
    whole: bool
    gone: list[str]
    files: list[WrittenFile]


@dataclass(frozen=True, slots=True)
class Folder:
    """The place `folder:DIR`; `commits.Place` describes its methods."""

    path: Path

    @property
    def identity(self) -> str:
        try:
            found = (self.path / _MARK).stat()
        except OSError as error:
            raise BenchError(
                f"cannot read {self.path}", why=error.strerror or str(error)
            ) from error
        return f"{found.st_ino} {found.st_mtime_ns}"

    @property
    def home(self) -> Path:
        return Path(os.path.abspath(self.path)).parent

    @property
    def scratch(self) -> Path:
        return Path(os.path.abspath(self.path))

    @property
    def _data(self) -> Path:
        return self.path / "data"

    def exists(self) -> bool:
        try:
            mark = parse_json(read_regular(self.path / _MARK, _LARGEST))
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise BenchError(f"cannot read {self.path / _MARK}", why=str(error)) from error
        if mark != {"format": _FORMAT}:
            raise Incompatible(
                f"{self.path} was made by another version of bench", hint="upgrade bench"
            )
        return True

    def create(self, data: str | None) -> None:
        if data is not None:
            raise BenchError("a folder keeps its files in itself", hint="leave --data out")
        if self.path.is_dir() and any(self.path.iterdir()):
            raise BenchError(f"{self.path} is not empty", hint="name a folder that is not there")
        with self._writing():
            for folder in ("commits", "data"):
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            draft = self._draft(json.dumps({"format": _FORMAT}).encode())
            try:
                os.link(draft, self.path / _MARK)
            except FileExistsError:
                raise BenchError(f"{self.path} has just been made by another process") from None
            except OSError as error:
                raise BenchError(
                    f"cannot share {self.path}",
                    why="its file system has no hard links",
                    hint="a folder on another file system",
                ) from error
            finally:
                draft.unlink(missing_ok=True)

    def latest(self) -> int:
        try:
            names = os.listdir(self.path / "commits")
        except OSError as error:
            raise BenchError(
                f"cannot read {self.path / 'commits'}", why=error.strerror or str(error)
            ) from error
        return max(
            (int(found[1]) for name in names if (found := _COMMIT.fullmatch(name))), default=0
        )

    def changes(self, after: int, until: int | None = None) -> Iterator[Change]:
        latest = self.latest() if until is None else until
        if latest < after:  # it is not the one that `after` is of
            after = 0
        # Files before a whole commit may be removed: nobody needs them.
        start = self._newest_whole(latest, after) or after + 1
        for number in range(start, latest + 1):
            entry = self._entry(number)
            rows = {
                table: partial(read, self._data, [f for f in entry["files"] if f["table"] == table])
                for table in dict.fromkeys(file["table"] for file in entry["files"])
            }
            yield Change(number, rows, entry["whole"], tuple(entry["gone"]))

    def commit(self, after: int, change: Change) -> int | None:
        self._refuse_links()
        if self.latest() != after:
            return None
        written: list[WrittenFile] = []
        with self._writing():
            try:
                for table, slices in change.tables.items():
                    written += write(self._data, table, slices())
            except BaseException as error:
                self._removed(self._paths(written))
                if isinstance(error, FileNotFoundError) and self._path_of(after + 1).exists():
                    return None  # `collect` has taken the number, and removed a file
                raise
            entry = _Entry(
                at=now_utc().isoformat(), tables=last_table(), whole=change.whole,
                gone=list(change.gone), files=written,
            )  # fmt: skip
            # After an interruption here the commit may exist: its files stay, if need be for
            # `collect`.
            if self._claim(after + 1, entry):
                return after + 1
            self._removed(self._paths(written))
        return None

    def history(self) -> list[Commit]:
        latest = self.latest()
        return [
            Commit(number, datetime.fromisoformat(entry["at"]), _tables(entry))
            for number in range(self._newest_whole(latest) or 1, latest + 1)
            for entry in (self._entry(number),)
        ]

    def merge(self) -> bool:
        return False

    def collect(self, age: timedelta, notify: Notify = ignore_note) -> int:
        self._refuse_links()
        past = time.time() - age.total_seconds() if age else None
        with self._writing():
            gone = self._orphans(past)
            # Their writers want a number up to the fence's: it is taken now.
            latest = self._fence() if gone else self.latest()
            first = self._newest_whole(latest) or 1
            for number in range(1, first):
                if past is None or self._path_of(number).stat().st_mtime <= past:
                    gone |= self._named(number, number)
            return self._removed(gone - self._named(first, latest))

    def check(self) -> tuple[int, list[str]]:
        latest, problems, files = self.latest(), [], 0
        for number in range(self._newest_whole(latest) or 1, latest + 1):
            try:
                entry = self._entry(number)
            except BenchError as error:
                problems.append(error.what)
                continue
            for file in entry["files"]:
                files += 1
                path = self._data / file["name"]
                if not path.is_file():
                    problems.append(f"commit {number}: {file['name']} is missing")
                elif sha256(path) != file["sha256"]:
                    problems.append(f"commit {number}: {file['name']} has other bytes")
        return files, problems

    def _refuse_links(self) -> None:
        """Raises BenchError for links: files are written and removed only in the folder itself."""
        for folder in (self.path / "commits", self._data):
            if folder.is_symlink():
                raise Incompatible(
                    f"{folder} is a link: it is read, but nothing is written or removed there",
                    hint=f"move what it leads to back, or all of {self.path} to that disk",
                )

    def _newest_whole(self, latest: int, after: int = 0) -> int | None:
        """The newest commit after `after` that replaces all before it."""
        for number in range(latest, after, -1):
            # The first one follows nothing, so it need not be read.
            if number > 1 and self._entry(number)["whole"]:
                return number
        return None

    def _orphans(self, past: float | None) -> set[Path]:
        """Files that no commit names, last written before a time: of writers killed or at work."""
        found = set()
        ours = (path for path in self._data.iterdir() if _NAME.fullmatch(path.name))
        for path in (*ours, *self.path.glob(".*.new")):
            with suppress(FileNotFoundError):
                if past is None or path.lstat().st_mtime <= past:
                    found.add(path)
        return found - self._named(1, self.latest())

    def _named(self, first: int, last: int) -> set[Path]:
        """The files of commits, looked up by number: a listing may be stale."""
        entries = (self._entry(number) for number in range(first, last + 1))
        return {path for entry in entries for path in self._paths(entry["files"])}

    def _paths(self, files: list[WrittenFile]) -> set[Path]:
        return {self._data / file["name"] for file in files}

    def _fence(self) -> int:
        """Take a number with an empty commit."""
        entry = _Entry(at=now_utc().isoformat(), tables=0, whole=False, gone=[], files=[])
        number = self.latest() + 1
        while not self._claim(number, entry):
            number += 1
        return number

    def _path_of(self, number: int) -> Path:
        return self.path / "commits" / f"{number:010d}.json"

    def _entry(self, number: int) -> _Entry:
        path = self._path_of(number)
        try:
            entry: _Entry = parse_json(read_regular(path, _LARGEST))
            newer = entry["tables"] > last_table()
            known = _is_commit(entry) and (
                newer or all(file["table"] in tables() for file in entry["files"])
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(
                f"cannot read commit {number} of {self.path}", why=str(error), where=str(path),
                hint="try again; bench db check lists missing files",
            ) from error  # fmt: skip
        if newer:
            raise Incompatible(f"{self.path} was written by a newer bench", hint="upgrade bench")
        if not known:
            raise Incompatible(f"commit {number} of {self.path} is not one of bench")
        return entry

    def _claim(self, number: int, entry: _Entry) -> bool:
        draft, path = self._draft(json.dumps(entry).encode()), self._path_of(number)
        try:
            mine = draft.stat()
            os.link(draft, path)
        except FileExistsError:
            # Over NFS a reply may be lost: then the first attempt succeeded.
            return os.path.samestat(mine, path.stat())
        except FileNotFoundError:
            if path.exists():  # `collect` has taken the number, and removed the draft
                return False
            raise
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _draft(self, text: bytes) -> Path:
        path = self.path / f".{os.urandom(16).hex()}.new"
        with permissions_of(self.path), path.open("xb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        return path

    def _removed(self, paths: set[Path]) -> int:
        removed = 0
        for path in paths:
            with suppress(FileNotFoundError):
                path.unlink()
                removed += 1
        return removed

    @contextmanager
    def _writing(self) -> Iterator[None]:
        for folder in (self.path / "commits", self._data):
            if (
                folder.is_symlink()
            ):  # perhaps made by others: nothing elsewhere is written or removed
                raise Incompatible(
                    f"{folder} is a link", why="through links a shared warehouse is only read",
                    hint="put the folder itself there, or bench db copy to a new place",
                )  # fmt: skip
        try:
            with permissions_of(self.path):
                yield
        except OSError as error:
            raise BenchError(
                f"cannot write to {self.path}", why=error.strerror or str(error),
                hint="check its permissions and the space that is left",
            ) from error  # fmt: skip


def _is_commit(entry: _Entry) -> bool:
    """Whether a commit has all required fields; raises ValueError, KeyError, TypeError."""
    datetime.fromisoformat(entry["at"])
    typed = isinstance(entry["whole"], bool) and isinstance(entry["gone"], list)
    texts = [*entry["gone"], *(file[key] for file in entry["files"] for key in ("table", "sha256"))]
    named = all(_NAME.fullmatch(file["name"]) for file in entry["files"])
    return typed and named and all(isinstance(text, str) for text in texts)


def _tables(entry: _Entry) -> tuple[str, ...]:
    return tuple(sorted({file["table"] for file in entry["files"]}))
