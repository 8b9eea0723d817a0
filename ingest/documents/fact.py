"""A fact that a document states of its runs, and its scope."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A stated fact; with `only_size`, for rows of that size (1e9 parameters) only.

    `only_layers`: for rows of that depth only;
    `only_named`: for rows that name this subject, if a table has such rows (`Eager: GA=1`);
    `only_there`: otherwise for none, as the text states other values for other subjects;
    `group`: the first line of the statement that contains it, a line or a block of lines;
    `of_all_rows`: by its statement, it applies to every row.
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
