"""The csv-table directive of reStructuredText: options, an empty line, rows between commas."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import takewhile

from .grid import Table, TableRow

OPENS = re.compile(r"^\s*\.\.\s+csv-table::")
_OPTION = re.compile(r"^\s+:(?P<name>[a-z-]{1,30}):\s*(?P<value>.*)$")
_DELIMITERS = {",": ",", ";": ";", "|": "|", "tab": "\t"}
_LITERAL = re.compile(r"``([^`]{1,400})``")
_FOOTNOTE = re.compile(r"\s*\[[#*\w-]{1,20}\]_")
_LONGEST = 2000  # lines of one table, letters of one line
_FEWEST = 2  # cells of a row


def csv_table(lines: Sequence[str], at: int) -> Table | None:
    """The table of a directive that opens on a line; None if it has no rows."""
    indent = _indent(lines[at])
    body = list(takewhile(lambda line: _goes_on(line, indent), lines[at + 1 : at + _LONGEST]))
    options = {
        match["name"]: (place, match["value"].strip())
        for place, line in enumerate(body)
        if (match := _OPTION.match(line))
    }
    first = 1 + max((place for place, _ in options.values()), default=-1)
    delimiter = _DELIMITERS.get(options.get("delim", (0, ","))[1])
    if delimiter is None or any(len(line) > _LONGEST or line.count('"') % 2 for line in body):
        return None  # a cell may go on in the next line, which no row of a benchmark does
    rows = [
        TableRow(at + 2 + place, _cells(line, delimiter))
        for place, line in enumerate(body)
        if place >= first and line.strip()
    ]
    if "header" in options:
        place, headings = options["header"]
        rows.insert(0, TableRow(at + 2 + place, _cells(headings, ",")))
    if len(rows) <= 1 or len(rows[0].cells) < _FEWEST:
        return None
    return Table(rows[0], None, ("none",) * len(rows[0].cells), tuple(rows[1:]))


def _goes_on(line: str, indent: int) -> bool:
    """Whether a line belongs to a directive; directives are not nested."""
    return not line.strip() or (_indent(line) > indent and not OPENS.match(line))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _cells(line: str, delimiter: str) -> tuple[str, ...]:
    """The cells of a line, without marks of literals and footnotes."""
    plain = " ".join(line.strip().split("\r"))  # which ends a row of this module
    cells = next(csv.reader([plain], delimiter=delimiter, skipinitialspace=True), [])
    return tuple(_FOOTNOTE.sub("", _LITERAL.sub(r"\1", cell)).strip() for cell in cells)
