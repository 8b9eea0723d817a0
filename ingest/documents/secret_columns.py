"""Columns of a table whose heading is the name of a secret."""

from __future__ import annotations

from dataclasses import replace

from ...vocabulary.headings import column_of
from ...vocabulary.secrets import REDACTED, is_secret_name
from .grid import Table


def without_secrets(table: Table) -> Table:
    """The table with the cells redacted whose heading is the name of a secret.

    `token/s` is a quantity, not a secret.
    """
    headings = table.header.cells
    secret = [is_secret_name(heading) and column_of(heading) is None for heading in headings]
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
