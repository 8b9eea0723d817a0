"""Tables with one method per column: `Full | LoRA | LoRA + offload` over the results of each.

No heading names the quantity, but every cell has its unit: `47.14GB GPU / 2.96GB CPU`,
`1200 tok/s`, `OOM`. Each cell becomes a row, with the heading as the name of its method.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of
from ...vocabulary.outcome_words import failure_of
from .grid import Table, TableRow
from .wide_tables import settings_of

_FEWEST = 2  # methods side by side
_BYTES = r"\d{1,6}(?:\.\d{1,4})?\s?[KMGT]i?B"
_ON_DEVICE = r"(?:\s?\(?(?:GPU|VRAM|HBM|device|NPU|HPU)(?: (?:memory|RAM))?\)?)"
_ON_HOST = rf"\s*[/+,;&]\s*{_BYTES}\s?\(?(?:CPU|RAM|host|system|DRAM)(?: (?:memory|RAM))?\)?"
_MEMORY = re.compile(rf"[~≈]?\s?(?P<own>{_BYTES})(?P<device>{_ON_DEVICE})?(?:{_ON_HOST})?", re.I)
_RATE = re.compile(
    r"[~≈]?\s?\d[\d,.]{0,12}[kKM]?\s?(?P<unit>(?:tok\w*|samples?|seq\w*)/s(?:ec)?(?:/GPU)?)"
)
_TIME = re.compile(r"[~≈]?\s?\d[\d,.]{0,12}\s?(?P<unit>(?:m?s|sec)/(?:it|iter|step))")
_MISSING = frozenset(("", "-", "–", "—", "n/a", "na", "/"))
_OF_DEVICES = re.compile(r"\b(?:GPU|memory|VRAM)\b|显存", re.I)
_OTHER_BYTES = re.compile(
    r"\b(?:disk|download|storage|checkpoint size|file size|adapter size|CPU memory|host memory)\b",
    re.I,
)
_NO_METHOD = re.compile(
    r"(?<!\w)(?:total|sum|change|delta|diff\w*|speed-?up|sav(?:ed|ings?)|ratio|notes?|min\w*|max\w*|limit|expected"
    r"|weights?|activations?|optimi[sz]er|parameters?|gradients?|disk|host|CPU|RAM|target)(?:s|\s?\(\w+\))?(?!\w)"
    r"(?! (?:offload|checkpoint|ckpt|accum))",
    re.I,
)


def with_method_a_row(table: Table, texts: Sequence[str]) -> Table:
    """The table with a row for each method; unchanged if its cells have no units.

    `texts`: the texts above, the nearest first.
    """
    first, *heads = table.header.cells or ("",)
    named = column_of(first)
    if len(heads) < _FEWEST or named is None or named.role == "result":
        return table
    if not all(heads) or any(_is_known(head) for head in heads):
        return table
    rows = [row for row in table.rows if not row.is_filler]
    if any(len(row.cells) != len(heads) + 1 for row in rows):
        return table
    read = [[_quantity(cell) for cell in row.cells[1:]] for row in rows]
    kinds = {one[0] for row in read for one in row if one and one[0]}
    if len(kinds) != 1 or not all(one for row in read for one in row):
        return table
    kind = kinds.pop()
    # OOM, or a cell, shows that bytes are of devices; else the text has to.
    shown = any(_names_device(cell) for row in rows for cell in row.cells[1:])
    if kind == "Memory" and not (shown or _is_of_devices(texts)):
        return table
    found = tuple(
        TableRow(row.line, (row.cells[0], head, one[1]))
        for row, cells in zip(rows, read, strict=True)
        for head, one in zip(heads, cells, strict=True)
        if one and one[1]
    )
    header = TableRow(table.header.line, (first, "Method", kind))
    return replace(table, header=header, alignment=("none",) * len(header.cells), rows=found)


def _names_device(cell: str) -> bool:
    match = _MEMORY.fullmatch(cell.strip(" *`_"))
    return bool(failure_of(cell) or (match and match["device"]))


def _is_known(heading: str) -> bool:
    """Whether a heading is a quantity, a size or a device, and so no method."""
    column = column_of(heading)
    if column and column.role in ("result", "batch", "remark"):
        return True
    kinds = {kind for kind, _ in settings_of(heading)[0]}
    return bool(kinds & {"Size", "GPU", "GPUs", "Seq len"}) or bool(_NO_METHOD.search(heading))


def _quantity(cell: str) -> tuple[str, str] | None:
    """The quantity of a cell and its text; empty for a missing value."""
    text = cell.strip(" *`_")
    if text.casefold() in _MISSING:
        return "", ""
    if failure_of(text):
        return "", text
    if match := _MEMORY.fullmatch(text):
        return "Memory", match["own"]
    for pattern, name in ((_RATE, "Throughput"), (_TIME, "Time")):
        if match := pattern.fullmatch(text):
            return f"{name} ({match['unit']})", text
    return None


def _is_of_devices(texts: Sequence[str]) -> bool:
    """Whether the nearest text about bytes is about memory of devices."""
    for text in texts:
        if _OTHER_BYTES.search(text):
            return False
        if _OF_DEVICES.search(text):
            return True
    return False
