"""What a document states of its runs, and how far it reaches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One stated fact; where `only_size` is set, for rows of that size (1e9 parameters) alone.

    `only_layers`: for rows of no other depth;
    `only_named`: for rows that say so alone, where a table has such rows (`Eager: GA=1`);
    `only_there`: and for no others where it has none, as the text says it in other ways, too;
    `group`: the first line of the statement that it is part of, a line or a block of lines;
    `of_all_rows`: the statement says that it holds for every row.
    """

    field: str
    value: str | None
    raw: str
    line: int
    scope: str
    only_size: float | None = None
    only_layers: int | None = None
    only_named: str | None = None
    only_there: bool = False
    group: int = 0
    of_all_rows: bool = False
