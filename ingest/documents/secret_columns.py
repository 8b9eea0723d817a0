"""Columns of a table whose heading is the name of a secret."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.headings import column_of
from ...vocabulary.secrets import REDACTED, is_secret_name
from .grid import Table

_PER_TOKEN = re.compile(r"(?:/|\bper)\s?tokens?\W*$", re.I)
_AMOUNT = re.compile(r"\W*\d[\d.,]{0,9}\s?[A-Za-zµ%]{0,3}(?:\s?\([\d.,]{1,8}\s?\w{0,3}%?\))?\W*")


def without_secrets(table: Table) -> Table:
    """The table with the cells redacted whose heading is the name of a secret.

    `token/s` is a quantity, not a secret, and so is `Active/Token` above numbers.
    """
    headings = table.header.cells
    secret = [
        is_secret_name(heading) and column_of(heading) is None and not _of_a_token(table, place)
        for place, heading in enumerate(headings)
    ]
    if not any(secret):
        return table
    rows = tuple(
        replace(row, cells=tuple(
            REDACTED if place < len(secret) and secret[place] and cell else cell
            for place, cell in enumerate(row.cells)
        ))
        for row in table.rows
    )  # fmt: skip
    return replace(table, rows=rows)


def _of_a_token(table: Table, place: int) -> bool:
    """Whether a column has short numbers for a token of text."""
    cells = [row.cells[place] for row in table.rows if place < len(row.cells)]
    return bool(_PER_TOKEN.search(table.header.cells[place])) and all(
        not cell or _AMOUNT.fullmatch(cell) for cell in cells
    )
