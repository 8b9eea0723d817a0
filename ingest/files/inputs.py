"""Arguments of a user -> files to read: paths, patterns, archives, standard input, remote files.

Members of tar archives are extracted one at a time, within limits, and never to their own paths.
Files on other machines and in object stores are fetched by fsspec and its installed backends.
"""

from __future__ import annotations

import atexit
import glob
import hashlib
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ...schema.errors import BenchError
from ...vocabulary.wildcards import matching
from .folders import Unreadable, files_below, is_candidate, uri_of
from .streams import LEAST_BYTES, MOST_TIMES, packing, unpacked

STDIN = "-"
_PIECE = 1 << 20  # bytes
MOST_MEMBERS = 100_000  # a guard against archive bombs
_ARCHIVE = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz|zst))?|tgz|tbz2?|txz)$", re.I)
_CHUNK = 1 << 20
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]+):/{1,3}(?P<rest>.*)", re.S
)  # Path: one slash of two
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Input:
    """A file to read: its current place, its name in the warehouse, the argument.

    Most files are known: no path is built for them.
    """

    file: str
    uri: str
    given: str

    @cached_property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def stays(self) -> bool:
        """Whether it is at the named path, and not in a temporary folder."""
        return self.file == self.given


def is_named_input(text: str) -> bool:
    """Whether an argument of the command line is an input."""
    path = Path(text)
    return text == STDIN or path.exists() or glob.has_magic(text) or remote_url(path) is not None


def inputs(
    paths: Iterable[Path], root: Path, unreadable: Unreadable, stdin_name: str | None = None
) -> Iterator[Input]:
    """Every file named, below folders, matching a pattern, in archives, piped or remote.

    Unpacked or fetched files are in a temporary folder, one at a time. Names are relative to
    `root`; a member of an archive is ARCHIVE!/MEMBER, standard input `stdin_name` or a digest of
    its bytes. Raises BenchError for a path that does not exist.
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
    """A path that exists, or the matches of a pattern that the shell did not expand."""
    text = str(path)
    if path.exists() or not glob.has_magic(text):
        return [path]
    paths = matching(path)
    if not paths:
        raise BenchError(f"no file matches {text}", hint="check the pattern; ** goes into folders")
    return paths


def _opened(item: Input, scratch: Path, unreadable: Unreadable) -> Iterator[Input]:
    """The file itself, or the files of an archive."""
    if not _ARCHIVE.search(item.uri):
        yield item
        return
    try:
        for path, member in _members(item.path, scratch):
            yield Input(str(path), f"{item.uri}!/{member}", item.given)
    except OSError as error:
        unreadable(item.uri, error)


def _piped(name: str | None) -> Input:
    """Standard input as a file, with the suffix of its name, which decides how it is read."""
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
    """Standard input as a file until the program ends: it can be read only once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise BenchError("nothing is piped in", hint="zcat x.log.gz | bench ingest - --name x.log")
    folder = tempfile.TemporaryDirectory(prefix="bench-")
    atexit.register(folder.cleanup)
    kept, room = Path(folder.name, "stdin"), shutil.disk_usage(folder.name).free // 2
    with kept.open("wb") as file:
        while piece := sys.stdin.buffer.read(_PIECE):
            room -= len(piece)
            if room < 0:
                why = f"it takes more than half of what is free in {tempfile.gettempdir()}"
                hint = "write it to a file and ingest that; or TMPDIR=FOLDER of a larger disk"
                raise BenchError("what is piped in does not fit", why=why, hint=hint)
            file.write(piece)
    return kept


def _members(archive: Path, scratch: Path) -> Iterator[tuple[Path, str]]:
    """Each file of an archive that may be a log or a table, in `scratch` until the next one.

    Links, devices and hidden files are skipped. Raises OSError when the archive is damaged, has too
    many members or unpacks to more than its size allows.
    """
    import tarfile  # few files are archives

    left = max(archive.stat().st_size * MOST_TIMES, LEAST_BYTES)
    with archive.open("rb") as raw:
        how = packing(raw.read(8))
        raw.seek(0)
        stream = unpacked(raw, how, archive.stat().st_size) if how else raw
        try:
            with tarfile.open(fileobj=stream, mode="r|", tarinfo=Member) as opened:
                for number, member in enumerate(opened, 1):
                    if number > MOST_MEMBERS:
                        raise OSError(f"the archive has more than {MOST_MEMBERS} files")
                    name = _plain(member.name)
                    if not (member.isreg() and name and is_candidate(name)):
                        continue
                    content = opened.extractfile(member)
                    assert content is not None, "a regular file has content"
                    if member.size > shutil.disk_usage(scratch).free // 2:
                        raise OSError(f"{name} does not fit into {tempfile.gettempdir()}")
                    path = scratch / f"member{_suffix(name)}"
                    left -= _copy(content, path, left)
                    yield path, name
                    path.unlink()
        except DAMAGE as error:
            raise OSError(f"the archive is damaged: {error}") from error


