"""Names of logs: those that may grow, rotated ones, packed ones."""

from __future__ import annotations

import re
from pathlib import Path

SUFFIXES = frozenset((".gz", ".bz2", ".xz", ".zst"))
_PLAIN = frozenset(("", ".log", ".out", ".err", ".txt"))
# Names of logs, rotated ones too. Packed logs grow no more.
_LOG = re.compile(r"(?i).+\.(?:(?:log|out|err|txt|stdout|stderr)(?:[-._].+)?|[oe]\d+)")
_PACKED = (*SUFFIXES, ".tar", ".tgz", ".zip")
# train.log.1, train.log-20261120, train.log.2026-11-20_01; train-20261120.log, train.1.log
_BEHIND = re.compile(r"(.+?\.(?:log|out|err|txt|stdout|stderr))[-._].+")
_DATED = re.compile(r".+?[-._]20\d\d[\d._:T-]+\.\w+")
_WITHIN = re.compile(r"(.+?)[-._][\d._:T-]+(\.\w+)")


def is_log_name(name: str) -> bool:
    """Whether a file may be a log that grows, by its name."""
    return _LOG.fullmatch(name) is not None and not name.lower().endswith(_PACKED)


def is_packed_log(path: Path) -> bool:
    """Whether a name is that of a packed log."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    return Path(path.stem).suffix.lower() in _PLAIN or is_log_name(path.stem)


def has_successor(path: Path) -> bool:
    """Whether a log was rotated away: one of the name that it had before lies beside it."""
    name = path.name
    away = is_packed_log(path) or _BEHIND.fullmatch(name) or _DATED.fullmatch(name)
    if not away or name == (first := family(name)):
        return False
    try:
        return path.with_name(first).stat().st_mtime >= path.stat().st_mtime
    except OSError:
        return False


def family(name: str) -> str:
    """The name that a log has before it is rotated and packed; any other file's own."""
    if is_packed_log(Path(name)):
        name = Path(name).stem
    if found := _BEHIND.fullmatch(name) or _WITHIN.fullmatch(name):
        return "".join(found.groups())
    return name
