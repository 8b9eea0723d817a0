"""Tables of other markups within a document: HTML, reStructuredText and LaTeX.

Each reader gets the lines and the place where a table may begin, and gives the table or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise, takewhile

from ...vocabulary.headings import columns_of
from .csv_directive import OPENS, csv_table
from .grid import Table, TableRow
from .pasted_tables import tabbed_table

_LONGEST = 2000  # lines of one table: what is not closed by then is none
_WIDEST = 100  # columns that one cell of HTML may span
_GRID = re.compile(r"^\s*\+(?:[-=]++\+)++\s*$")
_SIMPLE = re.compile(r"^\s*=++(?: ++=++)++\s*$")
_ITEM = re.compile(r"^\s*\*\s+-\s*(.*)$")
_FURTHER = re.compile(r"^\s+-(?:\s|$)")
_FEWEST = 2  # cells of a row
_TABULAR = re.compile(r"\\begin\{(tabularx?\*?|longtable)\}")
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|addlinespace(?:\[[^\]]*\])?|"
    r"(?:cmidrule(?:\([a-z]*\))?|cline)\{[^}]*\})"
)
_MACRO = re.compile(r"\\(?:text\w*|math\w*|emph|underline|num|makecell|mbox)\{([^{}]*)\}")
_COLUMNS = re.compile(r"\\multi(?:column|row)\{[^{}]*\}\{[^{}]*\}\{([^{}]*)\}")
_SPAN = re.compile(r"\\multicolumn\{([1-9]\d?)\}")
_AMPERSAND = re.compile(r"(?<!\\)&")
_SKIP = re.compile(r"^\s*\[[^\]]*\]")  # the space after a row: `\\[2pt]`
_LAYERS = 3  # of macros around one another in a cell
_SIGNS = {r"\%": "%", r"\_": "_", r"\#": "#", r"\times": "×", r"\,": "", "{,}": ",", "~": " ",
          r"\sim": "~", r"\pm": "±", "$": "", r"\$": "$"}  # fmt: skip


def drawn_table(lines: Sequence[str], at: int) -> Table | None:
    """The table that begins on a line, in any of these markups."""
    line = lines[at]
    if "<table" in line.lower():
        return _html(lines, at)
    if _GRID.match(line):  # within a table that is none, each line of it would be a beginning
        return None if at and lines[at - 1].lstrip()[:1] in ("|", "+") else _grid(lines, at)
    if _SIMPLE.match(line):
        return _simple(lines, at)
    if _ITEM.match(line):
        return _list_table(lines, at)
    if "\t" in line:
        return tabbed_table(lines, at)
    if OPENS.match(line):
        return csv_table(lines, at)
    return _latex(lines, at) if _TABULAR.search(line) else None


def _table(rows: Sequence[TableRow], headers: int, end: int) -> Table | None:
    """A table of which the first rows are headings: of several a column's are put together.

    `end`: its last line, so that nothing of it is read as text.
    """
    if len(rows) <= headers:
        return None
    width = max(len(row.cells) for row in rows)
    above = [[*row.cells, *[""] * (width - len(row.cells))] for row in rows[:headers]]
    parts = [list(dict.fromkeys(filter(None, one))) for one in zip(*above, strict=True)]
    header = TableRow(rows[headers - 1].line, tuple(map(" ".join, parts)))
    groups = tuple(" ".join(part[:-1]) for part in parts)
    return Table(header, None, ("none",) * width, tuple(rows[headers:]), groups, end)


class _Cells(HTMLParser):
    """The rows of one HTML table; a cell that spans rows or columns is repeated in each."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most  # cells that may follow: spans of spans fill a memory in a few bytes
        self.rows: list[tuple[int, list[str]]] = []
        self.lines: list[list[int]] = []  # of the cells of each row
        self._line = 0
        self.headings: list[bool] = []  # of each row, whether all its cells are headings
        self._text: list[str] | None = None
        self._spans: dict[int, tuple[int, str]] = {}
        self._span = 1, 1
        self.depth = 1  # rows of headings, where one of the first row spans columns
        self._tallest = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._close()
            self._below()
            self.rows.append((self.getpos()[0], []))
            self.lines.append([])
            self.headings.append(True)
        elif tag in ("td", "th") and self.rows:
            self._close()
            self._text, self._line = [], self.getpos()[0]
            self.headings[-1] &= tag == "th"
            spans = dict(attrs)
            self._span = _count(spans.get("colspan")), _count(spans.get("rowspan"))
            if len(self.rows) == 1:
                self._tallest = max(self._tallest, self._span[1])
                self.depth = self._tallest if self.depth > 1 or self._span[0] > 1 else 1
        elif tag == "br" and self._text is not None:
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._close()

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def finish(self) -> None:
        self.close()
        self._close()
        self._below()

    def _close(self) -> None:
        if self._text is None:
            return
        text, self._text = " ".join("".join(self._text).split()), None
        self._below()
        cells = self.rows[-1][1]
        for _ in range(self._span[0]):
            if self._span[1] > 1:
                self._spans[len(cells)] = self._span[1] - 1, text
            self._add(text, self._line)

    def _below(self) -> None:
        """Cells that reach down from above, where it is their turn."""
        cells = self.rows[-1][1] if self.rows else []
        while left := self._spans.pop(len(cells), None):
            count, text = left
            if count > 1:
                self._spans[len(cells)] = count - 1, text
            self._add(text, self.rows[-1][0])

    def _add(self, text: str, line: int) -> None:
        self.left -= 1
        if self.left >= 0:
            self.rows[-1][1].append(text)
            self.lines[-1].append(line)


