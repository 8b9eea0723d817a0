"""Table rows that consist only of numbers, with names from a heading line above."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..ingest.logs.number_names import Number, numbers_of

CELL = r"(?:[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|(?i:[-+]?(?:nan|inf)))"
_ANY = r"[-+.\w]{1,40}"
_GAP = " {0,8}"
_LINE = re.compile(rf"{_GAP}{CELL}{_GAP}([,;\t]){_GAP}{CELL}(?:{_GAP}\1{_GAP}{CELL})*{_GAP}")
_NAME = re.compile(r"[A-Za-z][^,;\t\d]{0,60}")


def separator_of(line: str) -> str | None:
    """The separator of a line that consists only of numbers; None for any other line."""
    match = _LINE.fullmatch(line)
    return match[1] if match else None


def names_above(line: str, head: str) -> tuple[str, ...]:
    """The names of a line's cells from the heading line above; empty without one."""
    separator = separator_of(line)
    names = [name.strip(" \t\"'#") for name in head.split(separator)] if separator else []
    fits = len(names) == len(line.split(separator)) and all(map(_NAME.fullmatch, names))
    return tuple(names) if fits and len(set(names)) == len(names) else ()


def numbers_below(names: Sequence[str], lines: Sequence[str]) -> list[Number]:
    """The numbers of such lines that become a group; `place` is the index of their cell."""
    separator = separator_of(lines[0])
    assigned = [
        " | ".join(f"{name}: {cell.strip()}" for name, cell in zip(names, cells, strict=True))
        for cells in (line.split(separator) for line in lines)
        if len(cells) == len(names)
    ]
    # Their offsets do not matter: a cell is found by its index.
    return [replace(number, start=0, end=0) for number in numbers_of(assigned)]


def pattern_of(line: str, numbers: Sequence[Number]) -> str:
    """A pattern for lines with this number of cells, the first a number."""
    separator = separator_of(line) or ","
    between = "\\t" if separator == "\t" else separator
    groups = {number.place: f"(?P<{number.group}>{_ANY})" for number in numbers}
    cells = [groups.get(place, _ANY) for place in range(line.count(separator) + 1)]
    return r"^ *(?=[-+.\d])" + f" *{between} *".join(cells) + " *$"


def shape_of_cells(line: str) -> str | None:
    """The shape of a line of numbers, in which commas are separators, not thousands."""
    separator = separator_of(line)
    return separator.join("#" * (line.count(separator) + 1)) if separator else None