def _suffix(name: str) -> str:
    """The suffix of a name, if it is one of a file type."""
    suffix = PurePosixPath(name).suffix
    return suffix if re.fullmatch(r"[.][A-Za-z0-9]{1,12}", suffix) else ""


def _plain(name: str) -> str:
    """A member's name as text, without root and parent folders."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")]
    return "/".join(parts)


def _copy(content: IO[bytes], path: Path, most: int) -> int:
    """Bytes written; sparse members may be larger than the archive."""
    size = 0
    with path.open("wb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise OSError("the archive unpacks to more than logs can be")
            file.write(chunk)
    return size


def remote_url(path: Path) -> str | None:
    """The URL given as a path, `s3://bucket/logs`; None for a local path."""
    match = _URL.fullmatch(str(path))
    if match is None or path.exists():
        return None
    slashes = ":///" if match["scheme"] == "file" else "://"
    return f"{match['scheme']}{slashes}{match['rest']}"


def fetched(url: str, scratch: Path) -> Iterator[tuple[Path, str]]:
    """Each file of a URL (a file, folder or pattern), in `scratch` until the next one.

    Names are URLs without user, password and query. Raises BenchError without fsspec or a backend
    for the scheme, OSError for what cannot be fetched.
    """
    system, path = _system(url)
    base = _MAGIC.split(path)[0].rpartition("/")[0] if _MAGIC.search(path) else path
    shown = _without_secrets(url)
    shown = _MAGIC.split(shown)[0].rpartition("/")[0] if _MAGIC.search(shown) else shown
    for name in _files(system, path):
        rest = name.removeprefix(base).lstrip("/")
        copy = scratch / f"fetched{_suffix(name)}"
        system.get_file(name, str(copy))
        yield copy, f"{shown.rstrip('/')}/{rest}" if rest else shown
        copy.unlink()


def _system(url: str) -> tuple[Any, str]:  # Any: fsspec ships no types
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise BenchError(f"cannot fetch {_without_secrets(url)}", why="fsspec is not installed",
                         hint="pip install fsspec, and the backend of the scheme: s3fs, gcsfs, ..."
                         ) from error  # fmt: skip
    try:
        found: tuple[Any, str] = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise BenchError(f"cannot fetch {_without_secrets(url)}", why=str(error),
                         hint="install the backend of the scheme") from error  # fmt: skip
    return found


def _files(system: Any, path: str) -> list[str]:  # Any: fsspec ships no types
    if _MAGIC.search(path):
        found = [name for name in system.glob(path) if not system.isdir(name)]
    elif system.isdir(path):
        found = [name for name in system.find(path) if is_candidate(name)]
    else:
        return [path]
    if not found:
        raise FileNotFoundError(f"no file at {path}")
    return sorted(map(str, found))


def _without_secrets(url: str) -> str:
    from urllib.parse import urlsplit  # few files are remote

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


LONGEST_HEADER = 16 << 10  # bytes of names and attributes: paths are up to 4 KiB long
# What `tarfile` raises for headers that are broken, as it happens to read them.
DAMAGE = (
    tarfile.TarError, EOFError, ValueError, LookupError, ArithmeticError, TypeError,
    AttributeError, RecursionError,
)  # fmt: skip
_EXTENDED = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class Member(tarfile.TarInfo):
    """A member whose header is bounded: Python before 3.11.10 takes the square of its length."""

    def _proc_member(self, archive: Any) -> tarfile.TarInfo:  # Any: `tarfile` has no type for it
        if self.type in _EXTENDED and self.size > LONGEST_HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]  # private
        return member
