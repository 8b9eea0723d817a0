"""Patterns of names with holes, `*` and the like: how often one may be tried on a name."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MOST_TRIES = 100_000  # some milliseconds; names of real files take a few


def is_quick(literals: Sequence[str], name: str) -> bool:
    """Whether a pattern is soon through with a name; `literals` stand behind its open holes.

    A hole ends wherever its literal stands, so that all of them are tried with each other: of a
    name made for that, more often than anybody waits.
    """
    places = (name.count(literal) if literal else len(name) for literal in literals)
    return prod(max(1, each) for each in places) <= MOST_TRIES
