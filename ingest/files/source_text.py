"""The text of a source as it was when it was read, for what shows its lines."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

from ...schema.warehouse import Warehouse
from ...vocabulary.regular_files import larger_than, read_first, read_regular
from .streams import LONGEST_MAGIC, packing, unpacked

LARGEST = 1 << 30  # bytes of a source whose lines are shown


def source_text(warehouse: Warehouse, root: Path, uri: str) -> tuple[list[str], str]:
    """The lines of a source below `root`; none, with the reason, if it is missing or has changed.

    The author of a warehouse may name any file as a source, so only bytes whose digest is stored
    are shown, and only whole lines: who may guess at part of a line learns it letter by letter.
    """
    query = "SELECT sha256, to_byte FROM current_uris WHERE uri = ?"
    known = warehouse.rows(query, [uri])
    if not known:
        return [], f"{uri} is not in the warehouse"
    [(sha256, size)] = known
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
