"""An audit of a table takes time like its rows: four times the rows, not 16 times."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.test_linear import SQUARE

SHORT = 300  # rows


def _table(head: str, row: Callable[[int], str], rows: int) -> str:
    lines = [f"| {head} |", f"|{'---|' * len(head.split('|'))}"]
    return "\n".join([*lines, *(f"| {row(n)} |" for n in range(rows)), ""])


def _equal(n: int) -> str:
    """One configuration again and again; a rate in ten is off."""
    return f"1 | 1.3B | 8 | 4 | 1 | 1 | 1024 | 50.5 | {30.1 if n % 10 else 10.1} | V100-32GB"


def _noted(n: int) -> str:
    """The same, with a word of its own in each row."""
    return f"{_equal(n)} | {'abcdefghij'[n // 100 % 10]}{'klmnopqrst'[n // 10 % 10]}x of {n}"


def _memory(n: int) -> str:
    """Out of memory on one device, and little of it taken on a larger one."""
    small = f"OOM | V100-32GB | {n}"
    return f"1.3B | 4 | 1 | 1 | {small if n % 2 else f'{10 + n / 1000} | A100-80GB | {n}'}"


def _clocks(n: int) -> str:
    return f"1 | 1.3B | 1 | 4 | 1 | 64 | {1 + n / 10000:.4f}GHz | {90 - n / 20:.2f}"


def _ragged(n: int) -> str:
    """One cell too few."""
    return f"1 | 1.3B | 8 | 4 | 1 | 1 | 1024 | 50.5 | {30 + n / 1000}"


def _unread(n: int) -> str:
    """A notation that no column has."""
    return f"1 | 1.3B | 8 | 4 | 1 | 1 | 1024 | &lt;{n}&gt; | 30.1 | V100-32GB"


def _shifted(n: int) -> str:
    """Two cells of every third row in one another's place."""
    first = "1.3B | 1" if n % 3 == 0 else "1 | 1.3B"
    return f"{first} | 8 | 4 | 1 | 1 | 1024 | {50 + n / 100} | 30.1 | V100-32GB"


TABLES = {
    "shifted": ("Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | GPU", _shifted),
    "ragged": ("Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | GPU", _ragged),
    "unread": ("Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | GPU", _unread),
    "equal": ("Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | GPU", _equal),
    "noted": ("Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs | GPU | Remark", _noted),
    "memory": ("Size | TP | PP | MBS | Mem | GPU | Run", _memory),
    "clocks": ("Nodes | Size | DP | TP | PP | GBS | Freq | Sec/it", _clocks),
}


@pytest.mark.parametrize("kind", TABLES)
def test_an_audit_takes_time_like_the_rows(kind: str, tmp_path: Path) -> None:
    taken = {}
    for rows in (SHORT, 4 * SHORT):
        (tmp_path / "a.md").write_text(f"# 1.3B\n\n{_table(*TABLES[kind], rows)}")
        with in_memory() as warehouse:
            ingest_into(warehouse, [tmp_path], tmp_path)
            begun = time.process_time()
            audit(warehouse)
            taken[rows] = time.process_time() - begun
    assert taken[4 * SHORT] < SQUARE * taken[SHORT], taken
