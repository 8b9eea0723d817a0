"""What a user names -> files to read: paths, patterns, archives, standard input, remote files."""

from __future__ import annotations

import atexit
import glob
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from ..schema.errors import BenchError
from .archives import is_archive, members
from .folders import Unreadable, files_below, uri_of
from .remote import fetched, remote_url

STDIN = "-"


@dataclass(frozen=True)
class Input:
    """A file to read: where its bytes lie for now, its name in the warehouse, what was named.

    Most files are known: of them no path is made.
    """

    file: str
    uri: str
    given: str

    @cached_property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def stays(self) -> bool:
        """Whether it lies where the user named it, and not in a folder for the time being."""
        return self.file == self.given


def is_named_input(word: str) -> bool:
    """Whether a word of the command line names something to read."""
    path = Path(word)
    return word == STDIN or path.exists() or glob.has_magic(word) or remote_url(path) is not None


def inputs(
    paths: Iterable[Path], root: Path, unreadable: Unreadable, stdin_name: str | None = None
) -> Iterator[Input]:
    """Every file named, below folders, that fits a pattern, within archives, piped or remote.

    What is unpacked or fetched lies in a temporary folder, one file at a time. Names are relative
    to `root`; a member of an archive is ARCHIVE!/MEMBER, standard input `stdin_name` or a word made
    of its bytes. Raises BenchError for a path that does not exist.
    """
    local: list[Path] = []
    others: list[Path] = []
    for path in paths:
        is_other = str(path) == STDIN or remote_url(path) is not None
        (others if is_other else local).append(path)
    found = files_below((one for path in local for one in _matching(path)), unreadable)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        scratch = Path(folder)
        for name in found:
            yield from _opened(Input(name, uri_of(name, root), name), scratch, unreadable)
        for path in others:
            url = remote_url(path)
            if url is None:
                yield _piped(stdin_name)
                continue
            try:
                for file, uri in fetched(url, scratch):
                    yield from _opened(Input(str(file), uri, str(path)), scratch, unreadable)
            except OSError as error:
                unreadable(str(path), error)


def _matching(path: Path) -> list[Path]:
    """A path that is there, or what a pattern that the shell has left alone stands for."""
    text = str(path)
    if path.exists() or not glob.has_magic(text):
        return [path]
    found = [Path(one) for one in sorted(glob.glob(text, recursive=True))]
    if not found:
        raise BenchError(f"no file matches {text}", hint="check the pattern; ** goes into folders")
    return found


def _opened(item: Input, scratch: Path, unreadable: Unreadable) -> Iterator[Input]:
    """The file itself, or the files of an archive."""
    if not is_archive(item.uri):
        yield item
        return
    try:
        for path, member in members(item.path, scratch):
            yield Input(str(path), f"{item.uri}!/{member}", item.given)
    except OSError as error:
        unreadable(item.uri, error)


def _piped(name: str | None) -> Input:
    """Standard input under a name that tells by its end what it is, as that of a file does."""
    kept = _standard_input()
    path = kept.with_name(f"stdin{Path(name or '').suffix}")
    if kept.exists():
        kept.replace(path)
    if name is None:
        with path.open("rb") as file:
            name = f"stdin-{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
    return Input(str(path), name, STDIN)


@cache
def _standard_input() -> Path:
    """Where standard input lies until the program ends: it can be read but once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise BenchError("nothing is piped in", hint="zcat x.log.gz | bench ingest - --name x.log")
    folder = tempfile.TemporaryDirectory(prefix="bench-")
    atexit.register(folder.cleanup)
    kept = Path(folder.name, "stdin")
    with kept.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return kept
