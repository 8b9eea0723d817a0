"""Warehouses that releases left, for tests."""

from __future__ import annotations

import lzma
from pathlib import Path

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.duckdb.xz"))


def unpacked(packed: Path, to: Path) -> Path:
    """As a release left it: of `tests.making.folder(logs=2, tables=1, iterations=20)`."""
    to.write_bytes(lzma.decompress(packed.read_bytes()))
    return to