def _count(text: str | None) -> int:
    return min(int(text), _WIDEST) if text and text.isdigit() and int(text) else 1


def _closed(
    lines: Sequence[str], at: int, ends: Callable[[str], bool], begins: Callable[[str], object]
) -> Sequence[str]:
    """The lines of a table to the one that closes it; none if another begins before."""
    for place in range(at, min(len(lines), at + _LONGEST)):
        if ends(lines[place]):
            return lines[at : place + 1]
        if place > at and begins(lines[place]):
            return ()
    return ()


def _html(lines: Sequence[str], at: int) -> Table | None:
    # What holds another lays out a page: the inner one is read, in its turn.
    span = _closed(lines, at, lambda line: "</table" in line.lower(),
                   lambda line: "<table" in line.lower())  # fmt: skip
    if not span:
        return None
    text = "\n".join(span)
    reader = _Cells(len(text))
    reader.feed(text)
    reader.finish()
    if reader.left < 0:  # more cells than characters
        return None
    rows = [
        TableRow(at + line, tuple(cells), tuple(at + line for line in lines))
        for (line, cells), lines in zip(reader.rows, reader.lines, strict=True)
        if any(cells)
    ]
    kinds = [
        kind for kind, (_, cells) in zip(reader.headings, reader.rows, strict=True) if any(cells)
    ]
    headers = max(reader.depth, sum(1 for _ in takewhile(bool, kinds)))
    return _table(rows, headers, at + len(span))


def _grid(lines: Sequence[str], at: int) -> Table | None:
    """A grid table of reStructuredText; one whose cells span others is not read."""
    edges = [n for n, letter in enumerate(lines[at].rstrip()) if letter == "+"]
    rows: list[TableRow] = []
    pending: list[tuple[str, ...]] = []
    headers = 1
    first, end = at + 2, at + 1
    for place in range(at + 1, min(len(lines), at + _LONGEST)):
        line = lines[place].rstrip()
        if _GRID.match(line):
            end = place + 1
            if [n for n, letter in enumerate(line) if letter == "+"] != edges:
                return None
            rows += [TableRow(first, _joined(pending))] if pending else []
            pending, first = [], place + 2
            headers = len(rows) if "=" in line else headers
        elif line.lstrip().startswith("|"):
            if any(line[edge : edge + 1] != "|" for edge in edges):
                return None
            pending.append(tuple(line[a + 1 : b].strip() for a, b in pairwise(edges)))
        else:
            break
    return _table(rows, headers, end)


def _simple(lines: Sequence[str], at: int) -> Table | None:
    """A simple table of reStructuredText: columns under `=`, closed by a third such line."""
    starts = [match.start() for match in re.finditer(r"=++", lines[at])]
    ends = [*starts[1:], None]
    rows: list[TableRow] = []
    borders = headers = end = 0
    for place in range(at + 1, min(len(lines), at + _LONGEST)):
        line = lines[place]
        if _SIMPLE.match(line):
            borders += 1
            headers = headers or len(rows)
            end = place + 1
            if borders == 2:
                break
        elif line.strip() and not re.fullmatch(r"[\s-]+", line):
            cells = tuple(line[a:b].strip() for a, b in zip(starts, ends, strict=True))
            # A line without a first cell continues the row above; headings are joined.
            if not cells[0] and rows and borders:
                rows[-1] = TableRow(rows[-1].line, _joined([rows[-1].cells, cells]))
            else:
                rows.append(TableRow(place + 1, cells))
    return _table(rows, headers, end) if borders == 2 else None


