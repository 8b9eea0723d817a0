"""Patterns of names with wildcards: bounds on the time of matching."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_TRIES = 100_000  # some milliseconds; names of real files need few


def is_quick(literals: Sequence[str], name: str) -> bool:
    """Whether matching a name is fast; `literals` are the texts after open wildcards.

    A wildcard may end at each occurrence of its literal, and all of these are combined: a crafted
    name needs more tries than anybody waits for.
    """
    places = (name.count(literal) if literal else len(name) for literal in literals)
    return prod(max(1, each) for each in places) <= MOST_TRIES
