"""Patterns of names with wildcards: what they match, and bounds on the time of matching."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from glob import has_magic
from math import prod
from pathlib import Path

MOST_TRIES = 100_000  # some milliseconds; names of real files need few


def is_quick(literals: Sequence[str], name: str) -> bool:
    """Whether matching a name is fast; `literals` are the texts after open wildcards.

    A wildcard may end at each occurrence of its literal, and all of these are combined: a crafted
    name needs more tries than anybody waits for.
    """
    places = (name.count(literal) if literal else len(name) for literal in literals)
    return prod(max(1, each) for each in places) <= MOST_TRIES


def matching(pattern: Path) -> list[Path]:
    """The files and folders that a pattern matches, sorted; `**` goes into folders.

    It enters no folder twice, unlike that of `glob`: two links to their own folder have more paths
    than anybody waits for. Hidden names have to be named.
    """
    found = [""]
    for part in pattern.parts:
        stepped = (path for folder in found for path in _stepped(folder, part))
        found = list(dict.fromkeys(_below(found) if part == "**" else stepped))
    return [Path(path) for path in sorted(found) if os.path.lexists(path)]


def _stepped(folder: str, part: str) -> Iterator[str]:
    """The paths one part further."""
    if not has_magic(part):
        yield os.path.join(folder, part)
    else:
        names = (one.name for one in _listed(folder, hidden=part.startswith(".")))
        yield from (os.path.join(folder, name) for name in fnmatch.filter(names, part))


def _below(found: list[str]) -> Iterator[str]:
    """Folders, and all files and folders below them, by links only what is nowhere else."""
    folders, links, entered = found[::-1], list[str](), set[str]()
    while folders or links:
        above = folders.pop() if folders else links.pop()
        if (real := os.path.realpath(above)) in entered:
            continue
        entered.add(real)
        yield above
        for one in _listed(above, hidden=False):
            path = os.path.join(above, one.name)
            if os.path.isdir(path):
                (links if one.is_symlink() else folders).append(path)
            else:
                yield path


def _listed(folder: str, *, hidden: bool) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            return [one for one in entries if hidden or not one.name.startswith(".")]
    except OSError:  # no folder, or none to read
        return []
