"""Published documents with their golden reading, as lines, rows and tables that can be changed.

It knows nothing of the reader: rows are split here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.scoring import Expected, Golden, as_reported


@dataclass(slots=True, eq=False)
class Line:
    """A line; `number` is that of the original document, None for one that was put in."""

    text: str
    number: int | None = None
    cells: list[str] | None = None

    def render(self) -> str:
        return self.text if self.cells is None else f"| {' | '.join(self.cells)} |"


@dataclass(slots=True, eq=False)
class Row:
    """A golden row at its line."""

    line: Line
    values: dict[str, Any]  # JSON values
    classes: dict[str, str]


@dataclass(slots=True, eq=False)
class Grid:
    """A table: golden names of its columns, and its lines."""

    id: str
    names: list[str]
    header: Line
    separator: Line
    body: list[Line]
    rows: list[Row]
    pipes_needed: bool = False

    @property
    def lines(self) -> Iterator[Line]:
        yield from (self.header, self.separator, *self.body)

    def place(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None


@dataclass(slots=True)
class Document:
    """A document and what a careful reader finds in it."""

    name: str
    lines: list[Line]
    grids: list[Grid]
    newline: str = "\n"
    _places: dict[int, int] = field(default_factory=dict)

    def text(self) -> str:
        return self.newline.join(line.render() for line in self.lines) + self.newline

    def expected(self) -> list[Expected]:
        places = {line: at for at, line in enumerate(self.lines, 1)}
        numbers = {line.number: at for line, at in places.items() if line.number}
        rows = []
        for grid in self.grids:
            for row in grid.rows:
                values = copy.deepcopy(row.values)
                for note in values["footnotes"]:
                    note["legend_line"] = numbers.get(note["legend_line"])
                rows.append(Expected(self.name[:3], places[row.line], grid.id, values, row.classes))
        return rows


def load(golden: Golden, name: str, text: str) -> Document:
    """A document with its golden reading."""
    lines = [
        Line(line, number) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
    ]
    grids = []
    for table in golden["tables"]:
        rows = [
            Row(
                lines[row["line"] - 1],
                {**row["record"], **as_reported(row)},
                dict(row["field_class"]),
            )
            for row in copy.deepcopy(table["rows"])
        ]
        numbers = sorted([row["line"] for row in table["rows"]] + table["filler_lines"])
        header, separator = lines[table["header_line"] - 1], lines[table["separator_line"] - 1]
        body = [lines[number - 1] for number in numbers]
        grid = Grid(
            table["table_id"], list(table["canonical_columns"]), header, separator, body, rows
        )
        for line in grid.lines:
            line.cells = split_row(line.text)
        grids.append(grid)
    return Document(name, lines, grids)


def split_row(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|")]
