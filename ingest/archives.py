"""Tar archives of logs: one member at a time, within bounds, no path of theirs used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from .names import is_candidate
from .packed import LEAST_BYTES, MOST_TIMES, packing, unpacked

MOST_MEMBERS = 100_000
_NAME = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz|zst))?|tgz|tbz2?|txz)$", re.I)
_CHUNK = 1 << 20


def is_archive(name: str) -> bool:
    """Whether a name is that of a tar archive."""
    return _NAME.search(name) is not None


def members(archive: Path, scratch: Path) -> Iterator[tuple[Path, str]]:
    """Each file of an archive that may be a log or a table, in `scratch` until the next one.

    Links, devices and hidden files are passed by. Raises OSError when the archive is damaged, holds
    too many members or unpacks to more than its size allows.
    """
    import tarfile  # few files are archives

    left = max(archive.stat().st_size * MOST_TIMES, LEAST_BYTES)
    with archive.open("rb") as raw:
        how = packing(raw.read(8))
        raw.seek(0)
        stream = unpacked(raw, how, archive.stat().st_size) if how else raw
        try:
            with tarfile.open(fileobj=stream, mode="r|") as opened:
                for number, member in enumerate(opened, 1):
                    if number > MOST_MEMBERS:
                        raise OSError(f"the archive holds more than {MOST_MEMBERS} files")
                    name = _plain(member.name)
                    if not (member.isreg() and name and is_candidate(name)):
                        continue
                    content = opened.extractfile(member)
                    assert content is not None, "a regular file has content"
                    path = scratch / f"member{PurePosixPath(name).suffix}"
                    left -= _copy(content, path, left)
                    yield path, name
                    path.unlink()
        except (tarfile.TarError, EOFError) as error:
            raise OSError(f"the archive is damaged: {error}") from error


def _plain(name: str) -> str:
    """A member's name as text: where it would lie is nobody's business."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")]
    return "/".join(parts)


def _copy(content: IO[bytes], path: Path, most: int) -> int:
    """Bytes written; sparse members may claim more than any archive holds."""
    size = 0
    with path.open("wb") as file:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise OSError("the archive unpacks to more than logs can be")
            file.write(chunk)
    return size
