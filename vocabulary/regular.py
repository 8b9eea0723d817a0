"""Files that somebody else may have put there: never waited for, never without end."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST = 16 << 20  # bytes


def read_regular(file: Path, most: int = LARGEST) -> bytes:
    """What a regular file holds; raises OSError for any other, and for one of more bytes.

    Nobody may write to a pipe, and a device has no end.
    """
    data = read_first(file, most + 1)
    if len(data) > most:
        raise OSError(larger_than(most))
    return data


def read_first(file: Path, size: int) -> bytes:
    """The first bytes of a regular file, of any length; raises OSError for any other."""
    _require_regular(file.stat())  # to open some devices does something already
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        _require_regular(os.fstat(stream.fileno()))
        return stream.read(size)


def larger_than(most: int) -> str:
    return f"larger than {most / (1 << 20):,.3g} MiB"


def _require_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")


def read_text(file: Path, most: int = LARGEST) -> str:
    """The same as UTF-8 without a mark of its order; raises UnicodeDecodeError, too."""
    return read_regular(file, most).decode("utf-8-sig")


def parse_json(data: bytes) -> Any:  # Any: JSON's values
    """The value of a JSON text; raises ValueError, also for what is nested too deep."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None


def require_within(folder: Path, file: Path) -> None:
    """Raises OSError where what is to be written below a folder would lie elsewhere.

    Who made the folder may have put a link into it.
    """
    if not file.parent.resolve().is_relative_to(folder.resolve()):
        raise OSError(f"{file.parent} leads outside {folder}")
