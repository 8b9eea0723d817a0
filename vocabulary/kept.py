"""What is made of the package's own files, kept between processes in the user's cache: to read it
takes no time."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

KEPT = 4  # of other versions; the others are removed


def cached(
    name: str, files: Sequence[Traversable], make: Callable[[], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """What `make` makes of some files: plain values by their names, in order.

    A file with other bytes gives another key, so nothing has to be thrown away by hand.
    """
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    path = None
    try:
        path = kept_file(name, digest.hexdigest(), ".json")
        kept: Mapping[str, Any] = json.loads(read(path))
    except (OSError, RuntimeError, ValueError):  # not there, no home, or cut short
        kept = make()
        if path is not None:
            with suppress(OSError):
                keep(path, json.dumps(kept).encode())
    return kept


def kept_file(name: str, digest: str, suffix: str) -> Path:
    """Where something of a name is kept, made of files with a digest; RuntimeError: no home."""
    from platformdirs import user_cache_path

    return user_cache_path("bench", appauthor=False) / f"{name}-{digest[:16]}{suffix}"


def read(path: Path) -> bytes:
    """What a file holds that nobody else can have written; raises OSError for any other."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise PermissionError(f"{path} may be another user's")
        return file.read()


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache, whole or not at all; older ones of its name are removed.

    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        draft.write_bytes(content)
        draft.chmod(0o600)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    name = path.name.partition("-")[0]
    others = sorted(path.parent.glob(f"{name}-*{path.suffix}"), key=lambda one: one.stat().st_mtime)
    for other in others[:-KEPT]:
        other.unlink(missing_ok=True)
