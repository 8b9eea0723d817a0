"""The folder of a site: its files with their keys, and the state of the last build."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..decide.failures import FAILED
from ..ingest.files.folders import SITE_MARK
from ..schema.errors import BenchError
from ..vocabulary.atomic import atomic_write
from ..vocabulary.regular_files import has_content, parse_json, read_regular, require_within
from .code_digest import made_by
from .load import Content

MANIFEST = SITE_MARK
_LARGEST = 256 << 20  # maximum bytes of the stored state
_MOST = 20  # maximum of runs listed as new or changed
Leading = Callable[[Content, Collection[str]], Mapping[str, str]]


@dataclass
class Folder:
    """Files by name with the key of their inputs; foreign files in the folder are not touched."""

    path: Path
    before: Mapping[str, str]
    runs_before: Mapping[str, str]
    changes_before: Mapping[str, Any] | None
    clean_before: frozenset[str]  # keys of logs without audit errors
    clean: frozenset[str] = frozenset()
    code_before: str = ""  # the digest of the code of the last build, if known
    now: dict[str, str] = field(default_factory=dict)
    written: int = 0
    _sorted: list[str] | None = None
    _within: set[Path] = field(default_factory=set)  # folders checked to be inside, links resolved
    _runs: dict[str, str] = field(default_factory=dict)
    _changes: Mapping[str, Any] | None = None

    def is_made(self, name: str, key: str) -> bool:
        """Whether a file exists with the same key."""
        if self.before.get(name) != key or not (self.path / name).is_file():
            return False
        self.now[name] = key
        return True

    def keep(self, start: str, key: str) -> None:
        """Keep the files of the last build with this prefix, if they have the same key."""
        for name in self._starting(start):
            if self.before[name] == key:
                self.now[name] = key

    def _starting(self, start: str) -> list[str]:
        if self._sorted is None:
            self._sorted = sorted(self.before)
        first = bisect_left(self._sorted, start)
        return self._sorted[first : bisect_left(self._sorted, f"{start}\U0010ffff")]

    def write(self, name: str, data: bytes, key: str) -> None:
        """Write a file, unless it has the same bytes. Raises BenchError."""
        file = self.path / name
        try:
            if file.parent not in self._within:
                require_within(self.path, file)
                self._within.add(file.parent)
            if not has_content(file, data):
                file.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(file, data)
                self.written += 1
        except OSError as error:
            raise BenchError(
                "the site cannot be written",
                why=error.strerror or str(error),
                where=str(file),
                hint="check the folder's permissions and room, or give another -o",
            ) from error
        self.now[name] = key

    def changes(
        self, content: Content, digests: Mapping[str, str], leading: Leading
    ) -> Mapping[str, Any] | None:
        """The changes since the last build; without any, those reported by the last build."""
        self._runs = {content.id(run): made[:8] for run, made in digests.items()}
        if not self.before:
            return None
        new = [run for run in digests if content.id(run) not in self.runs_before]
        other = [
            run
            for run, made in digests.items()
            if self.runs_before.get(content.id(run), made[:8]) != made[:8]
        ]
        gone = len(self.runs_before.keys() - self._runs.keys())
        if not (new or other or gone):
            self._changes = self.changes_before
            return self._changes

        leads = leading(content, {*new, *other})

        def listed(runs: list[str]) -> list[list[str]]:
            """Link, name, what it is the fastest of, and how it failed."""
            failed = {run: content.by_id[run]["status"] in FAILED for run in runs}
            runs = sorted(runs, key=lambda run: (run not in leads, not failed[run]))[:_MOST]
            return [
                [
                    content.href(run),
                    content.place(content.by_id[run]),
                    leads.get(run, ""),
                    content.by_id[run]["status"] if failed[run] else "",
                ]
                for run in runs
            ]

        # In the order of the stored state: pages that show it again are not made again.
        self._changes = {
            "changed": len(other),
            "changed_runs": listed(other),
            "gone": gone,
            "new": len(new),
            "new_runs": listed(new),
            "other_version": self.code_before != made_by(),
        }
        return self._changes

    def close(self) -> int:
        """Remove obsolete files of the last build, and store the state of this one."""
        gone = [name for name in self.before if name not in self.now]
        top = self.path.resolve()
        for name in gone:
            file = (self.path / name).resolve()
            if file.is_relative_to(top):
                file.unlink(missing_ok=True)
        kept = {"files": self.now, "runs": self._runs, "changes": self._changes,
                "clean": sorted(self.clean), "code": made_by()}  # fmt: skip
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
        atomic_write(self.path / MANIFEST, text.encode())
        return len(gone)


def opened(path: Path) -> Folder:
    """Open the folder, created if needed. Raises BenchError if it has foreign pages."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not (path / MANIFEST).is_file():
            if (path / "index.html").exists():
                raise BenchError(
                    "the folder holds pages that bench site did not make",
                    where=str(path),
                    why="its index.html would be overwritten",
                    hint="give -o another folder",
                )
            return Folder(path, {}, {}, None, frozenset())
        found = parse_json(read_regular(path / MANIFEST, _LARGEST))
        before = {str(name): str(key) for name, key in found["files"].items()}
        runs = {str(run): str(key) for run, key in found["runs"].items()}
        clean = frozenset(map(str, found.get("clean", ())))  # missing in older sites
        code = str(found.get("code", ""))
        return Folder(path, before, runs, found["changes"], clean, code_before=code)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = "it is a file" if path.is_file() else getattr(error, "strerror", None) or str(error)
        broken = f"remove {MANIFEST} in it, or " if path.is_dir() else ""
        raise BenchError(
            "the folder of the site cannot be used",
            why=why,
            where=str(path),
            hint=f"{broken}give -o another folder",
        ) from error
