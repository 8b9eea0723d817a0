"""Escaping of text and values by destination: markdown, HTML, CSV, JSON, a terminal."""

from __future__ import annotations

import html as _html
import re
import unicodedata
from collections.abc import Callable, Sequence

from ..vocabulary.printable import plain as plain
from ..vocabulary.printable import terminal as terminal
from ..vocabulary.printable import visible as visible

LINE_BREAK = re.compile("\r\n?|\n")
OTHER_BREAK = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")

# HTML, entities, links and images in CommonMark and GitHub. Each pattern matches the one character
# that a backslash escapes.
TAG = r"<(?=[A-Za-z/!?]|[^\s<>]*@)"
HTML = rf"{TAG}|&(?=#\d+;|#[xX][\da-fA-F]+;|[A-Za-z][A-Za-z\d]*;)"
LINK = r"\](?=[(\[])|(?i:(?<=http)|(?<=https)|(?<=ftp)):(?=//)|(?i:(?<=\bwww))\.(?=\S)"
PUNCTUATION = r"[!-/:-@\[-`{-~]"
INLINE = re.compile(rf"(?P<kept>\\{PUNCTUATION})|(?P<ticks>`+)|(?:{HTML}|{LINK})")
VERBATIM = re.compile(rf"(?P<kept>\\{PUNCTUATION})|(?P<ticks>`+)|(?:{TAG}|{LINK})")
PIPE = re.compile(r"(?P<kept>\\[\\|])|\|")
LAST_BACKSLASHES = re.compile(r"(?<!\\)\\++$")
LINE_END_BACKSLASH = re.compile(r"(?<!\\)((?:\\\\)*)\\$", re.MULTILINE)

# Text that would start a block in CommonMark, or end the paragraph above as a heading or a table.
FENCE = re.compile("`{3,}")
NUMBERED = re.compile(r"(\d{1,9})([.)](?:[ \t]|$))")
BLOCK = re.compile(
    r"#{1,6}(?:[ \t]|$)|>|<[A-Za-z/!?]|[-+*](?:[ \t]|$)|~{3}|(?:=+|-+)[ \t]*$"
    r"|([-_*])(?:[ \t]*\1){2,}[ \t]*$|[-:|][-:| \t]*$"
)

QUOTED = re.compile('[",\r\n]')
FORMULA = re.compile("[ ]*(?:[=+@\uff1d\uff0b\uff20]|::)|[\t\r\n]")
PLAIN_MINUS = re.compile(
    r"-+\s*[%^†]*$|-\s+[^\W\d]+[%^†]*$"
    r"|-\s*(?:\d[\d,]*\.?\d*|\.\d+|inf|nan)(?:e[+-]?\d+)?\s*(?:[^\W\d]+(?:/[^\W\d]+)*)?[%^†]*$",
    re.IGNORECASE,
)


