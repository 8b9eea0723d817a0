"""The size of the only model that a whole document names, stated at its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .context import is_aside, sizes_in
from .fact import Fact
from .grid import Table
from .markdown import Heading, TextLine, is_quotation
from .others import without_others

_TRAINED = re.compile(r"\b(?:pre-?|post-?)?train(?:ed|ing|s)?\b|\bfine-?tun\w+|\bSFT\b", re.I)
_LONGEST = 2000  # characters of a line


def lone_size(blocks: Iterable[Heading | TextLine | Table]) -> list[Fact]:
    """The size that a line above the first table states of its training, if no other is named."""
    sizes: set[float] = set()
    first: Fact | None = None
    tables = False
    for block in blocks:
        tables |= isinstance(block, Table)
        for line, text in _texts(block):
            named = sizes_in(text)
            sizes |= {size for _, size in named}
            if named and first is None and not tables and _states(block, text):
                first = Fact("size", named[0][0], text.strip(), line, "document")
        if len(sizes) > 1:
            return []
    return [first] if first else []


def _texts(block: Heading | TextLine | Table) -> Iterator[tuple[int, str]]:
    if isinstance(block, Table):
        cells = {cell for row in (block.header, *block.rows) for cell in row.cells}
        yield from ((block.header.line, cell) for cell in cells if len(cell) <= _LONGEST)
    elif len(block.text) <= _LONGEST:
        yield block.line, block.text


def _states(block: Heading | TextLine | Table, text: str) -> bool:
    """Whether a line of text states what was trained here, and quotes or plans nothing."""
    if not isinstance(block, TextLine) or block.code or is_quotation(text):
        return False
    return bool(
        _TRAINED.search(text) and not is_aside(text, "lines") and without_others(text)[0] == text
    )
