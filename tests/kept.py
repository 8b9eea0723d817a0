"""Answers in the cache of a test: which are kept, and marked so that they are known again."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from bench.terminal import answer_cache
from tests.program import Outcome, quick
from tests.sharing import furnished

MARK = "an answer that was kept"
DOCUMENT = "data/tables/004_tr3m-1B3.md"
PAGE = ("best", "--format", "table")


def prepared(swept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with data/ and its warehouse, and a cache without answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnished(folder / "cache")))
    monkeypatch.delenv(answer_cache.FRESH)
    for name in ("NO_COLOR", "COLUMNS", "BENCH_DB"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(swept / "data", folder / "data")
    shutil.copyfile(swept / "bench.duckdb", folder / "bench.duckdb")
    assert quick(folder, "sql", "SELECT 1").code == 0
    return folder


def entries(place: Path) -> list[Path]:
    return sorted((place / "cache" / "bench").glob("answer-*"))


def mark(place: Path) -> None:
    """Tell kept answers from computed ones: each begins with a mark from here on."""
    for file in entries(place):
        found = json.loads(file.read_bytes().partition(b"\n")[2])
        found["printed"].insert(0, ["stdout", MARK])
        content = json.dumps(found).encode()
        file.write_bytes(hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def asked(place: Path, *words: str) -> Outcome:
    """An answer that is computed, and kept; the one that was kept is marked."""
    done = quick(place, *words)
    assert MARK not in done.out
    mark(place)
    return done


def is_kept(place: Path, *words: str) -> bool:
    return quick(place, *words).out.startswith(MARK)
