"""A cache of values derived from the package's own files, kept between processes: reading it is
fast."""

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


def kept_file(name: str, digest: str, suffix: str) -> Path:
    """The path in the cache for a name and the digest of its inputs; RuntimeError: no home."""
    from platformdirs import user_cache_path

    return user_cache_path("bench", appauthor=False) / f"{name}-{digest[:16]}{suffix}"


def read(path: Path) -> bytes:
    """The content of a file that only this user can have written; raises OSError otherwise."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise PermissionError(f"{path} may be another user's")
        return file.read()


def keep(path: Path, content: bytes, kept: int = KEPT) -> None:
    """Write a file of the cache atomically; of those of its name the newest are `kept`.

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
    for other in others[:-kept]:
        other.unlink(missing_ok=True)
