"""The files below the paths that a user names."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..schema.errors import BenchError
from .source import is_candidate

_SKIPPED = frozenset(("venv", "node_modules", "__pycache__"))
_SHOWN = frozenset((".hydra",))  # what ran, beside the log
Unreadable = Callable[[Path | str, OSError], None]


def files_below(paths: Iterable[Path], unreadable: Unreadable) -> list[Path]:
    """Every file named, and those of folders that may be logs or tables; no file twice.

    Files come before links to them, so that a file goes by its own name; a folder reached again
    through a link is not entered again, so loops end. Hidden files and folders have to be named,
    but for Hydra's.
    `unreadable` is told of what cannot be looked into. Raises BenchError for a path that does not
    exist.
    """
    found: list[Path] = []
    entered: set[str] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            raise BenchError(f"no such file or folder: {path}", hint="check the path") from error
        except OSError as error:
            unreadable(path, error)
            continue
        if stat.S_ISDIR(mode):
            found += _walk(path, entered, unreadable)
        elif stat.S_ISREG(mode):
            found.append(path)
        else:
            unreadable(path, OSError("not a regular file: save it to one"))
    links = {file for file in found if file.is_symlink()}
    found.sort(key=links.__contains__)
    real = functools.cache(os.path.realpath)
    names = {
        os.path.realpath(file)
        if file in links
        else os.path.join(real(file.parent), file.name): file
        for file in reversed(found)
    }
    return list(names.values())[::-1]


def uri_of(path: Path, root: Path) -> str:
    """The name of a file in the warehouse: its path from the ingest root, however it was given.

    A file that does not lie below the root as named is looked for without the links on its way.
    Bytes of a name that are no UTF-8 stand as `\\xff`.
    """
    folder, name = os.path.split(os.path.abspath(path))
    base = os.path.abspath(root)
    above = _relative(folder, base)
    if above.startswith(".."):
        above = os.path.relpath(os.path.realpath(folder), os.path.realpath(base))
    relative = name if above == "." else os.path.join(above, name)
    return os.fsencode(Path(relative).as_posix()).decode("utf-8", "backslashreplace")


@functools.lru_cache(maxsize=1024)
def _relative(folder: str, base: str) -> str:
    """The way from one absolute path to another."""
    return os.path.relpath(folder, base)


def _walk(folder: Path, entered: set[str], unreadable: Unreadable) -> Iterator[Path]:
    real = os.path.realpath(folder)
    above = os.path.realpath(folder.parent)
    if real in entered or (folder.is_symlink() and f"{above}/".startswith(f"{real}/")):
        return
    entered.add(real)
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        unreadable(folder, error)
        return
    for entry in entries:
        path = folder / entry.name
        try:
            is_folder, is_file = entry.is_dir(), entry.is_file()
        except OSError as error:
            unreadable(path, error)
            continue
        hidden = entry.name.startswith(".") and entry.name not in _SHOWN
        if is_folder and not hidden and entry.name not in _SKIPPED:
            yield from _walk(path, entered, unreadable)
        elif is_file and is_candidate(path):
            yield path
