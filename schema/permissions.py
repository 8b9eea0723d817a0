"""Permissions of the files of a shared place: those of its folder, whatever a writer's umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def permissions_of(folder: Path) -> Iterator[None]:
    """Within it, new files and folders are as a folder that a group shares (chmod 2770 or 2775).

    That is one with set-group-ID in which the group may write; if it is not there yet, the one
    above counts. Elsewhere the umask stays.
    """
    mode = _mode(folder.absolute())
    if not _is_shared(mode):
        yield
        return
    before = os.umask(stat.S_IWOTH | (~mode & (stat.S_IROTH | stat.S_IXOTH)))
    try:
        yield
    finally:
        os.umask(before)


def share(folder: Path, paths: Iterable[Path]) -> None:
    """Let the group of a folder that it shares write to these too, as far as this user made them.

    DuckDB and SQLite make folders and files that only their owner may write to.
    """
    if not _is_shared(_mode(folder.absolute())):
        return
    for path in paths:
        with suppress(FileNotFoundError):
            found = path.lstat()
            mode = stat.S_IMODE(found.st_mode) | stat.S_IRGRP | stat.S_IWGRP
            if stat.S_ISDIR(found.st_mode):
                mode |= stat.S_IXGRP
            elif not stat.S_ISREG(found.st_mode):
                continue
            if found.st_uid == os.geteuid() and mode != stat.S_IMODE(found.st_mode):
                path.chmod(mode)


def _is_shared(mode: int) -> bool:
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def _mode(folder: Path) -> int:
    for one in (folder, *folder.parents):
        try:
            return one.stat().st_mode
        except OSError:
            continue
    return 0
