"""Documents and rows for the tests of decisions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.schema.warehouse import Warehouse
from tests.program import Outcome, quick

HEAD = "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs | Notes |"
RULE = "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |"

JOB = "2 | 1.3B | 16 | 1 | 1 | {mbs} | 512 | 20GB | {time} | | {date}"
# Of document 003, with the allocator against without, from 1 node to 64.
TCMALLOC = [1.30, 1.61, 1.73, 1.66, 1.69, 1.68, 1.77]

# The options that name a warehouse of some document of data/tables, of all without a name.
Stored = Callable[..., tuple[str, str]]


def jobs(times: Sequence[float], mbs: int, date: str = "") -> list[str]:
    """A row for each of some times in s."""
    return [JOB.format(mbs=mbs, time=f"{time:.3f}", date=date) for time in times]


def table(path: Path, rows: Sequence[str], above: str = "") -> Path:
    """A document with one sweep of A100 nodes; each row is the text of its cells."""
    text = f"# Sweep\n\nA100 80GB, 8 GPUs per node, SEQ_LEN=2048\n{above}\n\n{HEAD}\n{RULE}\n"
    path.write_text(text + "".join(f"| {row} |\n" for row in rows))
    return path


def published(names: str) -> Warehouse:
    """A warehouse in memory of documents of data/tables."""
    found = in_memory()
    root = Path(__file__).resolve().parent.parent
    ingest_into(found, [*(root / "data" / "tables").glob(names)], root)
    return found


def ask(folder: Path, *args: str) -> Outcome:
    """A command about documents of a folder, or `.` for all: they are read once for all that is
    asked of them, which is worth it from the third question on."""
    names = [word for word in args if word == "." or re.fullmatch(r"[\w-]+\.(?:md|log)", word)]
    if not names or "-o" in args:
        return quick(folder, *args)
    words = [word for word in args if word not in names]
    return quick(folder, *words, "--db", str(_read_once(folder, names)))


def _read_once(folder: Path, names: Sequence[str]) -> Path:
    """A warehouse of documents as they are now: a copy, if another folder had the same ones."""
    files = {folder / name for name in (*names, "bench.toml", "facts.toml")}
    files |= {*folder.rglob("*")} if "." in names else set()
    files = {file for file in files if file.is_file() and file.suffix != ".duckdb"}
    told = [(str(file.relative_to(folder)), file.read_bytes()) for file in sorted(files)]
    digest = hashlib.sha256(repr((names, told)).encode()).hexdigest()
    db = folder / f".{digest}.duckdb"
    if db.exists():
        return db
    if digest in _READ:
        db.write_bytes(_READ[digest])
    else:
        done = quick(folder, "ingest", *names, "--db", str(db))
        assert done.code in (0, 3), done.text
        while len(_READ) >= 8:
            del _READ[next(iter(_READ))]
        _READ[digest] = db.read_bytes()
    return db


_READ: dict[str, bytes] = {}  # warehouses of the latest documents


def answer(folder: Path, *args: str) -> list[dict[str, Any]]:
    """The rows that a command gives as JSON."""
    done = quick(folder, *args, "--format", "json")
    assert done.code == 0, done.text
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def lines(rows: Sequence[dict[str, Any]]) -> list[int]:
    """The lines of the rows that were not left out."""
    return [int(row["where"].rsplit(":", 1)[1]) for row in rows if not row["left_out"]]


@pytest.fixture
def five_jobs(folder: Path) -> str:
    """A document of five jobs of two micro batches, the second slower."""
    rows = [
        *jobs((10.01, 10.05, 9.97, 10.02, 10.00), 1),
        *jobs((10.60, 10.50, 10.55, 10.61, 10.58), 2),
    ]
    table(folder / "a.md", rows)
    return "a.md"
