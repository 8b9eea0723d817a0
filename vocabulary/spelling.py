"""Misspellings: one extra, missing or changed letter, or two swapped ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from functools import lru_cache

_SHORTEST = 7  # letters: short words are one letter from words with another meaning


@lru_cache(1 << 11)
def meant(word: str, known: Set[str]) -> str | None:
    """The single known word that a word of seven letters or more misspells, or None.

    An inflection (`sampled` for `samples`) is no misspelling: first and last letter must match.
    """
    if len(word) < _SHORTEST or word in known:
        return None
    alike = _by_ends(known).get((word[0], word[-1]), ())
    found = [one for one in alike if _is_one_mistake(word, one)]
    return found[0] if len(found) == 1 else None


@lru_cache(16)
def _by_ends(known: Set[str]) -> dict[tuple[str, str], Sequence[str]]:
    """The known words by first and last letter."""
    found = defaultdict(list)
    for word in known:
        if word:
            found[word[0], word[-1]].append(word)
    return dict(found)


def _is_one_mistake(word: str, other: str) -> bool:
    """Whether two different words become equal by one mistake."""
    short, long = sorted((word, other), key=len)
    if len(long) - len(short) > 1:
        return False
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :]
    return short[at + 1 :] == long[at + 1 :] or swapped == long[at:]
