"""Lines of a document that keep their numbers, the pipe tables in it, and these drawn otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tests.published import split_row


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and the number that it had; None for one that was put in."""

    text: str
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Where a pipe table stands: its header, the line behind it, and all its cells."""

    first: int
    end: int
    rows: tuple[tuple[str, ...], ...]


Lines = list[Line]
_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")


def load(text: str) -> Lines:
    """A document as lines with their numbers."""
    return [Line(line, n) for n, line in enumerate(text.replace("\r", "").split("\n"), 1)]


def text_of(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines)


def grids(lines: Lines) -> list[Grid]:
    """The pipe tables whose rows all have as many cells, none of them with an escaped pipe."""
    found, end = [], 0
    for at in outside(lines):
        if at < end or at + 2 >= len(lines) or not _SEPARATOR.match(lines[at + 1].text):
            continue
        end = at + 2
        while end < len(lines) and "|" in lines[end].text and lines[end].text.strip():
            end += 1
        rows = [split_row(lines[n].text) for n in range(at, end) if n != at + 1]
        whole = all(len(row) == len(rows[0]) for row in rows) and "|" in lines[at].text
        plain = not any("\\" in cell or "<" in cell for row in rows for cell in row)
        if whole and plain and len(rows) > 1:
            found.append(Grid(at, end, tuple(map(tuple, rows))))
    return found


def outside(lines: Lines) -> Iterator[int]:
    """The places of the lines outside fences."""
    fenced = False
    for at, line in enumerate(lines):
        if line.text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield at


def moved_columns(lines: Lines, rng: Random) -> Lines:
    """Columns and rows of every table in another order; the first column stays."""
    changed = list(lines)
    for grid in grids(lines):
        order = [0, *rng.sample(range(1, len(grid.rows[0])), len(grid.rows[0]) - 1)]
        body = list(zip(grid.rows[1:], lines[grid.first + 2 : grid.end], strict=True))
        if all(row[0] for row, _ in body):  # an empty cell may go on with the row above
            rng.shuffle(body)
        header = (grid.rows[0], lines[grid.first])
        rows = [row_line([row[n] for n in order], line.of) for row, line in (header, *body)]
        changed[grid.first : grid.end] = [rows[0], row_line(["---"] * len(order), None), *rows[1:]]
    return changed


def transposed(lines: Lines, rng: Random) -> Lines:
    """Every table with its headings down the side."""

    def turned(rows: Sequence[tuple[str, ...]], of: Sequence[int | None]) -> Lines:
        columns = list(zip(*rows, strict=True))
        made = [row_line(cells, of[0]) for cells in columns]
        return [made[0], row_line(["---"] * len(rows), None), *made[1:]]

    return _redrawn(lines, turned)


def as_html(lines: Lines, rng: Random) -> Lines:
    def drawn(rows: Sequence[tuple[str, ...]], of: Sequence[int | None]) -> Lines:
        made = [Line("<table>")]
        for row, line in zip(rows, of, strict=True):
            tag = "td" if made[1:] else "th"
            cells = [Line(f"<{tag}>{_plain(cell)}</{tag}>", line) for cell in row]
            made += [Line("<tr>", line), *cells, Line("</tr>", line)]
        return [*made, Line("</table>")]

    return _redrawn(lines, drawn)


def as_rst(lines: Lines, rng: Random) -> Lines:
    def drawn(rows: Sequence[tuple[str, ...]], of: Sequence[int | None]) -> Lines:
        widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
        edges = ["+" + "+".join(sign * n for n in widths) + "+" for sign in "-="]
        made = [Line(edges[0])]
        for row, line in zip(rows, of, strict=True):
            cells = [f" {cell}".ljust(n) for cell, n in zip(row, widths, strict=True)]
            made += [Line(f"|{'|'.join(cells)}|", line), Line(edges[len(made) == 1])]
        return made

    return _redrawn(lines, drawn)


def as_tabs(lines: Lines, rng: Random) -> Lines:
    def drawn(rows: Sequence[tuple[str, ...]], of: Sequence[int | None]) -> Lines:
        return [Line("\t".join(row), line) for row, line in zip(rows, of, strict=True)]

    return _redrawn(lines, drawn)


def _redrawn(
    lines: Lines, draw: Callable[[Sequence[tuple[str, ...]], Sequence[int | None]], Lines]
) -> Lines:
    changed = list(lines)
    for grid in reversed(grids(lines)):
        of = [lines[n].of for n in range(grid.first, grid.end) if n != grid.first + 1]
        changed[grid.first : grid.end] = [Line(""), *draw(grid.rows, of), Line("")]
    return changed


def _plain(cell: str) -> str:
    return cell.replace("&", "&amp;").replace("**", "").replace("`", "")


def row_line(cells: Sequence[str], of: int | None) -> Line:
    return Line(f"| {' | '.join(cells)} |", of)
