"""The kind of run of a row: training or not, of all weights or of adapters alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.cell import Cell
from ...vocabulary.cell_words import switched
from ...vocabulary.headings import Column
from .grid import Table

# A cell of nothing but these marks a row without training.
_SERVED = re.compile(
    r"\W*(?:[a-z]{1,12}[ _-])?(?:predict(?:ion|ing)?|infer(?:ence|ring)?|generat(?:e|ion)"
    r"|serv(?:e|ing)|decod(?:e|ing)|prefill|eval(?:uat(?:e|ion))?|推理|预测|评测|评估)\W*",
    re.I,
)
# Under `Task` or `Bottleneck` the same words mean what was trained, or what took longest.
_INFERS = re.compile(r"\b(?:inference|serving)\b|推理", re.I)
_TRAINS = re.compile(r"train|tun(?:e|ing)|训练|微调", re.I)
_PHASE = re.compile(
    r"\W*(?:[a-z]{1,12} )?(?:phase|mode|stage|workload)\W*|.{0,4}(?:阶段|模式)", re.I
)
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


# A row of ratios of the rows above: `**Speedup** | 3.08x | 3.08x faster`.
_COMPARES = re.compile(
    r"\W*(?:(?:total|overall|net|relative) )?(?:speed-?ups?|slow-?downs?|improvements?|gains?"
    r"|deltas?|Δ|diff(?:erence)?s?|changes?|ratios?|reductions?|savings?|overhead"
    r"|加速比|总?计?提升|变化|差[异值])\W*",
    re.I,
)
# Below `vs VR200` a cell names what the row is compared with.
_OF_OTHERS = re.compile(
    r"^\W{0,4}(?:vs\.?|versus|relative to|compared (?:to|with))\s|\badvantage\b", re.I
)
_RATIO = re.compile(r"\W*\d[\d.,]*\s?(?:[x×%]|倍)(?:\s?[a-z]+)?\W*|[\W_]*|n/?a", re.I)
_DIFFERENCE = re.compile(
    r"[*_`~ ]*[+−–-]\s?\d[\d.,]*\s?(?:[a-z%]{1,6}(?:/[a-z]{1,6}){0,2})?[*_` ]*", re.I
)


# The mean of the rows above: `| **Mean** | 2.02 |`, `| | | mean | 2.02 |`.
_SUMS_UP = re.compile(
    r"[\W_]*(?:(?:grand|overall) )?(?:means?|avg\.?|averages?|medians?|std\.?(?: ?dev\.?)?"
    r"|mean ?± ?std|平均值?|均值|中位数)"
    r"(?: of \w+(?: \w+)?)?[\W_]*",
    re.I,
)
_FEW = 2  # rows that a mean sums up


def sums_up(rows: Sequence[Sequence[str]]) -> frozenset[int]:
    """The places of rows that sum up others; none where most rows do, as statistics of one run."""
    found = [at for at, cells in enumerate(rows) if _is_sum(cells)]
    return frozenset(found) if len(rows) - len(found) >= max(_FEW, len(found)) else frozenset()


def _is_sum(cells: Sequence[str]) -> bool:
    """Whether nothing but empty cells is before the name of a statistic."""
    first = next((cell for cell in cells if cell.strip(" *_`-–—")), "")
    return bool(_SUMS_UP.fullmatch(first))


def no_run(cells: Sequence[str], headings: Sequence[str]) -> str | None:
    """Why a row is no run: it is of inference (`Predict` below `Phase`), or compares others."""
    if cells and _COMPARES.fullmatch(cells[0]) and all(map(_compares, cells[1:])):
        return f"a row of {cells[0].strip(' *_`')!r} compares others"
    for cell, heading in zip(cells, headings, strict=False):
        served = _SERVED.fullmatch(cell) or (_INFERS.search(cell) and not _TRAINS.search(cell))
        if served and _PHASE.fullmatch(heading):
            return f"a row of {cell!r} is no run of training"
    return None


def _compares(cell: str) -> bool:
    """Whether a cell is a ratio (`3.08x`, `+1.2%`), a difference with its sign, or nothing."""
    return bool(_RATIO.fullmatch(cell) or _DIFFERENCE.fullmatch(cell))


def are_rounded(cells: Sequence[Cell], columns: Sequence[Column | None]) -> bool:
    """Whether every result of a row is about its number: `~50k`."""
    results = [
        cell.text == "about"
        for cell, column in zip(cells, columns, strict=False)
        if column and column.role == "result" and cell.kind == "number"
    ]
    return bool(results) and all(results)


class Adapters:
    """The rows of a table that trained adapters alone: by the row, else by the nearest heading.

    If other rows of the table name adapters, a row that does not trained something else.
    """

    def __init__(self, table: Table, headings: Sequence[str]) -> None:
        self._columns = table.header.cells
        rows = (_by_cells(row.cells, self._columns) for row in table.rows)
        self._otherwise = not any(rows) and _by_headings(self._columns, headings)

    def trained(self, cells: Sequence[str]) -> bool:
        """Whether the row of these cells trained adapters alone."""
        own = _by_cells(cells, self._columns)
        return self._otherwise if own is None else own


def _by_headings(columns: Sequence[str], headings: Sequence[str]) -> bool:
    unswitched = " ".join(column for column in columns if not _BARE.fullmatch(column))
    for heading in (unswitched, *reversed(headings)):
        named = _adapters_in(heading)
        if named is not None or _EITHER.search(heading):
            return bool(named) and not _EITHER.search(heading)
    return False


def _by_cells(cells: Sequence[str], headings: Sequence[str]) -> bool | None:
    """Whether the cells of a row name adapters; below `LoRA` a yes or no is enough."""
    named = [_adapters_in(cell) for cell in cells]
    below = zip(cells, headings, strict=False)
    named += [switched(cell) for cell, heading in below if _BARE.fullmatch(heading)]
    return True if True in named else False if False in named else None


def _adapters_in(text: str) -> bool | None:
    """Whether a text names adapters as trained, or as unused; network adapters do not count."""
    rest = _UNUSED.sub(" ", text)
    kinds = {match[0].lower().strip("s") for match in _ADAPTERS.finditer(rest)}
    if _OF_NETWORKS.search(text):
        kinds.discard("adapter")
    return True if kinds else False if rest != text else None


def words_of(
    headings: Sequence[str], cells: Sequence[Cell], columns: Sequence[Column | None]
) -> str:
    """The words of cells under unknown headings, and those after the numbers of results.

    A yes stands for its heading: `bf16` over `T`.
    """
    words = []
    for at, (cell, column) in enumerate(zip(cells, columns, strict=False)):
        if at < len(headings) and _OF_OTHERS.search(headings[at]):
            continue
        if column is None:
            words.append(headings[at] if switched(cell.raw) and at < len(headings) else cell.raw)
        elif column.role == "result":
            words.append(cell.text or "")
    return "; ".join(words)
