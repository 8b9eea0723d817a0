"""What git knows of times: when a file came, and when a commit was made."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from ..schema.errors import BenchError
from .git import git

_ID = re.compile(r"[0-9a-f]{7,40}")
_MOST = 2000  # names of one question


def added(root: Path, names: Collection[str]) -> dict[str, datetime]:
    """When the files of these names below `root` were committed first, UTC; those git knows."""
    plain = [name for name in names if "!/" not in name and not name.startswith(("-", "/"))]
    text = _asked(root, "log", "--format=%x01%ct", "--diff-filter=A", "--name-only", "-z",
                  "--relative", "--", *plain[:_MOST]) if plain else ""  # fmt: skip
    found: dict[str, datetime] = {}
    for part in text.split("\x01")[1:]:
        seconds, _, listed = part.partition("\0")
        for name in listed.split("\0"):
            if name.strip("\n"):
                found[name.strip("\n")] = _time(seconds)  # the oldest commit comes last
    return found


def committed(root: Path, commits: Collection[str]) -> dict[str, datetime]:
    """When these commits, whole or abbreviated ids, were made, UTC; those the repository has."""
    found: dict[str, datetime] = {}
    for commit in sorted(filter(_ID.fullmatch, commits))[:_MOST]:
        text = _asked(
            root, "show", "-s", "--format=%ct", "--end-of-options", f"{commit}^{{commit}}"
        )
        if text.strip().isdecimal():
            found[commit] = _time(text)
    return found


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None)


def _asked(root: Path, *words: str) -> str:
    """What git says in a folder, nothing where it is no repository or git is not there."""
    try:
        return git("-C", str(root), "--literal-pathspecs", *words)
    except BenchError:
        return ""
