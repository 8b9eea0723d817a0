"""Times from git: when a file was added, and when a commit was made."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from ..schema.errors import BenchError
from .git import git

_ID = re.compile(r"[0-9a-f]{7,40}")
_MOST = 2000  # names per git call
_DIGITS = 20  # of a timestamp
_LAST = 253_402_300_800  # the year 10000, which no date has


def added(root: Path, names: Collection[str]) -> dict[str, datetime]:
    """The times (UTC) of the first commits of these files below `root`, of those known to git."""
    plain = [name for name in names if "!/" not in name and not name.startswith(("-", "/"))]
    text = _git_output(root, "log", "--format=%x01%ct", "--diff-filter=A", "--name-only", "-z",
                  "--relative", "--", *plain[:_MOST]) if plain else ""  # fmt: skip
    found: dict[str, datetime] = {}
    for part in text.split("\x01")[1:]:
        seconds, _, listed = part.partition("\0")
        for name in listed.split("\0"):
            if name.strip("\n") and (at := _time(seconds)):
                found[name.strip("\n")] = at  # git log has the oldest commit last
    return found


def committed(root: Path, commits: Collection[str]) -> dict[str, datetime]:
    """The times (UTC) of these commits, full or abbreviated ids, of those in the repository."""
    found: dict[str, datetime] = {}
    for commit in sorted(filter(_ID.fullmatch, commits))[:_MOST]:
        text = _git_output(
            root, "show", "-s", "--format=%ct", "--end-of-options", f"{commit}^{{commit}}"
        )
        if at := _time(text.strip()):
            found[commit] = at
    return found


def _time(seconds: str) -> datetime | None:
    """A git timestamp as UTC; None for one that no clock shows, which a commit may have."""
    if not (seconds.isdecimal() and int(seconds[:_DIGITS]) < _LAST):
        return None
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None)


def _git_output(root: Path, *words: str) -> str:
    """Git's output in a folder; empty outside of a repository or without git."""
    try:
        return git("-C", str(root), "--literal-pathspecs", *words)
    except BenchError:
        return ""
