"""Two quantities in one column: under `tokens/s (total / per GPU)` each cell has both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of, columns_of
from .grid import Table, TableRow

_BOTH = re.compile(
    r"(?P<what>[^()\[\]]{1,60}?)\s*[(\[]\s*(?P<first>[^()\[\]/]{1,30}?)\s*/\s+"
    r"(?P<second>[^()\[\]/]{1,30}?)\s*[)\]]\s*"
)
# `peak alloc / resvd (GiB)`: two results, in one unit
_TWO = re.compile(
    r"(?P<what>(?:[^()\[\]/]{1,40}\s)?)(?P<first>\w{1,20})\s*/\s*(?P<second>\w{1,20})"
    r"(?P<unit>\s*[(\[][^()\[\]]{1,20}[)\]])?\s*"
)
# `TFLOPS/GPU / MFU`: two results, each in its own unit
_EACH = re.compile(r"([^()\[\]]{1,40}?)\s+/\s+([^()\[\]]{1,40})")
_PARTS = re.compile(r"\s+/\s+")
_UNIT = re.compile(r"\d\s?([A-Za-z][\w/%]{0,15})$")
_BARE = re.compile(r"[~≈]?\s*\d[\d.,]*")
_EMPHASIS = re.compile(r"\*\*|__|`")


def with_pairs_apart(table: Table) -> Table:
    """The table with a column for each quantity; unchanged if no heading names two.

    A heading is split if its two parts are different results, and every cell with a number has
    two.
    """
    both = {
        at: names
        for at, heading in enumerate(table.header.cells)
        if (names := _names(heading)) and _all_have_two(table, at)
    }
    if not both:
        return table
    header = _apart(table.header.cells, both, True)
    rows = tuple(
        replace(
            row,
            cells=_apart(row.cells, both),
            lines=tuple(line for at, line in enumerate(row.lines) for _ in both.get(at, (at,))),
        )
        for row in table.rows
    )
    return Table(
        TableRow(table.header.line, header),
        table.separator_line,
        ("none",) * len(header),
        rows,
    )


def _names(heading: str) -> tuple[str, str] | None:
    if match := _BOTH.fullmatch(heading):
        names = f"{match['what']} ({match['first']})", f"{match['what']} ({match['second']})"
    elif (match := _TWO.fullmatch(heading)) and column_of(heading) is None:
        what, unit = match["what"], match["unit"] or ""
        names = f"{what}{match['first']}{unit}", f"{what}{match['second']}{unit}"
    elif (each := _EACH.fullmatch(heading)) and column_of(heading) is None:
        names = each[1].strip(), each[2].strip()
    else:
        return None
    first, second = columns_of(names)
    results = first and second and first.role == second.role == "result"
    return names if results and first != second else None


def _all_have_two(table: Table, at: int) -> bool:
    cells = [row.cells[at] for row in table.rows if at < len(row.cells)]
    counts = [len(_parts(cell)) for cell in cells if re.search(r"\d", cell)]
    return bool(counts) and set(counts) == {2}


def _parts(cell: str) -> list[str]:
    parts = _PARTS.split(_EMPHASIS.sub("", cell).strip())
    unit = _UNIT.search(parts[-1])  # of both, in `200.8 / 203.7 GiB`
    return [f"{part} {unit[1]}" if unit and _BARE.fullmatch(part) else part for part in parts]


def _apart(
    cells: Sequence[str], both: dict[int, tuple[str, str]], headings: bool = False
) -> tuple[str, ...]:
    def each() -> Iterator[str]:
        for at, cell in enumerate(cells):
            if at not in both:
                yield cell
                continue
            parts = both[at] if headings else _parts(cell)
            yield from parts if len(parts) == len(both[at]) else (cell, "")

    return tuple(each())
