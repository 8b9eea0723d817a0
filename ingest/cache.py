"""What is made of the package's own files, as JSON between processes: it is read in no time."""

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
        from platformdirs import user_cache_path

        path = user_cache_path("bench", appauthor=False) / f"{name}-{digest.hexdigest()[:16]}.json"
        kept: Mapping[str, Any] = json.loads(_own(path))
    except (OSError, RuntimeError, ValueError):  # not there, no home, or cut short
        kept = make()
        if path is not None:
            with suppress(OSError):
                _keep(path, kept)
    return kept


def _own(path: Path) -> bytes:
    """What a file holds that nobody else can have written; raises OSError for any other."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise PermissionError(f"{path} may be another user's")
        return file.read()


def _keep(path: Path, made: Mapping[str, Any]) -> None:
    """Whole, or not there at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.new")
    try:
        draft.write_text(json.dumps(made), encoding="utf-8")
        draft.chmod(0o600)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    name = path.name.partition("-")[0]
    others = sorted(path.parent.glob(f"{name}-*.json"), key=lambda one: one.stat().st_mtime)
    for other in others[:-KEPT]:
        other.unlink(missing_ok=True)
