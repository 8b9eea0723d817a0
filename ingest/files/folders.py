"""The files below the paths that a user names: those worth opening, and logs that may grow."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter, itemgetter
from pathlib import Path

from ...records import reading as records
from ...schema.errors import BenchError

_SKIPPED = frozenset(("venv", "node_modules", "__pycache__"))
# Marks the pages of `bench site`, whose sources were read elsewhere. Other files may be in the same
# folder, as in docs/.
SITE_MARK = ".bench-site.json"
_PAGES = (".html", ".js", ".css")
# Some of these files have no end.
_OF_SYSTEM = ("/proc/", "/sys/")
_SHOWN = frozenset((".hydra",))  # hidden, with sidecars of logs
Unreadable = Callable[[Path | str, OSError], None]
_File = tuple[str, str, bool]  # as named, as it is without links, whether it is one


def files_below(paths: Iterable[Path], unreadable: Unreadable) -> list[str]:
    """Every file named, and those of folders that may be logs or tables; no file twice.

    Files come before links to them, so that a file keeps its name; a link to a file in the same
    folder has the file's name. A folder reached again through a link is not entered again, so loops
    end. Hidden files and folders have to be named, except Hydra's; pages of `bench site` are left
    out. `unreadable` is called for what cannot be opened. Raises BenchError for a path that does
    not exist.
    """
    found: list[_File] = []
    entered: set[str] = set()
    real = functools.cache(os.path.realpath)
    for path in paths:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BenchError(f"no such file or folder: {path}", hint="check the path") from error
        except OSError as error:
            unreadable(path, error)
            continue
        if stat.S_ISDIR(mode):
            found += _walk(os.fspath(path), entered, unreadable)
        elif stat.S_ISREG(mode):
            found.append(_named(os.fspath(path), real))
        else:
            unreadable(path, OSError("not a regular file: save it to one"))
    for file, name, _ in found:
        if name.startswith(_OF_SYSTEM):
            unreadable(file, OSError("a file of the system, not one that was written"))
    found = [file for file in found if not file[1].startswith(_OF_SYSTEM)]
    found.sort(key=itemgetter(2))
    names = {name: file for file, name, _ in reversed(found)}
    return list(names.values())[::-1]


def _named(file: str, real: Callable[[str], str]) -> _File:
    if os.path.islink(file):
        return _linked(file)
    folder, name = os.path.split(file)
    return file, os.path.join(real(folder), name), False


def _linked(link: str) -> _File:
    """A link in the folder of its file has the file's name: `latest.log` is a changing run."""
    real, (folder, name) = os.path.realpath(link), os.path.split(link)
    own = os.path.join(folder, os.path.basename(real))
    alike = is_log_name(os.path.basename(real)) == is_log_name(name)
    is_sibling = alike and os.path.realpath(folder or os.curdir) == os.path.dirname(real)
    return (own, real, False) if is_sibling else (link, real, True)


def uri_of(path: str | Path, root: Path) -> str:
    """The name of a file in the warehouse: its path relative to the ingest root.

    For a file outside of the root as named, links are resolved first. Bytes of a name that are no
    UTF-8 are printed as `\\xff`.
    """
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        folder, name = os.path.split(os.path.abspath(path))
    return _above(folder, os.fspath(root), os.getcwd()) + _as_text(name)


@functools.lru_cache(maxsize=1024)
def _above(folder: str, root: str, here: str) -> str:
    """The prefix for the names of a folder's files; both paths are relative to `here`."""
    folder, root = (os.path.normpath(os.path.join(here, path)) for path in (folder, root))
    above = os.path.relpath(folder, root)
    if above.startswith(".."):
        above = os.path.relpath(os.path.realpath(folder), os.path.realpath(root))
    return _as_text("" if above == "." else Path(above, "_").as_posix()[:-1])


