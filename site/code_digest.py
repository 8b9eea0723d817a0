"""A digest of the code that makes pages: another version rebuilds all of them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from ..ingest.version import PARSER_VERSION
from .text import digest

# Packages whose code affects pages.
_MADE_BY = ("audit", "decide", "explain", "project", "records", "reports", "schema", "site",
            "vocabulary")  # fmt: skip


@cache
def code_digest() -> str:
    """A digest of all code, queries and templates behind a page."""
    top = files("bench")
    parts: list[bytes] = []

    def read(folder: Traversable) -> None:
        for entry in sorted(folder.iterdir(), key=lambda one: one.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    read(entry)
            elif entry.name.endswith((".py", ".sql", ".j2", ".toml", ".css", ".js")):
                parts.append(entry.read_bytes())

    for name in _MADE_BY:
        read(top / name)
    return digest(b"\0".join(parts))


def made_by() -> str:
    """The version of the code that reads, computes and draws."""
    return f"{code_digest()[:16]}-{PARSER_VERSION}"
