"""Passwords in names of places, which are refused."""

from __future__ import annotations

import re

from .errors import BenchError

# A `Path` has reduced the two slashes of a URL to one.
_SECRET = re.compile(r"\b(?:passfile|\w*(?:password|secret))\s*=|:/+[^/@]*:[^/@]*@", re.I)


def refuse_secret(name: str) -> None:
    """Raises BenchError for a password, which process lists, messages and catalogs would show."""
    if _SECRET.search(name):
        raise BenchError(
            "the name of the warehouse contains a password",
            why="passwords on command lines are seen by others",
            hint="leave it out: PostgreSQL takes it from ~/.pgpass or PGPASSWORD",
        )
