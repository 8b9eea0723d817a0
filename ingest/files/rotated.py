"""Logs that were rotated or renamed: which file now begins with the content of another.

The runs of a log keep their ids through a rotation, so its load continues under the new name.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...schema.ledger import Ledger, LedgerEntry
from .content import fingerprint_of
from .folders import family, is_log_name, is_packed_log, uri_of
from .inputs import Input

_NOTHING = hashlib.sha256().hexdigest()


def sibling(item: Input, uri: str) -> Input:
    """Another file of the folder of one."""
    return Input(os.path.join(os.path.dirname(item.file), uri.rpartition("/")[2]), uri, item.given)


def size_of(path: Path) -> int:
    """The size in bytes; 0 without a file."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


@dataclass(slots=True)
class Folders:
    """The logs of each folder, which is listed once."""

    _names: dict[Path, dict[str, list[str]]] = field(default_factory=dict)  # by name or family

    def relatives(self, path: Path) -> Iterator[Path]:
        """Files of the same folder that may be older or newer states of one log."""
        folder = path.parent
        if folder not in self._names:
            self._names[folder] = defaultdict(list)
            for name in _files_of(folder):
                for key in _keys(name):
                    self._names[folder][key].append(name)
        names = [name for key in _keys(path.name) for name in self._names[folder].get(key, ())]
        yield from (path.with_name(name) for name in dict.fromkeys(names) if name != path.name)


def _files_of(folder: Path) -> list[str]:
    """The names of the logs of a folder; none of one that cannot be listed."""
    try:
        with os.scandir(folder) as scan:
            return sorted(entry.name for entry in scan if entry.is_file() and _is_log(entry.name))
    except OSError:
        return []


def _keys(name: str) -> tuple[str, ...]:
    """The keys of a log: its name, and the one before it was rotated."""
    return tuple(dict.fromkeys((name, family(name))))


def _is_log(name: str) -> bool:
    return is_log_name(name) or is_packed_log(name)


@dataclass(slots=True)
class LogMoves:
    """Which files contain what others did before, by the ledger."""

    root: Path
    ledger: Ledger
    _folders: Folders = field(default_factory=Folders)
    _known: dict[Path, dict[str, list[LedgerEntry]]] = field(
        default_factory=dict
    )  # by name or family
    _gone: dict[tuple[Path, str], list[LedgerEntry]] = field(default_factory=dict)  # of these

    def source_of(self, item: Input, *, lost: bool = False) -> LedgerEntry | None:
        """The load that a log begins with, if the load's file does not contain it any more.

        The log is a new one, or has `lost` what it contained itself.
        """
        if not (lost or self.ledger.newest(item.uri) is None) or not self._may_move(item):
            return None
        gone = self._gone_from(item)
        return next((known for known in gone if _begins_with(item.path, known)), None)

    def displaced(
        self, item: Input, known: LedgerEntry, moving: frozenset[str] = frozenset()
    ) -> Iterator[LedgerEntry]:
        """The new names of a log's load, noted; several, if logs are rotated in a chain.

        The loads of the uris `moving` are looked for already: two logs may have changed places.
        """
        if not self._may_move(item):
            return
        for path in self._folders.relatives(item.path):
            other = Input(str(path), uri_of(path, self.root), item.given)
            present = self.ledger.newest(other.uri)
            taken = other.uri in moving or (present and _begins_with(path, present))
            if taken or not _begins_with(path, known):
                continue
            # The load at the new name moves first, so that its source is free.
            if present:
                yield from self.displaced(other, present, moving | {item.uri})
            plan = self.ledger.plan(other.uri, *known.content, known.size)
            if plan is not None and plan.load_id == known.load_id:
                self.ledger.note(plan)
                yield plan
            return

    def left(self, item: Input, known: LedgerEntry) -> Iterator[LedgerEntry]:
        """The same load under the names that a packed log had before, whose files are gone."""
        if not is_packed_log(item.path) or not self._may_move(item):
            return
        for other in self.ledger.shows_elsewhere(known):
            path, name = sibling(item, other.uri).path, family(item.path.name)
            here = other.uri.rpartition("/")[0] == item.uri.rpartition("/")[0]
            if here and family(path.name) == name and not path.exists():
                yield other

    def emptied(self, known: LedgerEntry) -> LedgerEntry | None:
        """An empty load for a name whose file is gone; noted."""
        plan = self.ledger.plan(known.uri, _NOTHING, known.parser_version)
        if plan is not None:
            self.ledger.note(plan)
        return plan

    def _may_move(self, item: Input) -> bool:
        """Whether it is a log at the path of its name, and not in an archive."""
        return _is_log(item.path.name) and uri_of(item.path, self.root) == item.uri

    def _gone_from(self, item: Input) -> Iterator[LedgerEntry]:
        """Loads of logs of the same name or family whose files are gone, or shorter."""
        folder = item.path.parent
        if folder not in self._known:
            related = self._known[folder] = defaultdict(list)
            for known in self.ledger.of_folder(item.uri.rpartition("/")[0]):
                name = known.uri.rpartition("/")[2]
                for key in _keys(name) if _is_log(name) else ():
                    related[key].append(known)
        for key in _keys(item.path.name):
            if (folder, key) not in self._gone:
                every = self._known[folder].get(key, ())
                self._gone[folder, key] = [
                    known for known in every if _is_gone(sibling(item, known.uri).path, known)
                ]
            for known in self._gone[folder, key]:
                # The lists are of the start: the name may have another load by now.
                if known.uri != item.uri and self.ledger.newest(known.uri) is known:
                    yield known


def _begins_with(path: Path, known: LedgerEntry) -> bool:
    """Whether a file begins with the bytes of a load, unpacked if it is packed."""
    try:
        if not is_packed_log(path) and path.stat().st_size < known.size:
            return False
        return fingerprint_of(path, known.size).sha256 == known.sha256
    except OSError:
        return False


def _is_gone(path: Path, known: LedgerEntry) -> bool:
    """Whether a file cannot contain its load any more: it is shorter or not there."""
    return not path.exists() if is_packed_log(path) else size_of(path) < known.size
