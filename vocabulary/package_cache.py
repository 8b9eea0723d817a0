"""A cache of values derived from the package's own files, kept between processes: reading it is
fast."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

ANSWER = "answer"  # the name of what commands have printed, with texts of sources
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
KEPT = 4  # files of other versions; older ones are removed


def cached(
    name: str, files: Sequence[Traversable], make: Callable[[], Mapping[str, Any]], text: str = ""
) -> Mapping[str, Any]:
    """The cached result of `make` on some files and a text: plain values by their names, in order.

    Other bytes give another key, so nothing needs invalidation.
    """
    digest = hashlib.sha256(text.encode() + b"\0" if text else b"")
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    path = None
    try:
        path = kept_file(name, digest.hexdigest(), ".json")
        kept: Mapping[str, Any] = json.loads(read(path))
    except (OSError, RuntimeError, ValueError):  # missing, no home, or truncated
        kept = make()
        if path is not None:
            with suppress(OSError):
                keep(path, json.dumps(kept).encode())
    return kept


def cache_folder() -> Path:
    """The folder of the cache, which only this user can write to, made if it is missing.

    Raises OSError, also for a folder of others: below /tmp, anybody may have made it. RuntimeError:
    no home.
    """
    from platformdirs import user_cache_path

    folder = user_cache_path("bench", appauthor=False)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "the folder is another user's", str(folder))
    if found.st_mode & _OF_OTHERS:
        folder.chmod(0o700)
    return folder


def kept_file(name: str, digest: str, suffix: str) -> Path:
    """The path in the cache for a name and the digest of its inputs; raises as `cache_folder`."""
    return cache_folder() / f"{name}-{digest[:16]}{suffix}"


def read(path: Path) -> bytes:
    """The content of a file that only this user can have written; raises OSError otherwise."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if not own or found.st_mode & _OF_OTHERS:
            raise PermissionError(f"{path} may be another user's")
        return file.read()


def keep(path: Path, content: bytes, kept: int = KEPT) -> None:
    """Write a file of the cache atomically; of those of its name the newest are `kept`.

    Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    name = path.name.partition("-")[0]
    others = sorted(path.parent.glob(f"{name}-*{path.suffix}"), key=lambda one: one.stat().st_mtime)
    for other in others[:-kept]:
        other.unlink(missing_ok=True)


def discard(name: str) -> None:
    """Remove the files of a name from the cache, and drafts of killed processes.

    Raises OSError where one cannot be removed, and as `cache_folder`.
    """
    folder = cache_folder()
    for file in (*folder.glob(f"{name}-*"), *folder.glob(f".{name}-*.new")):
        file.unlink(missing_ok=True)
