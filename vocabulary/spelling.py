"""Misspellings: one extra, missing or changed letter, or two swapped ones."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from string import ascii_lowercase

_SHORTEST = 7  # letters: short words are one letter from words with another meaning


@lru_cache(1 << 11)
def meant(word: str, known: Set[str]) -> str | None:
    """The single known word that a word of seven letters or more misspells, or None.

    An inflection (`sampled` for `samples`) is no misspelling: first and last letter must match.
    """
    if len(word) < _SHORTEST or word in known:
        return None
    head, body, tail = word[0], word[1:-1], word[-1]
    cuts = [(body[:at], body[at:]) for at in range(len(body) + 1)]
    bodies = {left + right[1:] for left, right in cuts if right}
    bodies |= {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    bodies |= {
        left + letter + right[1:] for left, right in cuts for letter in ascii_lowercase if right
    }
    bodies |= {left + letter + right for left, right in cuts for letter in ascii_lowercase}
    found = {f"{head}{one}{tail}" for one in bodies} & known
    return found.pop() if len(found) == 1 else None
