"""What a row is a run of: training or something else, of all weights or of adapters alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
# Of `Task` or `Bottleneck` the same words say what was trained, or what took longest.
_PHASE = re.compile(r"\W*(?:[a-z]{1,12} )?(?:phase|mode|stage)\W*|.{0,4}(?:阶段|模式)", re.I)
_KIND = r"(?<![a-z])(?:q?-?lora|dora|peft|adapters?)(?![a-z])"
_ADAPTERS = re.compile(_KIND, re.I)
_BARE = re.compile(rf"\W*{_KIND}\W*", re.I)
_UNUSED = re.compile(
    rf"(?<![a-z])(?:no|not|non|without|w/o)[ -](?:[a-z]{{1,12}} ){{0,2}}{_KIND}|[无不]{_KIND}"
    rf"|{_KIND}\s?[:=]?\s?(?:(?:is|was|are|were) )?"
    r"(?:not (?:used|enabled|applied|trained)|unused|disabled|off|none|no|false)(?![a-z])",
    re.I,
)
_OF_NETWORKS = re.compile(
    r"network|ethernet|infiniband|fabric|connectx|mellanox|(?<![a-z])(?:nic|hca|roce|efa)(?![a-z])",
    re.I,
)
_EITHER = re.compile(r"\bfull\b|\ball weights\b|全参|全量", re.I)


def served(cells: Sequence[str], headings: Sequence[str]) -> str | None:
    """Why a row is one of inference or evaluation, and no run: `Predict` below `Phase`."""
    for cell, heading in zip(cells, headings, strict=False):
        if _SERVED.fullmatch(cell) and _PHASE.fullmatch(heading):
            return f"a row of {cell!r} is no run of training"
    return None


class Adapters:
    """Which rows of a table trained adapters alone: by the row, else by the nearest heading.

    Where other rows of the table say so, a row that does not trained something else.
    """

    def __init__(self, table: Table, headings: Sequence[str]) -> None:
        self._columns = table.header.cells
        rows = (_by_cells(row.cells, self._columns) for row in table.rows)
        self._otherwise = not any(rows) and _by_headings(self._columns, headings)

    def trained(self, cells: Sequence[str]) -> bool:
        """Whether the row of these cells is one of them."""
        own = _by_cells(cells, self._columns)
        return self._otherwise if own is None else own


def _by_headings(columns: Sequence[str], headings: Sequence[str]) -> bool:
    unswitched = " ".join(one for one in columns if not _BARE.fullmatch(one))
    for heading in (unswitched, *reversed(headings)):
        said = _said(heading)
        if said is not None or _EITHER.search(heading):
            return bool(said) and not _EITHER.search(heading)
    return False


def _by_cells(cells: Sequence[str], headings: Sequence[str]) -> bool | None:
    """What a row says itself; below `LoRA` a yes or no is enough."""
    said = [_said(cell) for cell in cells]
    below = zip(cells, headings, strict=False)
    said += [switched(cell) for cell, heading in below if _BARE.fullmatch(heading)]
    return True if True in said else False if False in said else None


def _said(text: str) -> bool | None:
    """Whether a text says that adapters are trained, or that none are; cards are no such ones."""
    rest = _UNUSED.sub(" ", text)
    kinds = {one[0].lower().strip("s") for one in _ADAPTERS.finditer(rest)}
    if _OF_NETWORKS.search(text):
        kinds.discard("adapter")
    return True if kinds else False if rest != text else None


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
