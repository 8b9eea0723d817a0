"""What a document says that its headings mean: `T-GBS: train global batch size`, `s is the length`.

A definition is a line, a part of one, or a row of a table of abbreviations; it has no numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import Column, column_of
from .grid import Table
from .markdown import Heading, TextLine
from .orientation import fits
from .stated_units import batch_stated, with_batch

_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_MARKS = re.compile(r"[*`_\"“”]")
_DEFINES = re.compile(
    r"(?P<name>[A-Za-z#][\w#./+-]{0,24}(?: [\w#/+-]{1,16}){0,2}?(?: ?\([\w/]{1,12}\))?)"
    r"(?:\s?[:：=]\s|\s[-–—]+\s|\s(?:is|are|means?|stands for|denotes|refers to|represents)\s"
    r"(?:the\s|an?\s)?)"
    r"(?P<text>[A-Za-z][^:=]{2,80})"
)
_APART = re.compile(r"\s?[;；]\s?|,\s(?=[*`_\"]{0,3}[\w#/-]{1,24}[*`_\"]{0,3}\s?[:=])")
_ABBREVIATIONS = re.compile(
    r"\W*(?:abbrev\w*|symbols?|terms?|columns?|notations?|acronyms?|fields?|headings?|keys?|names?|metrics?)\W*",
    re.I,
)
_MEANINGS = re.compile(
    r"\W*(?:meanings?|descriptions?|definitions?|explanations?|full (?:name|form)|stands for)\W*",
    re.I,
)
_END = re.compile(r"\s?[(\[.,;]")
_LONGEST = 300  # characters of a line of definitions
_MOST = 500  # definitions of a document
_PAIR = 2


class Legends:
    """The definitions of a document, by name without case and marks."""

    def __init__(self, blocks: Iterable[Heading | TextLine | Table] = ()) -> None:
        found: dict[str, set[str]] = {}
        blocks = tuple(blocks)
        lines = (one.text for one in blocks if isinstance(one, TextLine) and not one.code)
        batches = {name for text in lines if len(text) <= _LONGEST and (name := batch_stated(text))}
        self._batch = batches.pop() if len(batches) == 1 else None
        for name, text in _definitions(blocks):
            if len(found) < _MOST:
                found.setdefault(_plain(name), set()).add(_plain(text))
        self._texts: Mapping[str, str] = {
            name: texts.pop() for name, texts in found.items() if len(texts) == 1
        }

    def applied(self, table: Table) -> Table:
        """The table with the headings that are defined as known columns; its cells have to fit.

        What the text says of a batch, and says alike throughout, applies to every bare one.
        """
        table = self._with_batch(table)
        heads = table.header.cells
        cells = tuple(self._defined(table, at) or head for at, head in enumerate(heads))
        if cells == heads:
            return table
        return replace(table, header=replace(table.header, cells=cells))

    def explained(self, headings: Sequence[str]) -> frozenset[str]:
        """The headings that are defined as something that is no known column."""
        return frozenset(
            head for head in headings
            if (text := self._texts.get(_plain(head))) and _meant(text) is None
        )  # fmt: skip

    def _with_batch(self, table: Table) -> Table:
        named = with_batch(table, self._batch) if self._batch else table
        if named is table:
            return table
        at = named.header.cells.index(self._batch or "")
        column = column_of(self._batch or "")
        pairs = any("/" in row.cells[at] for row in table.rows if at < len(row.cells))
        return named if column and not pairs and _fit(named, at, column) else table

    def _defined(self, table: Table, at: int) -> str | None:
        head = table.header.cells[at]
        text = self._texts.get(_plain(head))
        found = _meant(text) if text else None
        if found is None:
            return None
        heading, column = found
        known = column_of(head)
        if known and (known.name == column.name or known.role != column.role):
            return None
        if known and known.role == "batch":
            return None  # `BS`: what lines say of a bare batch is read by `bare_batches.py`
        return heading if _fit(table, at, column) else None


def _definitions(blocks: Iterable[Heading | TextLine | Table]) -> Iterator[tuple[str, str]]:
    for block in blocks:
        if isinstance(block, Table):
            yield from _of_table(block)
        elif isinstance(block, TextLine) and not block.code and len(block.text) <= _LONGEST:
            for part in _APART.split(_MARKS.sub("", _BULLET.sub("", block.text)).strip()):
                match = _DEFINES.match(part)
                if match and not re.search(r"\d", match["text"]):
                    yield match["name"], match["text"]


def _of_table(table: Table) -> Iterator[tuple[str, str]]:
    heads = table.header.cells
    if len(heads) == _PAIR and _ABBREVIATIONS.fullmatch(heads[0]) and _MEANINGS.fullmatch(heads[1]):
        for row in table.rows:
            if len(row.cells) == _PAIR and all(row.cells) and not re.search(r"\d", row.cells[1]):
                yield row.cells[0], row.cells[1]


def _meant(text: str) -> tuple[str, Column] | None:
    """The heading that a definition amounts to, with its column."""
    for sentence in dict.fromkeys((text, _END.split(text)[0])):
        if column := column_of(sentence):
            return sentence, column
    return None


def _fit(table: Table, at: int, column: Column) -> bool:
    cells = [
        cell for row in table.rows if at < len(row.cells)
        if (cell := parse_cell(row.cells[at], column)).kind != "missing"
    ]  # fmt: skip
    return bool(cells) and 2 * sum(fits(cell, column) for cell in cells) > len(cells)


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).casefold().split()).rstrip(".,;: ")
