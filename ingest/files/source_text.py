"""The text of a source as it was when it was read, for what shows its lines."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import NamedTuple

from ...schema.warehouse import Warehouse
from ...vocabulary.regular_files import larger_than, read_first, read_regular
from .streams import LONGEST_MAGIC, packing, unpacked

LARGEST = 1 << 30  # bytes of a source whose lines are shown


class StoredText(NamedTuple):
    """What was read of a source: the digest and the number of its bytes."""

    sha256: str
    size: int


def stored_texts(warehouse: Warehouse, uri: str | None = None) -> dict[str, StoredText]:
    """What was read of a source, or of each, by uri."""
    query = "SELECT uri, sha256, to_byte FROM current_uris WHERE $uri IS NULL OR uri = $uri"
    rows = warehouse.rows(query, {"uri": uri})
    return {name: StoredText(sha256, size) for name, sha256, size in rows}


def source_text(warehouse: Warehouse, root: Path, uri: str) -> tuple[list[str], str]:
    """The text of a source below `root`, as `text_as_read`."""
    return text_as_read(root, uri, stored_texts(warehouse, uri).get(uri))


def text_as_read(root: Path, uri: str, stored: StoredText | None) -> tuple[list[str], str]:
    """The lines of a source below `root`; none, with the reason, if it is missing or has changed.

    The author of a warehouse may name any file as a source, so only bytes whose digest is stored
    are shown, and only whole lines: who may guess at part of a line learns it letter by letter.
    """
    if stored is None:
        return [], f"{uri} is not in the warehouse"
    sha256, size = stored
    try:
        data = _first(root / uri, size)
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        return [], f"{uri} cannot be read here: {getattr(error, 'strerror', None) or error}"
    data, more = data[: max(size, 0)], data[max(size, 0) :]
    ends = not (data and more) or data.endswith((b"\n", b"\r")) or more in (b"\n", b"\r")
    # Another text at that line would pass for what was read; none is shown instead.
    if not ends or hashlib.sha256(data).hexdigest() != sha256:
        return [], f"{uri} has changed since it was read"
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")], ""


def _first(file: Path, size: int) -> bytes:
    """Its first bytes and one more, unpacked: lines count in the text of packed logs too."""
    if (how := packing(read_first(file, LONGEST_MAGIC))) is None:
        return read_first(file, _bounded(size))  # a log goes on after it was read
    data = read_regular(file, LARGEST)
    packed = io.BytesIO(data)
    return unpacked(packed, how, len(data), whole=False).read(_bounded(size))


def _bounded(size: int) -> int:
    if size > LARGEST:
        raise OSError(f"what was read of it is {larger_than(LARGEST)}")
    return max(size, 0) + 1  # a negative one would be all of it
