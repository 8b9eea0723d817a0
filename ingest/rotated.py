"""Files that took over what another one held: logs that were rotated or renamed."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..schema.ledger import Known, Ledger
from .content import print_of
from .folders import uri_of
from .inputs import Input
from .names import family, is_log_name, is_packed_log

_Names = dict[str, list[str]]


def sibling(item: Input, uri: str) -> Input:
    """Another file of the folder of one."""
    return Input(os.path.join(os.path.dirname(item.file), uri.rpartition("/")[2]), uri, item.given)


def size_of(path: Path) -> int:
    """Bytes; none of a file that is not there."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def holds(path: Path, known: Known) -> bool:
    """Whether a file begins with the bytes of a load, unpacked if it is packed."""
    try:
        if not is_packed_log(path) and path.stat().st_size < known.size:
            return False
        return print_of(path, known.size).sha256 == known.sha256
    except OSError:
        return False


@dataclass(slots=True)
class Folders:
    """Which logs lie beside each other; each folder is listed once."""

    _names: dict[Path, _Names] = field(default_factory=dict)

    def relatives(self, path: Path) -> Iterator[Path]:
        """Files of the same folder that may be older or newer states of one log."""
        folder = path.parent
        if folder not in self._names:
            self._names[folder] = _by_family(folder)
        names, keys = self._names[folder], (path.name, family(path.name))
        found = {name: None for key in keys for name in names.get(key, ()) if name != path.name}
        yield from (path.with_name(name) for name in found)


def _by_family(folder: Path) -> _Names:
    """Names of logs by themselves and by their families."""
    found: _Names = defaultdict(list)
    try:
        with os.scandir(folder) as scan:
            names = sorted(entry.name for entry in scan if entry.is_file())
    except OSError:
        return found
    for name in names:
        if _is_log(name):
            for word in {name, family(name)}:
                found[word].append(name)
    return found


def _is_log(name: str) -> bool:
    return is_log_name(name) or is_packed_log(Path(name))


def _is_gone(path: Path, known: Known) -> bool:
    """Whether a file cannot hold what it held: it is shorter or not there."""
    if is_packed_log(path):
        return not path.exists()
    return size_of(path) < known.size


@dataclass(slots=True)
class Moves:
    """What files hold that others held before, by the ledger."""

    root: Path
    ledger: Ledger
    _folders: Folders = field(default_factory=Folders)
    _known: dict[Path, dict[str, list[Known]]] = field(default_factory=dict)  # by name or family
    _gone: dict[tuple[Path, str], list[Known]] = field(default_factory=dict)  # of these

    def source_of(self, item: Input, *, lost: bool = False) -> Known | None:
        """What a log begins with, where a file held it that does not hold it any more.

        It is a new one, or has lost what it held itself.
        """
        if not (lost or self.ledger.newest(item.uri) is None) or not self._may_move(item):
            return None
        gone = self._gone_from(item)
        return next((known for known in gone if holds(item.path, known)), None)

    def displaced(
        self, item: Input, known: Known, moving: frozenset[str] = frozenset()
    ) -> Iterator[Known]:
        """The names that what a log held has now, noted; several, where logs move on by one.

        What the uris `moving` held is looked for already: two logs may have changed places.
        """
        if not self._may_move(item):
            return
        for path in self._folders.relatives(item.path):
            other = Input(str(path), uri_of(path, self.root), item.given)
            present = self.ledger.newest(other.uri)
            taken = other.uri in moving or (present and holds(path, present))
            if taken or not holds(path, known):
                continue
            if present:
                yield from self.displaced(other, present, moving | {item.uri})
            plan = self.ledger.plan(other.uri, *known.content, known.size)
            if plan is not None and plan.load_id == known.load_id:
                self.ledger.note(plan)
                yield plan
            return

    def left(self, item: Input, known: Known) -> Iterator[Known]:
        """The names that a packed log had before it was packed, noted to show nothing."""
        if not is_packed_log(item.path) or not self._may_move(item):
            return
        for other in self.ledger.shows_elsewhere(known):
            path, name = sibling(item, other.uri).path, family(item.path.name)
            here = other.uri.rpartition("/")[0] == item.uri.rpartition("/")[0]
            gone = here and family(path.name) == name and not path.exists()
            if gone and (nothing := self.emptied(other)):
                yield nothing

    def emptied(self, known: Known) -> Known | None:
        """That nothing is shown for a file which is gone: it goes by another name."""
        nothing = hashlib.sha256().hexdigest()
        plan = self.ledger.plan(known.uri, nothing, known.parser_version)
        if plan is not None:
            self.ledger.note(plan)
        return plan

    def _may_move(self, item: Input) -> bool:
        """Whether it is a log that lies where its name says, and not in an archive."""
        return _is_log(item.path.name) and uri_of(item.path, self.root) == item.uri

    def _gone_from(self, item: Input) -> Iterator[Known]:
        """What logs of the same name or family held that are not there any more, or are shorter."""
        folder = item.path.parent
        if folder not in self._known:
            related = self._known[folder] = defaultdict(list)
            for known in self.ledger.of_folder(item.uri.rpartition("/")[0]):
                name = known.uri.rpartition("/")[2]
                if _is_log(name):
                    for word in {name, family(name)}:
                        related[word].append(known)
        for key in dict.fromkeys((item.path.name, family(item.path.name))):
            if (folder, key) not in self._gone:
                self._gone[folder, key] = [
                    known
                    for known in self._known[folder].get(key, ())
                    if _is_gone(sibling(item, known.uri).path, known)
                ]
            for known in self._gone[folder, key]:
                if known.uri != item.uri and self.ledger.newest(known.uri) is known:
                    yield known
