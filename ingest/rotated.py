"""Files that took over what another one held: logs that were rotated or renamed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ..schema.ledger import Known
from .content import print_of

# train.log.1, train.log-20261120, train.log.2026-11-20_01; train-20261120.log, train.1.log
_BEHIND = re.compile(r"(.+?\.(?:log|out|err|txt|stdout|stderr))[-._].+")
_WITHIN = re.compile(r"(.+?)[-._][\d._:T-]+(\.\w+)")


def family(name: str) -> str:
    """The name that a log has before it is rotated; any other file's own."""
    if found := _BEHIND.fullmatch(name) or _WITHIN.fullmatch(name):
        return "".join(found.groups())
    return name


def related(one: str, other: str) -> bool:
    """Whether two names may be those of older and newer states of one log."""
    return one != other and not {one, family(one)}.isdisjoint((other, family(other)))


def holds(path: Path, known: Known) -> bool:
    """Whether a file begins with the bytes of a load."""
    try:
        if path.stat().st_size < known.size:
            return False
        return print_of(path, known.size).sha256 == known.sha256
    except OSError:
        return False


def relatives(path: Path) -> Iterator[Path]:
    """Files of the same folder that may be older or newer states of one log."""
    try:
        with os.scandir(path.parent) as scan:
            names = sorted(entry.name for entry in scan if entry.is_file())
    except OSError:
        return
    yield from (path.with_name(name) for name in names if related(path.name, name))
