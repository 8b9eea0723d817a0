"""A column for each framework: `| | Megatron-LM | Ours |` over tokens/s; each becomes a row.

One of the names has to be that of a framework, or all of them words of methods; the text above, or
each heading, names the quantity.
Columns that compare the others are no runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of
from ...vocabulary.sizes import parse_size
from .frameworks import frameworks_in, trainers_in
from .grid import Table, TableRow

_LONGEST = 60  # characters of a name
_FEWEST = 2  # names side by side
_BOTH = re.compile(
    r"(?P<time>[~≈]?\s?\d[\d,]{0,12}(?:\.\d{1,6})?)\s?(?P<unit>m?s|sec)\s?/\s"
    r"(?P<rate>[~≈]?\s?\d[\d,]{0,12}(?:\.\d{1,6})?)\s?(?P<what>TFLOPs?(?:/s)?(?:/GPU)?|tok\w{0,4}/s(?:/GPU)?)",
    re.I,
)
_NUMBER = re.compile(r"[*`_~≈]*\d[\d,]*(?:\.\d+)?\s?[kKM%]?[*`_]*")
_MISSING = re.compile(r"[\s*`_–—/-]*|n/?a|oom|out of memory|x|✗|fail(?:ed|ure|s)?", re.I)
_COMPARED = re.compile(
    r"(?<!\w)(?:change|delta|diff\w*|speed-?ups?|improve\w*|gains?|ratio|relative|reduction|savings?|vs\.?"
    r"|overhead|expected|limit|ideal|theoretical|peak|notes?|comments?|scaling|efficiency|loss|acc\w*)(?!\w)"
    r"|Δ|%|提升|加速比?",
    re.I,
)
# Methods side by side: `DP-1 | Sharded PS DP-2`
_METHOD = re.compile(
    r"(?<![A-Za-z])(?:[DTPCES]P|DDP|FSDP2?|HSDP|ZeRO|PS|shard\w*|offload\w*|Q?LoRA|eager|compiled?"
    r"|flash\w*|baseline|ours|pipeline|1F1B|interleaved)(?![A-Za-z])",
    re.I,
)
_NAME_BEHIND = re.compile(r"(?P<quantity>[^\s()][^()]{0,40})\s\((?P<name>[^()]{1,40})\)")
_OURS = re.compile(
    r"\W*(?:ours?(?:\s\w+)?|baseline|reference|vanilla|naive|default|proposed"
    r"|this (?:work|repo\w*))\W*",
    re.I,
)


def with_framework_a_row(table: Table, quantity: str, unnamed: str) -> Table:
    """The table with a row for each framework; unchanged if its headings name none.

    `quantity`: the heading that the text above gives its numbers, `unnamed` where it gives none.
    """
    heads = table.header.cells
    names, heading = _names_of(table, heads[1:], quantity if quantity != unnamed else "")
    if len(names) < _FEWEST or not heading:
        return table
    if all(frameworks_in(name) == [name] for name in names.values()):
        return table  # all are known by name: a setting as any other
    trainers = any(map(trainers_in, names.values()))
    if not (trainers or all(map(_METHOD.search, names.values()))):
        return table
    shared = [at for at in range(len(heads)) if at not in names]
    kept = [at for at in shared if not (_COMPARED.search(heads[at]) or _is_memory(heads[at]))]
    if any((column := column_of(heads[at])) and column.role == "result" for at in kept):
        return table
    header = (*(_shared(table, at) for at in kept), "Framework" if trainers else "Method", heading)
    rows = tuple(
        TableRow(row.line, (*(_cell(row, at) for at in kept), name, _cell(row, place)))
        for row in table.rows
        if not row.is_filler
        for place, name in names.items()
        if not _MISSING.fullmatch(_cell(row, place).strip()) or _cell(row, place).strip()
    )
    head = TableRow(table.header.line, header)
    return replace(table, header=head, alignment=("none",) * len(header), rows=rows, groups=())


def with_both_a_row(table: Table) -> Table:
    """The table with a row for each method whose cells have a time and a rate.

    `84s / 1,471 TFLOP/s`; unchanged if fewer than two columns have both. Other columns compare.
    """
    rows = [row for row in table.rows if not row.is_filler]
    found = {
        at: cells
        for at in range(1, len(table.header.cells))
        if all(cells := [_BOTH.fullmatch(_cell(row, at).strip(" *`_")) for row in rows])
    }
    units = {(cell["unit"], cell["what"]) for cells in found.values() for cell in cells if cell}
    if len(found) < _FEWEST or len(units) != 1:
        return table
    unit, what = units.pop()
    header = (table.header.cells[0], "Method", f"Step time ({unit})", what)
    long = tuple(
        TableRow(row.line, (_cell(row, 0), table.header.cells[at], one["time"], one["rate"]))
        for number, row in enumerate(rows)
        for at, cells in found.items()
        if (one := cells[number])
    )
    head = TableRow(table.header.line, header)
    return replace(table, header=head, alignment=("none",) * len(header), rows=long, groups=())


def is_of_authors(name: str) -> bool:
    """Whether a name is no framework's but says whose it is: `Ours`, `Baseline`."""
    return bool(_OURS.fullmatch(name))


def _names_of(table: Table, heads: Sequence[str], quantity: str) -> tuple[dict[int, str], str]:
    """The names of the columns of numbers by place, and the heading of their quantity."""
    names: dict[int, str] = {}
    quantities = set()
    for at, head in enumerate(heads, 1):
        text = head.strip(" *`_")
        if not text or _COMPARED.search(text) or column_of(text) or not _is_measured(table, at):
            continue
        name, own = _apart(text)
        if len(name) <= _LONGEST:
            names[at] = name
            quantities.add(own or quantity)
    return (names, quantities.pop()) if len(quantities) == 1 else ({}, "")


def _apart(text: str) -> tuple[str, str]:
    """The name and the quantity in a heading: `Ours (tokens/s)`, `tok/s (eager)`."""
    if behind := _NAME_BEHIND.fullmatch(text):
        column = column_of(behind["quantity"])
        if column and column.role == "result":
            return behind["name"], behind["quantity"]
    words = text.split()
    for at in range(1, len(words)):
        rest = " ".join(words[at:])
        column = column_of(rest.strip("()[],:")) or column_of(rest)
        if column and column.role == "result":
            return " ".join(words[:at]).strip(" :,-("), rest.strip("()[],:")
    return text, ""


def _is_measured(table: Table, at: int) -> bool:
    cells = [_cell(row, at).strip() for row in table.rows if not row.is_filler]
    numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells)
    return numbers > 0 and all(
        _NUMBER.fullmatch(cell) or _MISSING.fullmatch(cell) for cell in cells
    )


def _is_memory(heading: str) -> bool:
    """Whether a heading is of memory: of which method is not stated."""
    column = column_of(heading)
    return column is not None and column.name == "mem"


def _shared(table: Table, at: int) -> str:
    """The heading of another column; a corner without words over models is that of the model."""
    head = table.header.cells[at]
    if at or head.strip(" *`_") not in ("", "#"):
        return head
    cells = [_cell(row, 0) for row in table.rows if not row.is_filler]
    return "Model" if cells and all(parse_size(cell) for cell in cells) else head


def _cell(row: TableRow, at: int) -> str:
    return row.cells[at] if at < len(row.cells) else ""