def markdown_cell(text: str | None) -> str:
    """Text for a cell of a markdown table, unchanged where that is harmless."""
    line = LINE_BREAK.sub(" ", _writable(text))
    if line.lstrip().startswith("[") and "]:" in line:  # in a list it would define a link
        line = line.replace("[", "\\[", 1)
    cell = PIPE.sub(lambda match: match["kept"] or r"\|", _inline(line))
    # A last backslash could escape the pipe that closes the cell; two of them show as one.
    return LAST_BACKSLASHES.sub(lambda match: "&#92;" * ((len(match[0]) + 1) // 2), cell)


def verbatim_cell(text: str | None) -> str:
    """The verbatim text of a cell of a markdown table: entities too, and a last backslash.

    For tables with cells padded by a blank, which no backslash escapes.
    """
    line = LINE_BREAK.sub(" ", _writable(text))
    return PIPE.sub(lambda match: match["kept"] or r"\|", _inline(line, VERBATIM))


def markdown_text(text: str | None) -> str:
    """Text for a markdown paragraph: lines are kept, and none starts a block."""
    lines = LINE_BREAK.sub("\n", _writable(text)).split("\n")
    paragraphs = re.split(r"\n{2,}", "\n".join(line.strip(" \t") for line in lines))
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs)


def html(text: str | None) -> str:
    """Text for HTML content or a quoted attribute."""
    return _html.escape(_writable(text), quote=True)


def csv_cell(text: str | None) -> str:
    """Text for a CSV field that no spreadsheet runs as a formula; the writer adds the quotes."""
    cell = UNWRITABLE.sub("\ufffd", text or "")
    minus = cell.lstrip(" ").startswith(("-", "\uff0d"))
    if FORMULA.match(cell) or (minus and not PLAIN_MINUS.match(cell.lstrip(" "))):
        return f"'{cell}"
    return cell


def csv_line(fields: Sequence[str]) -> str:
    """Fields as one CSV line; Python's own writer leaves a lone carriage return unquoted."""
    quoted = [f'"{f.replace(chr(34), chr(34) * 2)}"' if QUOTED.search(f) else f for f in fields]
    return (",".join(quoted) or '""') + "\n"


def _writable(text: str | None) -> str:
    """The text with replacements for characters that UTF-8 cannot encode, and visible controls."""
    lines = LINE_BREAK.sub("\n", UNWRITABLE.sub("\ufffd", text or ""))
    return visible(OTHER_BREAK.sub(" ", lines))


def _inline(text: str, pattern: re.Pattern[str] = INLINE) -> str:
    """The text without HTML, links and images; code spans stay as they are.

    Backticks that close nothing are plain: next to another text they would open or end its code.
    """
    parts, at = [], 0
    while match := pattern.search(text, at):
        parts.append(text[at : match.start()])
        at = match.end()
        if match["ticks"]:
            close = re.compile(f"(?<!`){match['ticks']}(?!`)").search(text, at)
            at = close.end() if close else at
            parts.append(text[match.start() : at] if close else "\\`" * len(match["ticks"]))
        else:
            parts.append(match["kept"] or f"\\{match[0]}")
    return "".join((*parts, text[at:]))


def _paragraph(text: str) -> str:
    """Lines of one paragraph, none of which starts another block."""
    definition = "]:" in text
    lines = (_line_start(line, definition) for line in text.split("\n"))
    # A last backslash would become a line break.
    return LINE_END_BACKSLASH.sub(r"\1\\\\", _inline("\n".join(lines)))


def _line_start(line: str, definition: bool) -> str:
    """The line with a block-starting mark escaped."""
    if fence := FENCE.match(line):
        return r"\`" * len(fence[0]) + line[fence.end() :]
    if NUMBERED.match(line):
        return NUMBERED.sub(r"\1\\\2", line, count=1)
    if BLOCK.match(line) or (definition and line.startswith("[")):
        return f"\\{line}"
    return line


FILTERS: dict[str, Callable[[str | None], str]] = {
    function.__name__: function
    for function in (markdown_cell, markdown_text, html, csv_cell, terminal)
}


class Markdown(str):
    """Text intended as markdown; any other text is escaped before it reaches a page."""

    __slots__ = ()


def italic(text: str) -> Markdown:
    """Text in italics: the style of values computed by bench."""
    return Markdown(f"*{text}*" if text else "")


def pipe_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], alignment: Sequence[str]
) -> Markdown:
    """A padded GitHub table of markdown cells; alignment is left, right, center or none."""
    cells = [list(header), *[[*row, *[""] * (len(header) - len(row))] for row in rows]]
    sizes = [max(3, *(_width(row[place]) for row in cells)) for place in range(len(header))]
    lines = [_line(row, sizes, alignment) for row in cells]
    rule = "|".join(_rule(size, side) for size, side in zip(sizes, alignment, strict=True))
    return Markdown("\n".join([lines[0], f"|{rule}|", *lines[1:]]))


def _line(cells: Sequence[str], sizes: Sequence[int], alignment: Sequence[str]) -> str:
    padded = []
    for cell, size, side in zip(cells, sizes, alignment, strict=False):
        gap = " " * (size - _width(cell))
        padded.append(gap + cell if side == "right" else cell + gap)
    return f"| {' | '.join(padded)} |"


def _rule(size: int, side: str) -> str:
    left, right = side in ("left", "center"), side in ("right", "center")
    return f" {':' if left else '-'}{'-' * (size - 2)}{':' if right else '-'} "


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
