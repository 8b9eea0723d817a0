"""The size of the only model that a whole document names, stated at its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from .context import is_aside, sizes_in
from .fact import Fact
from .grid import Table
from .markdown import Heading, TextLine, is_quotation
from .model_families import families_in
from .other_subjects import without_others

_TRAINED = re.compile(r"\b(?:pre-?|post-?)?train(?:ed|ing|s)?\b|\bfine-?tun\w+|\bSFT\b", re.I)
_SIZED = re.compile(r"\d\s?[bBmMtT]")
_LONGEST = 2000  # characters of a line


def lone_size(blocks: Sequence[Heading | TextLine | Table]) -> list[Fact]:
    """The size that a line above the first table states of its training, if no other is named."""
    above = takewhile(lambda block: not isinstance(block, Table), blocks)
    stated = (fact for block in above if isinstance(block, TextLine) for fact in _stated(block))
    first = next(stated, None)
    if first is None:
        return []
    sizes: set[float] = set()
    families: set[str] = set()
    for text in (text for block in blocks for text in _texts(block)):
        families |= families_in(text)
        if _SIZED.search(text):
            sizes |= {size for _, size in sizes_in(text)}
        if len(sizes) > 1 or len(families) > 1:
            return []
    return [first]


def _texts(block: Heading | TextLine | Table) -> Iterator[str]:
    if isinstance(block, Table):
        yield from {cell for row in (block.header, *block.rows) for cell in row.cells}
    elif len(block.text) <= _LONGEST:
        yield block.text


def _stated(line: TextLine) -> Iterator[Fact]:
    """The size that a line states of what was trained here; none of a quotation or a plan."""
    text = line.text
    if len(text) > _LONGEST or line.code or is_quotation(text) or not _SIZED.search(text):
        return
    own = not is_aside(text, "lines") and without_others(text)[0] == text
    if _TRAINED.search(text) and own and (named := sizes_in(text)):
        yield Fact("size", named[0][0], text.strip(), line.line, "document")
