"""The version of the reading code: by a new one known files are read again."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..schema.errors import BenchError
from ..vocabulary.regular_files import read_regular

PARSER_VERSION = 36


def parser_version(formats: Path | None) -> int:
    """The version of the reading code and of a user's own formats.

    Raises BenchError for a folder of formats that is not there.
    """
    return PARSER_VERSION + 1000 * _version_of(formats)


def check_folder(own: Path) -> None:
    """Raises BenchError for a user's folder of formats that is not there."""
    if not own.is_dir():
        raise BenchError("no such folder of formats", where=str(own),
                         hint="check `formats` in bench.toml")  # fmt: skip


def _version_of(own: Path | None) -> int:
    """A number of 32 bits for the formats of a user's own folder, 0 for none: others read anew."""
    if own is None:
        return 0
    check_folder(own)
    files = sorted(file for file in own.iterdir() if file.name.endswith(".toml"))
    try:
        return zlib.crc32(b"".join(map(read_regular, files))) % 2**21 + 1
    except OSError as error:
        raise BenchError("a format file cannot be read", why=error.strerror or str(error),
                         where=error.filename or str(own)) from error  # fmt: skip
