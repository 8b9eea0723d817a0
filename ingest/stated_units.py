"""The unit of a column that a line below its table states: `Speed is in tokens/s/GPU`."""

from __future__ import annotations

import re
from dataclasses import replace

from ..vocabulary.headings import column_of
from .grid import Table, TableRow

_STATES = re.compile(
    r"(?<!\w)(?P<what>\w{1,20}?)"
    r"(?:\s?的?单位[是为：:]|\s(?:is|are)\s(?:(?:given|measured|reported)\s)?in\s)"
    r"[\s`*]{0,4}(?P<unit>(?:tok(?:en)?s?|samples?|seq(?:uence)?s?)(?:\s?/\s?[A-Za-z]{1,12}){1,2})"
    r"(?![\w/])",
    re.I,
)


def with_stated_unit(table: Table, text: str) -> Table:
    """The table with the unit in the heading that the text names; the same one where it has none.

    Only headings of a rate that name no quantity take one: `Speed`, `Throughput`.
    """
    found = _STATES.search(text)
    named = column_of(found["what"]) if found else None
    if found is None or named is None or named.type != "throughput":
        return table
    headings = [
        f"{heading} ({found['unit']})" if column_of(heading) == named else heading
        for heading in table.header.cells
    ]
    if any(column_of(one) is None and column_of(old) for one, old in _pairs(headings, table)):
        return table  # a unit of nothing that we know
    return replace(table, header=TableRow(table.header.line, tuple(headings)))


def _pairs(headings: list[str], table: Table) -> list[tuple[str, str]]:
    return list(zip(headings, table.header.cells, strict=True))
