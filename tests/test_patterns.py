"""Every pattern of the program, found in its modules and data, takes time like its text."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterator

import pytest

from bench.ingest import hostile
from bench.ingest.hostile import lines_against
from tests.patterns import Found, in_code, in_data

SIZES = (24, 96, 384, 1536)  # characters: what doubles with each would be seen at once
SOON = 0.0015  # s of processor time: too short to be told from noise
SQUARE = 11.0  # times as long for four times the text: linear is 4, the square 16


def texts(pattern: str, size: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is made to hold it up, so long."""
    monkeypatch.setattr(hostile, "TRIED", size)
    return lines_against(pattern, [])


def slow(found: Found, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """A text that takes the square of its length or more, if one does."""
    tried: Callable[[str], object] = found.pattern.match if found.anchored else found.pattern.search
    before: list[float] = []
    for size in SIZES:
        took = []
        for number, text in enumerate(texts(found.pattern.pattern, size, monkeypatch)):
            took.append(used(tried, text))
            if took[-1] > SOON and number < len(before):
                took[-1] = min(took[-1], used(tried, text), used(tried, text))
                if took[-1] > max(SOON, SQUARE * max(before[number], 1e-6)):
                    return text
        before = took
    return None


def used(tried: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    tried(text)
    return time.process_time() - begun
