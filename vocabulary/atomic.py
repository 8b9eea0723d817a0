"""A file written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


def atomic_write(file: Path, data: bytes, *, named: bool = False) -> None:
    """Put `data` where a file is or will be; its permissions stay.

    A pipe or a device is written to only where a user has `named` it: in a folder that somebody
    else made, it would wait without end, or reach another machine. Raises OSError.
    """
    if file.exists() and not file.is_file():
        if not named:
            raise OSError("not a regular file")
        file.write_bytes(data)  # /dev/null: nothing there to be replaced
        return
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(name, stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o666 & ~_umask())
        os.replace(name, file)
    except BaseException:  # an interrupt too must leave no half-written file behind
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
