"""Markdown text that is ready as it is, and padded pipe tables made of it."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


class Markdown(str):
    """Markdown that is meant as such; every other text is escaped before it reaches a page."""

    __slots__ = ()


def italic(text: str) -> Markdown:
    """Text in italics: how pages mark what bench computed."""
    return Markdown(f"*{text}*" if text else "")


def pipe_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], alignment: Sequence[str]
) -> Markdown:
    """A padded GitHub table of markdown cells; alignment is left, right, center or none."""
    cells = [list(header), *[[*row, *[""] * (len(header) - len(row))] for row in rows]]
    sizes = [max(3, *(_width(row[place]) for row in cells)) for place in range(len(header))]
    lines = [_line(row, sizes, alignment) for row in cells]
    rule = "|".join(_rule(size, side) for size, side in zip(sizes, alignment, strict=True))
    return Markdown("\n".join([lines[0], f"|{rule}|", *lines[1:]]))


def _line(cells: Sequence[str], sizes: Sequence[int], alignment: Sequence[str]) -> str:
    padded = []
    for cell, size, side in zip(cells, sizes, alignment, strict=False):
        gap = " " * (size - _width(cell))
        padded.append(gap + cell if side == "right" else cell + gap)
    return f"| {' | '.join(padded)} |"


def _rule(size: int, side: str) -> str:
    left, right = side in ("left", "center"), side in ("right", "center")
    return f" {':' if left else '-'}{'-' * (size - 2)}{':' if right else '-'} "


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