def _as_text(name: str) -> str:
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _walk(
    folder: str, entered: set[str], unreadable: Unreadable, in_site: bool = False
) -> Iterator[_File]:
    real = os.path.realpath(folder)
    above = os.path.realpath(os.path.dirname(folder))
    if f"{real}/".startswith(_OF_SYSTEM):
        return
    if real in entered or (
        os.path.islink(folder) and f"{above}/".startswith(os.path.join(real, ""))
    ):
        return
    entered.add(real)
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=attrgetter("name"))
    except OSError as error:
        unreadable(Path(folder), error)
        return
    in_site = in_site or any(entry.name == SITE_MARK for entry in entries)
    inside = "" if folder == os.curdir else os.path.join(folder, "")
    really = os.path.join(real, "")
    for entry in entries:
        name = entry.name
        path = inside + name
        try:
            is_folder, is_file = entry.is_dir(), entry.is_file()
        except OSError as error:
            unreadable(Path(path), error)
            continue
        hidden = name.startswith(".") and name not in _SHOWN
        if is_folder and not hidden and name not in _SKIPPED:
            yield from _walk(path, entered, unreadable, in_site)
        elif is_file and is_candidate(path) and not (in_site and name.endswith(_PAGES)):
            yield _linked(path) if entry.is_symlink() else (path, really + name, False)


SUFFIXES = frozenset((".gz", ".bz2", ".xz", ".zst"))
_PLAIN = frozenset(("", ".log", ".out", ".err", ".txt"))
# Names of logs, rotated ones too. Packed logs grow no more.
_LOG = re.compile(r"(?i).+\.(?:(?:log|out|err|txt|stdout|stderr)(?:[-._].+)?|[oe]\d+)")
_PACKED = (*SUFFIXES, ".tar", ".tgz", ".zip")
_NEVER = frozenset(
    f".{suffix}"
    for group in (
        "png jpg jpeg gif svg pdf ico mp4 woff woff2 ttf zip gz xz bz2 zst tar whl",
        "pt pth bin safetensors npy npz duckdb wal db sqlite parquet pyc so o a exe",
    )
    for suffix in group.split(" ")
)
# train.log.1, train.log-20261120, train.log.2026-11-20_01; train-20261120.log, train.1.log
_BEHIND = re.compile(r"(.+?\.(?:log|out|err|txt|stdout|stderr))[-._].+")
_DATED = re.compile(r".+?[-._]20\d\d[\d._:T-]+\.\w+")
_WITHIN = re.compile(r"(.+?)[-._][\d._:T-]+(\.\w+)")


def is_candidate(file: str) -> bool:
    """Whether a file of a folder is worth opening, by its name."""
    name = os.path.basename(file)
    if name.startswith("."):
        return False
    if os.path.splitext(name)[1].lower() in _NEVER and not is_packed_log(name):
        return False
    # Records are JSON: no path is built for other files.
    return not (name.endswith(".json") and records.is_read_with_folder(Path(file)))


def is_log_name(name: str) -> bool:
    """Whether a file may be a log that grows, by its name."""
    return _LOG.fullmatch(name) is not None and not name.lower().endswith(_PACKED)


def is_packed_log(path: str | Path) -> bool:
    """Whether a name is that of a packed log."""
    if os.path.splitext(path)[1].lower() not in SUFFIXES:
        return False
    path = Path(path)
    return Path(path.stem).suffix.lower() in _PLAIN or is_log_name(path.stem)


def has_successor(path: Path) -> bool:
    """Whether a log was rotated: a newer one of its original name is in the same folder."""
    name = path.name
    away = is_packed_log(path) or _BEHIND.fullmatch(name) or _DATED.fullmatch(name)
    if not away or name == (first := family(name)):
        return False
    try:
        return path.with_name(first).stat().st_mtime >= path.stat().st_mtime
    except OSError:
        return False


def family(name: str) -> str:
    """The name of a log before it was rotated and packed; any other file's own name."""
    if is_packed_log(name):
        name = Path(name).stem
    if found := _BEHIND.fullmatch(name) or _WITHIN.fullmatch(name):
        return "".join(found.groups())
    return name
