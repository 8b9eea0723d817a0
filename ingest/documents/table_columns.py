"""The columns of a table that its headings name, as far as the cells below fit them."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.cell import Cell, in_tokens
from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import Column, column_of, columns_of
from ...vocabulary.headings import columns as known_columns
from .fields_in_cells import share_of_devices
from .grid import Table
from .sections import FoundTable

_COUNTED = {"node": "nodes", "device": "devices"}
_MACHINES = re.compile(r"instance|node|machine|system|host|server|platform", re.I)
# 4090, 910 and 7900 are devices.
_WHOLE = re.compile(r"(?!(?:[1-7]0[5-9]0|16[5-9]0|[5-7]900|[4568]000|910)$)[1-9]\d{0,5}")
# Numbers with a unit that nothing but a result of training has: `1.17s/it`, `20.4K tok/s/GPU`.
_TOLD = re.compile(
    r"[~≈]?\s?\d[\d,]*(?:\.\d+)?\s?[kKM]?\s?(?P<unit>m?s/(?:it|iter|step)|(?:it|iter)/s"
    r"|tok(?:en)?s?/s(?:ec)?/(?:GPU|device|chip|NPU)|TFLOPS?/(?:s/)?GPU)"
)
# Columns of other moments, phases and runs.
_NO_MEAN = re.compile(
    r"\b(?:val\w*|eval\w*|infer\w*|decod\w*|gen\w*|prefill|rollout|first|warm-?up|min\w*|max\w*|p\d\d|std\w*"
    r"|targets?|expected|vs|before|old|previous|baseline|reference)\b|推理|预热",
    re.I,
)
_HALF = 0.5  # of its cells make a column of devices
_TOKENS = 2**17  # a batch of fewer may be of sequences
_OF_A_STEP = re.compile(r"\W{0,4}(?:actor_|policy_)?train_time\W{0,4}")  # as verl and slime log it
_IN_MINUTES = re.compile(r"\btime[ -]to[ -](?:train|solution)\b|\bTT-?T", re.I)
_IN_SECONDS = re.compile(r"\btrain_runtime\b", re.I)
_TIME_UNIT = re.compile(
    r"[(\[_ ](?:m?s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?)[)\]]?\W{0,4}$", re.I
)
# Devices with their number, under `GPUs`: `BI-V150 x8`, `8 x H100`.
_NAMED = re.compile(
    r"[A-Za-z][\w-]{1,20}(?: [\w-]{1,20}){0,3} ?[x×*] ?\d{1,5}|\d{1,5} ?[x×*] ?[A-Za-z][\w -]{1,40}"
)
_CAPACITY = re.compile(
    r"\W{0,4}\d[\d.,]{0,12}\s?(?:bytes|[kmgt]i?b)\W{0,4}", re.I
)  # of a file: `~50 MB`
_NO_COUNT = re.compile(r"[-–—]*|\d+(?::\d+)+|TB[AD]", re.I)  # `1:1:4:2`: one share for each model


def columns_in(found_table: FoundTable) -> list[Column | None]:
    """The column of each heading, None if it is unknown; of a table without runs all are."""
    headings = found_table.table.header.cells
    if found_table.number is None:
        return [None] * len(headings)
    columns = [
        None if column and _of_another_kind(found_table.table, at, column) else column
        for at, column in enumerate(columns_of(headings))
    ]
    columns = [_in_its_unit(*both) for both in zip(columns, headings, strict=True)]
    named = {column.name for column in columns if column}
    for at, column in enumerate(columns):
        told = column is None and _told_by_units(found_table.table, at)
        if told and told.name not in named:
            columns[at] = told
            named.add(told.name)
    for at, column in enumerate(columns):
        named_too = (
            column and column.name == "devices" and _all_are(_NAMED, _cells(found_table.table, at))
        )
        if named_too and "device" not in named:
            columns[at] = known_columns()["device"]
    for at, column in enumerate(columns):
        if column and column.name == "device" and _counts(found_table.table, at):
            counted = _COUNTED["node" if _MACHINES.search(headings[at]) else "device"]
            columns[at] = known_columns()[counted] if counted not in named else None
    return columns


def _in_its_unit(column: Column | None, heading: str) -> Column | None:
    """A time to train in the unit of its bare numbers: minutes as MLPerf counts, seconds as
    Hugging Face's `train_runtime`; none otherwise, unless the heading has one."""
    if column is not None and _OF_A_STEP.fullmatch(heading):
        return None
    if column is None or column.name != "train_time" or _TIME_UNIT.search(heading):
        return column
    if _IN_SECONDS.search(heading):
        return replace(column, unit="s")
    return column if _IN_MINUTES.search(heading) else replace(column, unit=None)


def _told_by_units(table: Table, at: int) -> Column | None:
    """The result that all cells of a column have by their unit, whatever its heading says."""
    if _NO_MEAN.search(table.header.cells[at]):
        return None
    filled = [cell for cell in _cells(table, at) if re.search(r"\d", cell)]
    units = {match["unit"] if (match := _TOLD.fullmatch(cell)) else "" for cell in filled}
    unit = units.pop() if len(units) == 1 else ""
    return column_of(unit) if unit and len(filled) > 1 else None


def _is_of_tokens(cell: Cell) -> bool:
    """Whether a cell under a batch counts tokens by its unit, or as no step has such sequences."""
    many = (cell.value or 0) >= _TOKENS and (cell.value or 0) % 1024 == 0
    return in_tokens(cell) or (cell.kind == "number" and many)


def _counts(table: Table, at: int) -> bool:
    """Whether a column headed by a device states counts: 8, 16 and 32 under `GPU`."""
    filled = [cell for cell in _cells(table, at) if not _NO_COUNT.fullmatch(cell)]
    counted = bool(filled) and all(_WHOLE.fullmatch(cell) for cell in filled)
    # 1, 2, 3: the first device, the second, the third
    return counted and (len(filled) < 3 or filled != [str(n) for n in range(1, len(filled) + 1)])


def _of_another_kind(table: Table, at: int, column: Column) -> bool:
    """Whether all cells of a column are of another kind: words for sizes, tokens for sequences,
    files for models, names of instances next to those of their devices."""
    if column.name == "size":
        return _all_are(_CAPACITY, _cells(table, at))
    if column.name == "device":
        return share_of_devices(table, at) < _HALF and any(
            other is None and share_of_devices(table, place) >= _HALF
            for place, other in enumerate(columns_of(table.header.cells))
        )
    if not column.worded and column.role != "batch":
        return False
    cells = [parse_cell(row.cells[at], column) for row in table.rows if at < len(row.cells)]
    filled = [cell for cell in cells if cell.kind != "missing"]
    if column.role == "batch" and filled and all(map(_is_of_tokens, filled)):
        return True
    return column.worded and bool(filled) and all(cell.value is None for cell in filled)


def _cells(table: Table, at: int) -> list[str]:
    return [row.cells[at].strip("*` ") for row in table.rows if at < len(row.cells)]


def _all_are(pattern: re.Pattern[str], cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell.strip("-–— ")]
    return bool(filled) and all(map(pattern.fullmatch, filled))
