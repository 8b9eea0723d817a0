"""Blocks of a markdown document, with line numbers; table rows are split byte-exactly.

markdown-it-py finds headings, fences and containers. Rows are split by our own splitter: the
parser drops spacing and surplus cells, and does not see a table whose separator row is too short.
Tables of other markups are read by markup_tables.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table

from .grid import Table, TableRow
from .markup_tables import drawn_table
from .pasted_tables import printed_table

_NUMBER = re.compile(r"[~≈]?\d[\d.,]*\s?[\w%/]{0,8}")  # of a cell: a value with its unit
_SEPARATOR = re.compile(r"^\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*$")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+")
_NOTE = re.compile(r"^\s{0,3}\[\^[\w-]{1,40}\]:")  # `[^1]: ...`, of the place that it is marked at
_ALERT = re.compile(
    r"^\s{0,3}>\s?(?:\[!|[*_]{0,3})(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION|REMARK|INFO)(?:\]|[*_:]{1,3})",
    re.I,
)
_PAIR = re.compile(r"\w\s?=\s?[*`]{0,3}\w")  # `Precision=**bf16**`
_LISTED = 3  # settings of a line that lists them
_NEAR = 4  # lines below it, blank ones too
_DRAWN = re.compile(r"--|:-|-:")
_BEGIN, _END = re.compile(r"^\s*<!--\s*bench:begin\b"), re.compile(r"^\s*<!--\s*bench:end\b")
_HTML_HEADING = re.compile(r"\s*<h([1-6])(?:\s[^<>]*)?>(.*?)</h\1\s*>", re.I)
_TAG = re.compile(r"<[^<>]*>")
_LAID_OUT = re.compile(
    r"\s*(?:</?(?:center|div|p|br|details|figure|small|span)\b[^<>]*>\s*)+", re.I
)
MOST_BLOCKS = 30_000  # lines of text, headings and tables: each takes some 0.3 ms to read
_FRONT = 60  # lines of front matter
_SETTING = re.compile(r"[\w-]+\s*:(?:\s|$)")
_SPLIT = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")


@dataclass(frozen=True, slots=True)
class Heading:
    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line outside tables; `block`: the first line of its code block, 0 outside code."""

    line: int
    text: str
    block: int = 0

    @property
    def code(self) -> bool:
        """Whether it is in a fence or an indented block."""
        return self.block > 0


Block = Heading | TextLine | Table


def is_quotation(text: str) -> bool:
    """Whether a line is quoted by its mark; a note of the author in that form is given without.

    A footnote is of the place that it is marked at, as a quotation is of its author.
    """
    return bool(_QUOTE.match(text) or _NOTE.match(text))


def split_row(text: str) -> tuple[str, ...]:
    """The cells of a pipe row, trimmed; an escaped pipe belongs to its cell."""
    body = text.strip()
    body = body.removeprefix("|")
    parts: list[str] = []
    start = 0
    for match in _SPLIT.finditer(body):
        parts.append(body[start : match.end() - 1])
        start = match.end()
    if body[start:].strip():
        parts.append(body[start:])
    return tuple(part.strip() for part in parts)


def first_blocks(text: str) -> tuple[list[Block], int]:
    """The blocks of a document, and the line of the first that is one too many; 0 if none is."""
    every = blocks(text)
    found = list(islice(every, MOST_BLOCKS))
    left = next(every, None)
    return found, 0 if left is None else _line_of(left)


def _line_of(block: Block) -> int:
    return block.header.line if isinstance(block, Table) else block.line


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a document in order."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    headings, code, hidden = _structure(text)
    hidden |= _generated(lines) | _front(lines)
    headings = {line: one for line, one in headings.items() if line not in hidden}
    at = 0
    alert = False  # a note of the author in the form of a quotation
    while at < len(lines):
        number = at + 1
        if number in hidden:
            at += 1
            continue
        if number in headings:
            yield headings[number]
            at += 1
            continue
        if number in code:
            table = printed_table(lines, at)
        else:
            table = _table_at(lines, at, code, headings) or drawn_table(lines, at)
        if table:
            yield table
            at = table.last_line
            continue
        noted = _ALERT.match(lines[at]) or _sets_up(lines, at)
        alert = bool(noted) or (alert and bool(_QUOTE.match(lines[at])))
        if lines[at].strip() and (number in code or not _LAID_OUT.fullmatch(lines[at])):
            yield TextLine(number, _unquote(lines[at]) if alert else lines[at], code.get(number, 0))
        at += 1


def _sets_up(lines: Sequence[str], at: int) -> bool:
    """Whether a line in the form of a quotation lists the settings of the table right below it."""
    if not _QUOTE.match(lines[at]) or len(_PAIR.findall(lines[at])) < _LISTED:
        return False
    below = (line for line in lines[at + 1 : at + 1 + _NEAR] if _unquote(line).strip())
    return next(below, "").lstrip().startswith("|")


def _generated(lines: Sequence[str]) -> set[int]:
    """Lines between the markers of a page that bench wrote: they are no source."""
    hidden: set[int] = set()
    begin: int | None = None
    for number, line in enumerate(lines, 1):
        if _BEGIN.match(line):
            begin = number
        elif begin is not None and _END.match(line):
            hidden.update(range(begin, number + 1))
            begin = None
    return hidden


