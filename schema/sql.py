"""The SQL files of this folder, as text."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_COMMENT = re.compile(r"--[^\n]*")
_SPACE = re.compile(r"\s+")
_NAME = re.compile(r"^-- name: (\w+)\n", re.M)


@cache
def sql_files(folder: str) -> tuple[tuple[str, str], ...]:
    """Name (without `.sql`) and text of each SQL file of a folder of this package, by name."""
    found = [
        entry for entry in _package().joinpath(folder).iterdir() if entry.name.endswith(".sql")
    ]
    return tuple((_stem(entry), entry.read_text("utf-8")) for entry in sorted(found, key=_stem))


@cache
def sql_file(name: str) -> str:
    """The text of one SQL file in the package's own folder."""
    return _package().joinpath(f"{name}.sql").read_text("utf-8")


def named_statements(text: str) -> dict[str, str]:
    """The statements after lines `-- name: NAME` of a SQL file, by name."""
    parts = _NAME.split(text)
    own = (part.strip().rstrip(";") for part in parts[2::2])
    return dict(zip(parts[1::2], own, strict=True))


def digest(text: str) -> str:
    """SHA-256 of SQL without comments and line breaks: a better comment changes no table."""
    bare = _SPACE.sub(" ", _COMMENT.sub("", text)).strip()
    return hashlib.sha256(bare.encode()).hexdigest()


def _stem(entry: Traversable) -> str:
    return entry.name.removesuffix(".sql")


def _package() -> Traversable:
    return files(__package__ or "bench.schema")
