"""Rows with cells under the wrong headings: every move of one missing cell that makes them fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ingest.documents.results import habits_of, results
from ..vocabulary.cell import Cell
from ..vocabulary.cells import parse_cell
from ..vocabulary.headings import Column
from .interval import Printed


@dataclass(frozen=True, slots=True)
class CellMove:
    """A missing cell removed and inserted elsewhere; `raws` is the resulting row."""

    taken: int | None
    put: int | None
    raws: tuple[str, ...]
    cells: tuple[Cell, ...]

    def shifts_numbers(self, raws: Sequence[str]) -> bool:
        """Whether a number comes under another heading, and not words alone."""
        places = enumerate(zip(self.raws, self.cells, strict=True))
        return any(
            cell.value is not None and [raw] != [*raws[at : at + 1]] for at, (raw, cell) in places
        )

    def printed(self, columns: Sequence[Column | None]) -> dict[str, Printed]:
        """The measurements of the row as moved."""
        return {
            r.metric: Printed(r.value, (r.high - r.low) / 2, r.unit, r.scope, r.raw)
            for r in results(self.cells, columns, habits_of([self.cells], columns))
        }


def moves(raws: Sequence[str], columns: Sequence[Column | None]) -> Iterator[CellMove]:
    """Every way to repair the row by moving one missing cell, the left-most first."""
    missing = [place for place, raw in enumerate(raws) if _is_missing(raw, columns, place)]
    width = len(columns)
    for taken in missing:
        rest = [*raws[:taken], *raws[taken + 1 :]]
        for put in [None] if len(rest) >= width else range(len(rest), -1, -1):
            if put == taken:
                continue
            moved = rest if put is None else [*rest[:put], "", *rest[put:]]
            if len(moved) == width and (move := _typed(taken, put, moved, columns)):
                yield move
    if len(raws) < width:
        for put in range(len(raws) + 1):
            moved = [*raws[:put], "", *raws[put:]]
            if len(moved) == width and (move := _typed(None, put, moved, columns)):
                yield move


def _typed(
    taken: int | None, put: int | None, raws: Sequence[str], columns: Sequence[Column | None]
) -> CellMove | None:
    """The move if every cell fits its column, and no topology cell is lost."""
    cells = tuple(parse_cell(raw, column) for raw, column in zip(raws, columns, strict=True))
    for cell, column in zip(cells, columns, strict=True):
        odd = cell.invalid or (cell.kind == "text" and column and column.role == "result")
        needed = column and column.role in ("topology", "batch") and cell.kind == "missing"
        dated = column and column.role == "result" and _is_date(cell)
        if odd or needed or dated:
            return None
    return CellMove(taken, put, tuple(raws), cells)


def _is_date(cell: Cell) -> bool:
    return bool(cell.text and cell.text.startswith(("-", "/")))


def _is_missing(raw: str, columns: Sequence[Column | None], place: int) -> bool:
    column = columns[place] if place < len(columns) else None
    if not raw.strip(" -–—"):
        return True
    return bool(column and parse_cell(raw, column).kind == "missing")
