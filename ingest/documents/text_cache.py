"""Results of pure functions of a text, kept: a line is read for each scope that it may have."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")

_TEXTS = 1 << 10  # the scopes of a line follow one another
_LONGEST = 500  # characters: of texts of nothing but sizes some 15 MB of results are kept


def cached(read: Callable[[str], Result]) -> Callable[[str], Result]:
    """`read` with the results of short texts kept; they must be immutable."""
    kept = lru_cache(_TEXTS)(read)

    @wraps(read)
    def looked_up(text: str) -> Result:
        return kept(text) if len(text) <= _LONGEST else read(text)

    return looked_up
