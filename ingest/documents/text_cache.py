"""Results of pure functions of a text, kept: a line is read for each scope that it may have.

Most texts say nothing, and that is little to keep: revisions and copies of a document, whose lines
are the same, find it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result", bound=Sized)

_TEXTS = 1 << 10  # the scopes of a line follow one another
_EMPTY = 1 << 14  # 9 MB of the longest texts
_LONGEST = 500  # characters: of texts of nothing but sizes some 15 MB of results are kept


def cached(read: Callable[[str], Result]) -> Callable[[str], Result]:
    """`read` with the results of short texts kept; they must be immutable."""
    kept = lru_cache(_TEXTS)(read)
    empty: dict[str, Result] = {}

    @wraps(read)
    def looked_up(text: str) -> Result:
        if len(text) > _LONGEST:
            return read(text)
        if text in empty:
            return empty[text]
        result = kept(text)
        if not result:
            if len(empty) >= _EMPTY:
                empty.clear()
            empty[text] = result
        return result

    return looked_up
