"""Rows whose cells stand under the wrong headings: the moves that put them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..ingest.cells import Cell, parse_cell
from ..ingest.headings import Column
from ..ingest.results import habits_of, results
from .interval import Printed

RESULTS = (
    "mem",
    "step_time",
    "tflops",
    "agg_pflops",
    "samples_per_s",
    "tokens_per_s",
    "tokens_per_s_per_device",
    "mfu",
    "hfu",
    "peak_share",
)


@dataclass(frozen=True, slots=True)
class Move:
    """A missing cell taken out and put in elsewhere; `raws` is the row as it then reads."""

    taken: int | None
    put: int | None
    raws: tuple[str, ...]
    cells: tuple[Cell, ...]

    def printed(self, columns: Sequence[Column | None]) -> dict[str, Printed]:
        """The measurements of the row as moved."""
        return {
            r.metric: Printed(r.value, (r.high - r.low) / 2, r.unit, r.scope, r.raw)
            for r in results(self.cells, columns, habits_of([self.cells], columns))
        }


def moves(raws: Sequence[str], columns: Sequence[Column | None]) -> Iterator[Move]:
    """Every way to put the row right by moving one missing cell, the left-most first."""
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
) -> Move | None:
    """The move when every cell fits its column, and none of the topology is lost."""
    cells = tuple(parse_cell(raw, column) for raw, column in zip(raws, columns, strict=True))
    for cell, column in zip(cells, columns, strict=True):
        odd = cell.misfit or (cell.kind == "text" and column and column.role == "result")
        needed = column and column.role in ("topology", "batch") and cell.kind == "missing"
        dated = column and column.role == "result" and _is_date(cell)
        if odd or needed or dated:
            return None
    return Move(taken, put, tuple(raws), cells)


def _is_date(cell: Cell) -> bool:
    return bool(cell.text and cell.text.startswith(("-", "/")))


def _is_missing(raw: str, columns: Sequence[Column | None], place: int) -> bool:
    column = columns[place] if place < len(columns) else None
    if not raw.strip(" -–—"):
        return True
    return bool(column and parse_cell(raw, column).kind == "missing")
