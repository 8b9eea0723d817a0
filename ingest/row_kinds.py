"""What a row is a run of: training or something else, of all weights or of adapters alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..vocabulary.cell import Cell
from ..vocabulary.cell_words import switched
from ..vocabulary.headings import Column
from .grid import Table

# A cell of nothing but these says that its row trained nothing.
_SERVED = re.compile(
    r"\W*(?:predict(?:ion|ing)?|infer(?:ence|ring)?|generat(?:e|ion)|serv(?:e|ing)|decod(?:e|ing)|prefill"
    r"|eval(?:uat(?:e|ion))?|推理|预测|评测|评估)\W*",
    re.I,
)
_ADAPTERS = re.compile(r"(?<![a-z])(?:q?-?lora|dora|peft|adapters?)(?![a-z])", re.I)
_EITHER = re.compile(r"\bfull\b|全参|全量", re.I)


def is_served(cells: Iterable[str]) -> bool:
    """Whether a row says that it is one of inference or evaluation: `Predict` below `Phase`."""
    return any(_SERVED.fullmatch(cell) for cell in cells)


def trains_adapters(cells: Sequence[str], table: Table, headings: Sequence[str]) -> bool:
    """Whether only adapters were trained: by the row, else by the nearest heading that says.

    Where other rows of its table say so, a row that does not trained something else.
    """
    if any(_ADAPTERS.search(cell) for cell in cells):
        return True
    texts = [cell for row in table.rows for cell in row.cells]
    if any(_ADAPTERS.search(text) for text in texts):
        return False
    for heading in (" ".join(table.header.cells), *reversed(headings)):
        if _ADAPTERS.search(heading) or _EITHER.search(heading):
            return not _EITHER.search(heading)
    return False


def words_of(
    headings: Sequence[str], cells: Sequence[Cell], columns: Sequence[Column | None]
) -> str:
    """What cells say under headings that name nothing, and behind the numbers of results.

    A yes says its heading: `bf16` over `T`.
    """
    said = []
    for at, (cell, column) in enumerate(zip(cells, columns, strict=False)):
        if column is None:
            said.append(headings[at] if switched(cell.raw) and at < len(headings) else cell.raw)
        elif column.role == "result":
            said.append(cell.text or "")
    return "; ".join(said)
