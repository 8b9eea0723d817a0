"""Tables on a terminal: aligned columns if they fit, else one record below the other.

Values are never cut: long texts are wrapped, values shared by all rows are printed once above the
table, and columns without room are named below.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

GAP = 2
FEWEST = 4  # minimum of columns; with fewer, rows become records
LEADING = 6  # the first columns identify a row: to show them, long words are split
READABLE = 20  # minimum width of wrapped text, unless words are split into less
LONGEST, *SPLIT = 34, 24, 16  # words up to these lengths, such as FILE:LINE, are not split
SHORTEST = 12  # and up to this one where rows would become records otherwise
_BREAKS = re.compile(r"(?<=[/_,;=|&-])")  # where longer words may be split
_LINE = re.compile(r"(?<=.)(?::\d{1,9}){1,2}$")  # of FILE:LINE and FILE:LINE:COLUMN


@dataclass(frozen=True)
class GridColumn:
    """A column as text: its heading, its cells, and whether they are numbers.

    Without room, `derived` columns are dropped first, `kept` ones last.
    """

    head: str
    cells: tuple[str, ...]
    is_number: bool
    kept: bool
    derived: bool = False
    longest: int = LONGEST

    @cached_property
    def wide(self) -> int:
        """The width without wrapping."""
        return max(map(size, (self.head, *self.cells)))

    @cached_property
    def least(self) -> int:
        """The minimum width, with heading and texts wrapped."""
        head = max(map(size, _parts(self.head)))
        longest = max(map(size, self.cells), default=0)
        if self.is_number:
            return max(head, longest)
        words = [word for cell in self.cells for word in cell.split()]
        word = min(max(map(size, words), default=0), self.longest)
        return max(head, min(longest, max(word, min(READABLE, self.longest))))


def table(
    columns: Sequence[GridColumn], width: int, *, chosen: bool = False, common: bool = False
) -> str:
    """Lay out the rows within `width`, however narrow it is.

    Empty columns are dropped; with `common`, constant ones are printed above. If the others do not
    fit, the last ones not in `kept` are only named, and long words are split where the first
    columns have no room. If that is not enough, leaves too few, or the user has `chosen` the
    columns, rows become records.
    """
    if not columns:
        return "\n"
    shared: list[GridColumn] = []
    if not chosen:
        columns = [column for column in columns if any(column.cells)] or columns[:1]
    if common and len(columns[0].cells) > 1:
        shared = [
            column for column in columns[1:] if len(set(column.cells)) == 1 and not column.kept
        ]
        columns = [column for column in columns if column not in shared]
    above = [*_wrapped(_common(shared), width), ""] if shared else []
    columns, shown = (columns, [*columns]) if chosen else _split(columns, width)
    if _are_too_few(shown, columns, width):
        return "\n".join([*above, *_records(columns, width)]) + "\n"
    lines = _aligned(shown, _sizes(shown, width))
    gone = ", ".join(column.head for column in columns if column not in shown)
    below = [f"also: {gone} (--columns, --format)"] if gone else []
    return "\n".join([*above, *lines, *below]) + "\n"


def _split(
    columns: Sequence[GridColumn], width: int
) -> tuple[Sequence[GridColumn], list[GridColumn]]:
    """The columns with words split no more than the first ones need, and those that have room."""
    found: tuple[Sequence[GridColumn], list[GridColumn]] = columns, _with_room(columns, width)
    for longest in (*SPLIT, SHORTEST):
        least = [replace(column, longest=longest) for column in columns]
        shown = _with_room(least, width)
        if _are_too_few(found[1], columns, width) or (
            longest > SHORTEST and _leading(shown, least) > _leading(*reversed(found))
        ):
            found = least, shown
    return found


def _leading(shown: Sequence[GridColumn], columns: Sequence[GridColumn]) -> int:
    """How many of the first columns are shown."""
    return sum(column in shown for column in columns[:LEADING])


def _are_too_few(shown: Sequence[GridColumn], columns: Sequence[GridColumn], width: int) -> bool:
    return len(shown) < min(FEWEST, len(columns)) or _least(shown) > width


def one_line_rows(columns: Sequence[GridColumn], width: int) -> list[str]:
    """The heading and one line per row, for a live screen; long texts are shortened."""
    shown = _with_room(columns, width)
    sizes = _sizes(shown, width)
    heads = _line([one.head for one in shown], sizes, shown)
    rows = zip(*(one.cells for one in shown), strict=True)
    return [heads, *(_line([*map(shortened, row, sizes)], sizes, shown) for row in rows)]


def shortened(text: str, width: int) -> str:
    """The text with its middle cut to fit `width`: names differ at both ends."""
    if size(text) <= width:
        return text
    front = back = ""
    while size(front) + size(back) < width - 1:
        if size(front) < size(back) and size(front) + size(back) + _wide(text[0]) < width:
            front, text = front + text[0], text[1:]
        elif size(front) + size(back) + _wide(text[-1]) < width:
            back, text = text[-1] + back, text[:-1]
        else:
            break
    return f"{front}…{back}"


def size(text: str) -> int:
    """The width of a text on a terminal."""
    return len(text) if text.isascii() else sum(map(_wide, text))


def padded(text: str, width: int, right: bool) -> str:
    """The text padded with blanks to a width, on the left if it is aligned to the right."""
    gap = " " * (width - size(text))
    return gap + text if right else text + gap


def _wide(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _common(shared: Sequence[GridColumn]) -> str:
    return f"All rows: {'; '.join(f'{column.head} {column.cells[0]}' for column in shared)}."


def _with_room(columns: Sequence[GridColumn], width: int) -> list[GridColumn]:
    """The columns that fit with wrapped texts: derived ones are dropped first, the last before
    the others; what one of another kind leaves free is theirs again."""
    dropped = [one for one in reversed(columns[1:]) if not one.kept]
    dropped.sort(key=lambda one: not one.derived)
    shown = [*columns]
    for one in dropped:
        if _least(shown) <= width:
            break
        shown.remove(one)
    for one in (one for one in columns if one.derived and one not in shown):
        again = [each for each in columns if each in shown or each is one]
        shown = again if _least(again) <= width else shown
    return shown


def _least(columns: Sequence[GridColumn]) -> int:
    """The minimum width of a line with these columns."""
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def _sizes(columns: Sequence[GridColumn], width: int) -> list[int]:
    """The width of each column: headings are wrapped first, then the widest texts."""
    sizes, least = [column.wide for column in columns], [column.least for column in columns]
    over = sum(sizes) + GAP * (len(sizes) - 1) - width
    if over <= 0:
        return sizes
    content = [max([low, *map(size, one.cells)]) for low, one in zip(least, columns, strict=True)]
    for floor in (content, least):
        while over > 0:
            soft = [at for at, now in enumerate(sizes) if now > floor[at]]
            if not soft:
                break
            sizes[max(soft, key=sizes.__getitem__)] -= 1
            over -= 1
    return sizes


def _aligned(columns: Sequence[GridColumn], sizes: Sequence[int]) -> list[str]:
    heads = [_head(one.head, width) for one, width in zip(columns, sizes, strict=True)]
    most = max(map(len, heads))
    lines = _lines([[""] * (most - len(head)) + head for head in heads], sizes, columns)
    for row in zip(*(column.cells for column in columns), strict=True):
        lines += _lines(
            [_wrapped(cell, w) for cell, w in zip(row, sizes, strict=True)], sizes, columns
        )
    return lines


def _lines(
    cells: Sequence[Sequence[str]], sizes: Sequence[int], columns: Sequence[GridColumn]
) -> list[str]:
    """The lines of one row, as many as its highest cell has."""
    high = max(map(len, cells))
    return [
        _line([cell[at] if at < len(cell) else "" for cell in cells], sizes, columns)
        for at in range(high)
    ]


def _line(texts: Sequence[str], sizes: Sequence[int], columns: Sequence[GridColumn]) -> str:
    found = [
        padded(text, width, one.is_number)
        for text, width, one in zip(texts, sizes, columns, strict=True)
    ]
    return (" " * GAP).join(found).rstrip()


def _records(columns: Sequence[GridColumn], width: int) -> list[str]:
    """Each row as lines of NAME VALUE below its number, without empty values."""
    heads = min(max(size(one.head) for one in columns), max(width // 2, READABLE))
    lines: list[str] = []
    for at in range(len(columns[0].cells)):
        lines += ([""] if at else []) + [f"[{at + 1}]"]
        for column in columns:
            texts = _wrapped(column.cells[at], max(width - heads - GAP, READABLE))
            names = [column.head] + [""] * (len(texts) - 1)
            both = zip(names, texts, strict=True)
            lines += [f"{padded(n, heads, False)}{' ' * GAP}{t}".rstrip() for n, t in both if t]
    return lines


def _parts(head: str) -> list[str]:
    """The parts that a heading may be split into, one per line."""
    return [part for word in head.split() for part in re.findall(r"[^_/]+[_/]*|[_/]+", word)] or [
        ""
    ]


def _head(text: str, width: int) -> list[str]:
    """A heading on as few lines as its column's width allows."""
    lines = [""]
    for word in text.split():
        for n, part in enumerate(_parts(word)):
            joined = f"{lines[-1]} {part}" if lines[-1] and not n else lines[-1] + part
            if size(joined) > width and lines[-1]:
                lines.append(part)
            else:
                lines[-1] = joined
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """A text wrapped to a width at blanks, and within words that are longer."""
    if size(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if size(joined) <= width:
            lines[-1] = joined
        elif size(word) <= width:
            lines.append(word)
        else:
            lines += _pieces(word, width)
    return [line for line in lines if line]


def _pieces(word: str, width: int) -> list[str]:
    """A word longer than a line, split after a slash or sign, else anywhere."""
    lines = [""]
    for part in _BREAKS.split(word):
        while size(part) > width:
            line = _LINE.search(part)  # no line number is cut
            most = line.start() if line and line.start() <= width else len(part)
            cut = next(n for n in range(most, 0, -1) if size(part[:n]) <= max(width, 2))
            lines, part = [*lines, part[:cut]], part[cut:]
        if size(lines[-1] + part) <= width:
            lines[-1] += part
        else:
            lines.append(part)
    return lines
