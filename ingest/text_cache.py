"""Results of pure functions of a text, kept: a line is read for each scope that it may have."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")

_TEXTS = 1 << 13  # of a large document, and of the next ones that repeat it
_LONGEST = 500  # characters: the cache stays below some megabytes for any document


def cached(read: Callable[[str], Result]) -> Callable[[str], Result]:
    """`read` with the results of short texts kept; they must be immutable."""
    kept = lru_cache(_TEXTS)(read)

    @wraps(read)
    def looked_up(text: str) -> Result:
        return kept(text) if len(text) <= _LONGEST else read(text)

    return looked_up