def _list_table(lines: Sequence[str], at: int) -> Table | None:
    """A list-table of reStructuredText or MyST: `* - ` begins a row, `- ` each further cell."""
    indent = lines[at].index("*")
    above = next((lines[n] for n in range(at - 1, -1, -1) if lines[n].strip()), "")
    if _ITEM.match(above) or _FURTHER.match(above):  # of a list that is no table
        return None
    rows: list[tuple[int, list[str]]] = []
    blank = end = 0
    for place in range(at, min(len(lines), at + _LONGEST)):
        line = lines[place]
        found, deep = _ITEM.match(line), len(line) - len(line.lstrip())
        if not line.strip():
            blank += 1
        elif found and deep == indent:
            rows.append((place + 1, [found[1].strip()]))
        elif rows and deep > indent and not blank and not line.lstrip().startswith(("- ", "-\n")):
            rows[-1][1][-1] = f"{rows[-1][1][-1]} {line.strip()}".strip()
        elif rows and deep > indent and re.match(r"\s*-(?:\s|$)", line):
            rows[-1][1].append(line.strip()[1:].strip())
        else:
            break
        if line.strip():
            blank, end = 0, place + 1
    if len({len(cells) for _, cells in rows}) != 1 or len(rows[0][1]) < _FEWEST:
        return None
    return _table([TableRow(line, tuple(cells)) for line, cells in rows], 1, end)


def _joined(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(" ".join(filter(None, cells)) for cells in zip(*parts, strict=True))


def _latex(lines: Sequence[str], at: int) -> Table | None:
    span = _closed(lines, at, lambda line: r"\end{" in line and _ends(line), _TABULAR.search)
    if not span:
        return None
    rule = _above_rule(span[1:-1], at + 2)
    rows = list(_latex_rows(span[1:-1], at + 2, rule))
    return _table(*_one_heading(rows, rule), at + len(span))


def _above_rule(lines: Sequence[str], first: int) -> int:
    """The line of the rule below the headings; 0 without a `\\midrule`."""
    return next((n for n, line in enumerate(lines, first) if r"\midrule" in line), 0)


def _one_heading(rows: list[TableRow], rule: int) -> tuple[list[TableRow], int]:
    """The rows and the number of heading rows, which may be in several languages.

    Of several complete heading rows, the one with most known columns is kept; others are joined.
    """
    above = [row for row in rows if row.line < rule]
    if len(above) < _FEWEST or not all(all(row.cells) for row in above):
        return rows, max(1, len(above))
    best = max(above, key=lambda row: sum(map(bool, columns_of(row.cells))))
    return [best, *rows[len(above) :]], 1


def _ends(line: str) -> bool:
    return bool(re.search(r"\\end\{(?:tabularx?\*?|longtable)\}", line))


def _latex_rows(lines: Sequence[str], first: int, rule: int) -> Iterator[TableRow]:
    begun, text = first, ""
    for number, line in enumerate(lines, first):
        plain = _RULES.sub("", re.sub(r"(?<!\\)%.*", "", line)).strip()
        begun = begun if text else number
        text = f"{text} {plain}".strip()
        *whole, text = text.split(r"\\")
        for row in whole:
            if "&" in row:
                yield _latex_row(begun, row, begun < rule)
            begun = number
    if "&" in text:
        yield _latex_row(begun, text, begun < rule)


def _latex_row(line: int, text: str, heading: bool) -> TableRow:
    """A row; a heading over several columns is repeated for each."""
    cells: list[str] = []
    for cell in _AMPERSAND.split(_SKIP.sub("", text)):
        spanned = _SPAN.search(cell) if heading else None
        cells += [_untexed(cell)] * (int(spanned[1]) if spanned else 1)
    return TableRow(line, tuple(cells))


def _untexed(cell: str) -> str:
    """The text of a cell without its macros."""
    for _ in range(_LAYERS):
        cell = _COLUMNS.sub(r"\1", _MACRO.sub(r"\1", cell))
    for sign, text in _SIGNS.items():
        cell = cell.replace(sign, text)
    return cell.strip()
