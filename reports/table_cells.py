"""Common cells of tables of pages, and rows as tables of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..project.short_names import ShortNames
from ..schema.warehouse import Row
from ..vocabulary.format import number
from .escape import Markdown, markdown_cell, pipe_table
from .words import DEVICE, MODEL, MOST_SOURCES, SIZE, SPLIT, topology_short, with_mark

PipeColumn = tuple[str, str, Callable[[Row], str]]


def several_models(rows: Sequence[Row]) -> bool:
    """Whether the rows have more than one model."""
    return len({row["size"] for row in rows}) > 1


def table_of(
    columns: Sequence[PipeColumn], rows: Sequence[Row], merged: Sequence[str] = ()
) -> Markdown:
    """Rows as a table; adjacent ones that differ only in `merged` columns are one row.

    A column without any cell is left out.
    """
    heads = [head for head, _, _ in columns]
    apart = [at for at, head in enumerate(heads) if head in merged]
    groups: list[list[list[str]]] = []
    for cells in ([write(row) for _, _, write in columns] for row in rows):
        last = groups[-1][0] if groups else []
        alike = [a == b for a, b in zip(last, cells, strict=False)]
        if apart and last and all(same for at, same in enumerate(alike) if at not in apart):
            groups[-1].append(cells)
        else:
            groups.append([cells])
    body = [
        [
            _joined(each) if at in apart else each[0]
            for at, each in enumerate(zip(*group, strict=True))
        ]
        for group in groups
    ]
    sides = [side for _, side, _ in columns]
    filled = [at for at in range(len(heads)) if not body or any(cells[at] for cells in body)]
    header, aligned, *kept = ([line[at] for at in filled] for line in (heads, sides, *body))
    return pipe_table(header, kept, aligned)


def _joined(cells: Sequence[str]) -> str:
    """Cells as one, in order: 004:44, :45; a common value once."""
    if len(set(cells)) == 1:
        return cells[0]
    joined, last = [], ""
    for cell in cells:
        source, colon, line = cell.rpartition(":")
        joined.append(f":{line}" if colon and source == last else cell)
        last = source
    more = len(joined) - MOST_SOURCES
    return ", ".join(joined[:MOST_SOURCES]) + (f" and {more} more" if more > 0 else "")


def source_cell(names: ShortNames, row: Row) -> str:
    more = len(row["places"]) - 1 if row.get("places") else 0
    return f"{markdown_cell(names.short(row['uri']))}:{row['line']}{f' +{more}' if more else ''}"


def nodes_cell(row: Row) -> str:
    nodes, count = number(row["nodes"]), number(row["world_size"])
    text = f"{nodes} ({count})" if nodes and count else nodes or (count and f"({count})")
    return with_mark(text, row, *SIZE)


def split_cell(row: Row) -> str:
    return with_mark(topology_short(row), row, *SPLIT)


def model_cell(row: Row) -> str:
    return with_mark(markdown_cell(row["size"]), row, *MODEL)


def system_cell(names: ShortNames, row: Row) -> str:
    return with_mark(markdown_cell(names.system(row["system"])), row, *DEVICE)


def recompute_cell(row: Row) -> str:
    return with_mark(row["recompute"] or "", row, "recompute") or "not stated"


def marked(text: str, row: Row) -> str:
    return f"{text}^" if row["time_is_marked"] and text else text


def line_list(numbers: Sequence[int]) -> str:
    """`line 8`, `lines 8, 12, 40, ...`: the first three."""
    shown = ", ".join(map(str, numbers[:3])) + (", ..." if len(numbers) > 3 else "")
    return f"line{'s' if len(numbers) > 1 else ''} {shown}"