def _front(lines: Sequence[str]) -> set[int]:
    """The lines of settings that a site's generator takes off the front of a page, in YAML."""
    if not lines or lines[0].rstrip() != "---":
        return set()
    if not any(_SETTING.match(line) for line in lines[1:3]):
        return set()
    for number, line in enumerate(lines[1:_FRONT], 2):
        if line.rstrip() in ("---", "..."):
            return set(range(1, number + 1))
        if line.startswith("# "):
            break
    return set()


def _table_at(
    lines: Sequence[str], at: int, code: Collection[int], headings: dict[int, Heading]
) -> Table | None:
    if at + 1 >= len(lines) or "|" not in lines[at] or not _is_separator(lines[at + 1]):
        return None
    header = TableRow(at + 1, split_row(_unquote(lines[at])))
    alignment = tuple(_alignment(cell) for cell in split_row(_unquote(lines[at + 1])))
    rows: list[TableRow] = []
    blank, barred = 0, _unquote(lines[at]).lstrip().startswith("|")
    for place in range(at + 2, len(lines)):
        text = _unquote(lines[place])
        if not text.strip() and blank < 2:
            blank += 1
            continue
        if "|" not in text or place + 1 in code or place + 1 in headings:
            break
        if barred and _ITEM.match(text):  # `- max |loss diff| 0.0015`
            break
        row = TableRow(place + 1, split_row(text))
        starts = _starts_table(lines, place, row, after_blank=blank > 0)
        if starts or (blank and not _continues(text, row, header)):
            break
        blank = 0
        rows.append(row)
    return Table(header, at + 2, alignment, tuple(rows))


def _continues(text: str, row: TableRow, header: TableRow) -> bool:
    """Whether a row after a blank line belongs to the table above: it has most of its cells."""
    return text.lstrip().startswith("|") and 2 * len(row.cells) > len(header.cells)


def _starts_table(lines: Sequence[str], place: int, row: TableRow, *, after_blank: bool) -> bool:
    """Whether a row is the header of the next table: words, with a separator under them.

    A row of single dashes is no separator here, but one of values not measured. After a blank line
    numbers may follow the first word: `GPUs | 8 | 16`.
    """
    below = lines[place + 1] if place + 1 < len(lines) else ""
    cells = row.cells[:1] if after_blank else row.cells
    words = not any(cell in ("", "-") or _NUMBER.fullmatch(cell) for cell in cells)
    return words and _is_separator(below) and bool(_DRAWN.search(below))


def _is_separator(line: str) -> bool:
    text = _unquote(line)
    return "|" in text and bool(_SEPARATOR.match(text))


def _unquote(line: str) -> str:
    return _QUOTE.sub("", line)


def _alignment(cell: str) -> str:
    left, right = cell.startswith(":"), cell.endswith(":")
    return "center" if left and right else "right" if right else "left" if left else "none"


@cache
def _parser() -> MarkdownIt:
    """Blocks only: inline text and tables are read by other means."""
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.block.ruler.at("table", _over_table, {"alt": ["paragraph", "reference"]})
    return parser


def _over_table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """The parser's rule for tables without its ten tokens per cell, which are not used."""
    if not table(state, first, end, True):
        return False
    if silent:
        return True
    outer, state.parentType = state.parentType, "table"
    ends = state.md.block.ruler.getRules("blockquote")
    line = first + 2
    while line < end and state.sCount[line] >= state.blkIndent and not state.isEmpty(line):
        # Nothing that ends a table begins with a pipe.
        begin = state.bMarks[line] + state.tShift[line]
        if state.is_code_block(line) or (
            state.src[begin] != "|" and any(rule(state, line, end, True) for rule in ends)
        ):
            break
        line += 1
    state.parentType = outer
    state.line = line
    return True


def _structure(text: str) -> tuple[dict[int, Heading], dict[int, int], set[int]]:
    """Headings by line, lines of code with the first of their block, lines of no interest.

    Of no interest are marks of fences and comments.
    """
    headings: dict[int, Heading] = {}
    code: dict[int, int] = {}
    hidden: set[int] = set()
    tokens = _parser().parse(text)
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        first, last = token.map
        if token.type == "heading_open":
            heading = Heading(first + 1, int(token.tag[1]), tokens[place + 1].content)
            headings[first + 1] = heading
            hidden.update(range(first + 2, last + 1))
        elif token.type == "fence":
            hidden.update({first + 1, last})
            code |= dict.fromkeys(range(first + 2, last), first + 2)
        elif token.type == "code_block":
            code |= dict.fromkeys(range(first + 1, last + 1), first + 1)
        elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            hidden.update(range(first + 1, last + 1))
        elif token.type == "html_block":
            headings |= _html_headings(token.content, first + 1)
    return headings, code, hidden


def _html_headings(text: str, first: int) -> dict[int, Heading]:
    """Headings written in HTML, each on a separate line."""
    found = ((at, _HTML_HEADING.match(line)) for at, line in enumerate(text.split("\n"), first))
    return {at: Heading(at, int(one[1]), _TAG.sub("", one[2]).strip()) for at, one in found if one}
