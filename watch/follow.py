"""Following files: find new and rotated ones, ingest what they gain."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..ingest.files.folders import family, files_below, is_log_name, is_packed_log, uri_of
from ..ingest.files.pipeline import ingest
from ..ingest.files.rotated import Folders
from ..ingest.files.summary import Summary
from ..schema.errors import BenchError, Locked
from ..schema.location import home_of
from ..vocabulary.wildcards import matching

_State = tuple[int, int, int]  # inode, size, mtime in ns


@dataclass(slots=True)
class Follower:
    """Growing files below a user's paths; `store` ingests their new lines."""

    paths: Sequence[Path]
    db: Path
    lock_timeout: float
    formats: Path | None = None
    found: bool = False  # whether any log was there to read
    _began: float = field(default_factory=time.time)
    _seen: dict[Path, _State] = field(default_factory=dict)
    _moved: dict[Path, None] = field(default_factory=dict)
    _reported: set[tuple[str, str]] = field(default_factory=set)  # uri and reason

    def check(self) -> None:
        """Raises BenchError for a path whose folder does not exist."""
        for path in self.paths:
            folder = path.absolute().parent
            while _is_pattern(folder):
                folder = folder.parent
            if not os.path.exists(path) and not os.path.isdir(folder):
                raise BenchError(f"no such file or folder: {path}", hint="check the path")

    def files(self) -> list[Path]:
        """The existing files, including rotated ones."""
        present = [path for named in self.paths for path in _matching(named) if _state(path)]
        found = map(Path, files_below(present, _ignore))
        named = {*map(Path, files_below([p for p in present if not p.is_dir()], _ignore))}
        logs = [path for path in found if path in named or is_log_name(path.name)]
        return list(dict.fromkeys([*logs, *(path for path in self._moved if _state(path))]))

    def store(self) -> Summary:
        """Ingest complete lines added since the last call. Raises Locked, BenchError."""
        self._follow_moved()
        states = {path: state for path in self.files() if (state := _state(path))}
        changed = [path for path, state in states.items() if self._seen.get(path) != state]
        summary = self._ingest(changed, live=True) if changed else Summary()
        # Unreadable files are tried again.
        root, failed = home_of(self.db), {uri for uri, _ in summary.failed}
        self._seen |= {p: state for p, state in states.items() if uri_of(p, root) not in failed}
        return summary

    def finish(self) -> Summary:
        """Ingest the rest, including an incomplete last line, once logs are no longer written."""
        self._follow_moved()
        files = self.files()
        return self._ingest(files, live=False) if files else Summary()

    def uris(self) -> dict[str, Path]:
        """The files by their names in the warehouse."""
        root = home_of(self.db)
        return {uri_of(path, root): path for path in self.files()}

    def failures(self, summary: Summary) -> Iterator[str]:
        """Messages for unreadable files, each once until the file has been read."""
        uris = {uri for uri, _ in summary.failed}
        self._reported = {(uri, reason) for uri, reason in self._reported if uri in uris}
        for uri, reason in summary.failed:
            if (uri, reason) not in self._reported:
                self._reported.add((uri, reason))
                yield f"{uri}: cannot read: {reason}"

    def _ingest(self, files: Sequence[Path], *, live: bool) -> Summary:
        try:
            done = ingest(
                files, self.db, lock_timeout=self.lock_timeout, formats=self.formats, live=live
            )
            self.found = self.found or bool(done.uris)
            return done
        except BenchError as error:
            existing = [path for path in files if _state(path)]
            if isinstance(error, Locked) or len(existing) == len(files):
                raise
            # A file was just renamed.
            return self._ingest(existing, live=live) if existing else Summary()

    def _follow_moved(self) -> None:
        """Find renamed files: by inode, or by name and time."""
        folders = Folders()
        for path in self.paths:
            for other in folders.relatives(path):
                state = _state(other)
                written = state is not None and state[2] >= self._began * 1e9
                if written and family(other.name) == path.name:
                    self._moved[other] = None
        for path, (inode, _, _) in list(self._seen.items()):
            now = _state(path)
            if now is not None and now[0] == inode:
                continue
            for other in folders.relatives(path):
                state = _state(other)
                packed = now is None and other.stem == path.name and is_packed_log(other)
                if packed or (state is not None and state[0] == inode):
                    self._moved[other] = None
            if now is None:
                del self._seen[path]


def _ignore(what: Path | str, error: OSError) -> None:
    """Ignores an error: if it persists, the next `store` reports it."""


def _is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path)) and not os.path.exists(path)


def _matching(path: Path) -> list[Path]:
    """The path, or the current matches of a pattern that the shell did not expand."""
    if not _is_pattern(path):
        return [path]
    return matching(path)


def _state(path: Path) -> _State | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
