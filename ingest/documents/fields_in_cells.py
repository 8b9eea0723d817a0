"""Fields that the cells of a table state in words, and the facts of a document that this leaves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.hardware import device_of
from ...vocabulary.headings import columns_of
from .context import formats_in, phrases_in, recipe_of
from .fact import Fact
from .frameworks import trainers_in
from .grid import Table
from .unlisted_framework import is_named_in

_FIRST_ROWS, _LONGEST_CELL = 40, 200  # of a table that are searched for words
_MACHINES = ("device", "devices", "devices_per_node")  # of rows that name theirs
_ADDRESS = re.compile(r"\]\([^()]{0,300}\)|https?://\S{1,300}")
_WORD = re.compile(r"[A-Za-z]{2}")
_CODE = re.compile(r"`[^`]{1,80}`|(?<!\w)\w{1,40}_\w{1,80}")  # `use_fp8_permute` is no format


def without_fields_of(table: Table, facts: Sequence[Fact]) -> list[Fact]:
    """Without facts of the document about fields in which the rows of a table differ.

    Rows that name other number formats only are exceptions to that of the document.
    """
    fields = _fields_in(table)
    columns = columns_of(table.header.cells)
    if any(one is None and share_of_devices(table, at) == 1 for at, one in enumerate(columns)):
        facts = [fact for fact in facts if fact.field not in _MACHINES]
    rows = (table.header, *table.rows[:_FIRST_ROWS])
    cells = [cell for row in rows for cell in row.cells if len(cell) <= _LONGEST_CELL]
    return [
        fact
        for fact in facts
        if fact.scope != "document"
        or (fact.field == "dtype" and _has_exceptions(fact, cells))
        or (fact.field not in fields and not _is_one_of(fact, cells))
    ]


def share_of_devices(table: Table, at: int) -> float:
    """The share of the filled cells of a column that name known devices."""
    cells = [_ADDRESS.sub("", row.cells[at]) for row in table.rows if at < len(row.cells)]
    filled = [cell for cell in cells if cell.strip("-–— ")]
    return sum(device_of(cell) is not None for cell in filled) / max(1, len(filled))


def _fields_in(table: Table) -> frozenset[str]:
    """The fields that cells state in words: `FSDP + Float8` a number format."""
    fields: set[str] = set()
    for row in table.rows[:_FIRST_ROWS]:
        for cell in row.cells:
            if len(cell) <= _LONGEST_CELL and _WORD.search(cell):
                fields |= {fact.field for fact in phrases_in(cell, row.line, "line")}
                fields |= {"framework"} if trainers_in(cell) else set()
    return frozenset(fields)


def _has_exceptions(fact: Fact, cells: Sequence[str]) -> bool:
    """Whether cells name number formats, and none the one of a fact, nor a recipe of it."""
    named = {name for cell in cells for name in _formats_in(_CODE.sub(" ", cell))}
    recipe = (recipe_of(fact.raw) or "").casefold()
    return bool(named) and not any(
        name == recipe or name.startswith(fact.value or "") for name in named
    )


def _formats_in(text: str) -> set[str]:
    recipe = recipe_of(text)
    return {recipe.casefold()} if recipe else formats_in(text)


def _is_one_of(fact: Fact, cells: Sequence[str]) -> bool:
    """Whether a table names a framework itself, among others."""
    return fact.field == "framework" and is_named_in(fact.value or "", cells)
