"""Units and scopes stated below a table: `Speed is in tokens/s/GPU`, `BS is per device`."""

from __future__ import annotations

import re
from dataclasses import replace

from ...vocabulary.headings import column_of
from .grid import Table, TableRow

_STATES = re.compile(
    r"(?<!\w)(?P<what>\w{1,20}?)"
    r"(?:\s?的?单位[是为：:]|\s(?:(?:is|are)\s(?:(?:given|measured|reported)\s)?)?in\s)"
    r"[\s`*]{0,4}(?P<unit>(?:tok(?:en)?s?|samples?|seq(?:uence)?s?)(?:\s?/\s?[A-Za-z]{1,12}){1,2})"
    r"(?![\w/])",
    re.I,
)
_DEVICE = r"(?:devices?|gpus?|npus?|hpus?|cards?|accelerators?|chips?|workers?|ranks?)"
_BATCH = re.compile(r"\W*(?:batch(?:[ _-]?size)?|bsz?|批大小|批次大小|批量大小)\W*", re.I)
_BATCH_IS = re.compile(
    r"(?<![\w-])[*_`\"“(]{0,3}(?:bsz?|batch[ _-]?sizes?|批大小|批次大小|批量大小)[*_`\"”)]{0,3}\s?"
    r"(?:=|:|：|[是为指]|\b(?:is|are|means|denotes|refers to|stands for)\b)\s?"
    r"(?P<what>[^.;。；\d]{1,80})",
    re.I,
)
_SCOPES = (
    (re.compile(rf"\bper[ -]{_DEVICE}\b|\b(?:each|every|one|a single|a) {_DEVICE}\b|micro"
                r"|每卡|单卡|每张", re.I),
     "Batch size (per GPU)"),
    (re.compile(r"\b(?:global|total|effective|all (?:gpus|devices))\b|全局|总", re.I),
     "Batch size (global)"),
)  # fmt: skip


def as_stated(table: Table, text: str) -> Table:
    """The table with the units and scopes that a line below it states."""
    return with_stated_batch(with_stated_unit(table, text), text)


def with_stated_batch(table: Table, text: str) -> Table:
    """The table with the heading of a bare batch as the text explains it.

    `BS is the batch size per device`, `Batch size: of all GPUs`; two meanings cancel each other.
    """
    name = batch_stated(text)
    return with_batch(table, name) if name else table


def batch_stated(text: str) -> str | None:
    """The heading that a bare batch amounts to, as a line explains it: `batch size is per GPU`."""
    match = _BATCH_IS.search(text)
    names = [name for pattern, name in _SCOPES if match and pattern.search(match["what"])]
    return names[0] if len(names) == 1 else None


def with_batch(table: Table, name: str) -> Table:
    """The table with this heading over its bare batch, if it has one."""
    headings = tuple(name if _BATCH.fullmatch(cell) else cell for cell in table.header.cells)
    if headings.count(name) != 1:
        return table
    return replace(table, header=TableRow(table.header.line, headings))


def with_stated_unit(table: Table, text: str) -> Table:
    """The table with the unit that the text states in the heading; unchanged if it states none.

    Only headings of a rate without a quantity get one: `Speed`, `Throughput`.
    """
    match = _STATES.search(text)
    named = column_of(match["what"]) if match else None
    if match is None or named is None or named.type != "throughput":
        return table
    headings = [
        f"{heading} ({match['unit']})" if column_of(heading) == named else heading
        for heading in table.header.cells
    ]
    if any(column_of(one) is None and column_of(old) for one, old in _pairs(headings, table)):
        return table  # an unknown unit
    return replace(table, header=TableRow(table.header.line, tuple(headings)))


def _pairs(headings: list[str], table: Table) -> list[tuple[str, str]]:
    return list(zip(headings, table.header.cells, strict=True))
