"""Reads of untrusted files: they never block, and never read without end."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST = 16 << 20  # bytes


def read_regular(file: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file; raises OSError for any other, and for a larger one.

    A pipe may have no writer, and a device has no end.
    """
    data = read_first(file, most + 1)
    if len(data) > most:
        raise OSError(larger_than(most))
    return data


def read_first(file: Path, size: int) -> bytes:
    """The first bytes of a regular file, of any length; raises OSError for any other."""
    _require_regular(file.stat())  # opening some devices has effects
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        _require_regular(os.fstat(stream.fileno()))
        return stream.read(size)


def has_content(file: Path, data: bytes) -> bool:
    """Whether this is a regular file of just these bytes; little more of it is read."""
    return file.is_file() and read_first(file, len(data) + 1) == data


def larger_than(most: int) -> str:
    return f"larger than {most / (1 << 20):,.3g} MiB"


def _require_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")


def read_text(file: Path, most: int = LARGEST) -> str:
    """The same as UTF-8 without a byte order mark; raises UnicodeDecodeError, too."""
    return read_regular(file, most).decode("utf-8-sig")


def parse_json(data: bytes) -> Any:  # Any: JSON's values
    """The value of a JSON text; raises ValueError, also for excessive nesting."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deep") from None


def require_within(folder: Path, file: Path) -> None:
    """Raises OSError for a path that leads out of the folder.

    An untrusted folder may have a link in it.
    """
    if not file.parent.resolve().is_relative_to(folder.resolve()):
        raise OSError(f"{file.parent} leads outside {folder}")
