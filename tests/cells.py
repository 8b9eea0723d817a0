"""A cell under a heading, for tests."""

from __future__ import annotations

from bench.vocabulary.cell import Cell
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of, columns

COLUMNS = [*columns().values(), None]


def read(heading: str, text: str) -> Cell:
    column = column_of(heading)
    assert column, heading
    return parse_cell(text, column)
