"""Atomic writes of files."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def atomic_write(file: Path, data: bytes, *, named: bool = False) -> None:
    """Write `data` to a file, new or replaced; existing permissions stay.

    A pipe or a device is written to only if a user has `named` it: in an untrusted folder it would
    block forever, or reach another machine. Raises OSError.
    """
    if file.exists() and not file.is_file():
        if not named:
            raise OSError("not a regular file")
        file.write_bytes(data)  # /dev/null: no file to replace
        return
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(name, stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o666 & ~_umask())
        os.replace(name, file)
    except BaseException:  # an interrupt too must leave no partial file
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
