"""File names: of files worth opening, and of logs that may grow, were rotated or packed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ...records import reading as records

SUFFIXES = frozenset((".gz", ".bz2", ".xz", ".zst"))
_PLAIN = frozenset(("", ".log", ".out", ".err", ".txt"))
# Names of logs, rotated ones too. Packed logs grow no more.
_LOG = re.compile(r"(?i).+\.(?:(?:log|out|err|txt|stdout|stderr)(?:[-._].+)?|[oe]\d+)")
_PACKED = (*SUFFIXES, ".tar", ".tgz", ".zip")
_NEVER = frozenset(
    f".{suffix}"
    for group in (
        "png jpg jpeg gif svg pdf ico mp4 woff woff2 ttf zip gz xz bz2 zst tar whl",
        "pt pth bin safetensors npy npz duckdb wal db sqlite parquet pyc so o a exe",
    )
    for suffix in group.split(" ")
)
# train.log.1, train.log-20261120, train.log.2026-11-20_01; train-20261120.log, train.1.log
_BEHIND = re.compile(r"(.+?\.(?:log|out|err|txt|stdout|stderr))[-._].+")
_DATED = re.compile(r".+?[-._]20\d\d[\d._:T-]+\.\w+")
_WITHIN = re.compile(r"(.+?)[-._][\d._:T-]+(\.\w+)")


def is_candidate(file: str) -> bool:
    """Whether a file of a folder is worth opening, by its name."""
    name = os.path.basename(file)
    if name.startswith("."):
        return False
    if os.path.splitext(name)[1].lower() in _NEVER and not is_packed_log(name):
        return False
    # Records are JSON: no path is built for other files.
    return not (name.endswith(".json") and records.is_read_with_folder(Path(file)))


def is_log_name(name: str) -> bool:
    """Whether a file may be a log that grows, by its name."""
    return _LOG.fullmatch(name) is not None and not name.lower().endswith(_PACKED)


def is_packed_log(path: str | Path) -> bool:
    """Whether a name is that of a packed log."""
    if os.path.splitext(path)[1].lower() not in SUFFIXES:
        return False
    path = Path(path)
    return Path(path.stem).suffix.lower() in _PLAIN or is_log_name(path.stem)


def has_successor(path: Path) -> bool:
    """Whether a log was rotated: a newer one of its original name is in the same folder."""
    name = path.name
    away = is_packed_log(path) or _BEHIND.fullmatch(name) or _DATED.fullmatch(name)
    if not away or name == (first := family(name)):
        return False
    try:
        return path.with_name(first).stat().st_mtime >= path.stat().st_mtime
    except OSError:
        return False


def family(name: str) -> str:
    """The name of a log before it was rotated and packed; any other file's own name."""
    if is_packed_log(name):
        name = Path(name).stem
    if found := _BEHIND.fullmatch(name) or _WITHIN.fullmatch(name):
        return "".join(found.groups())
    return name
