"""The formats of a listing, one function each: columns and rows to text."""

from __future__ import annotations

import json as _json
import math
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from ..reports import escape
from ..vocabulary.format import number, significant
from ..vocabulary.printable import json_text, plain

Rows = Sequence[Sequence[object]]
GAP, NARROWEST, READABLE, CUT = 2, 8, 30, "…"
DIGITS = 4


class Exact(str):
    """A number that keeps every digit where people read it too."""

    __slots__ = ()


def exact(value: object) -> object:
    """The value, a number as its shortest exact text."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Exact(repr(value) if isinstance(value, float) else value)
    return value


def table(columns: Sequence[str], rows: Rows, width: int, keep: Collection[str] = ()) -> str:
    """Aligned columns within `width`: text is cut, numbers never; what has no room is named.

    Those to `keep` are dropped after all others.
    """
    heads = [escape.terminal(name) for name in columns]
    cells = [[escape.terminal(human(value)) for value in row] for row in rows]
    right = _numeric(len(columns), rows)
    kept, widths = [name in keep for name in columns], _widths(heads, cells)
    least = [
        max(_size(head), min(size, READABLE) if one else NARROWEST)
        for head, size, one in zip(heads, widths, kept, strict=True)
    ]
    sizes = _fit(widths, least, right, kept, width)
    ends = [right[at] for at in sizes]
    lines = [_row([each[at] for at in sizes], [*sizes.values()], ends) for each in (heads, *cells)]
    gone = [head for at, head in enumerate(heads) if at not in sizes]
    rest = f"also: {', '.join(gone)} (--columns, --format)" if gone else ""
    return "\n".join([*lines, *filter(None, [rest])]) + "\n"


def md(columns: Sequence[str], rows: Rows) -> str:
    """A padded GitHub table."""
    heads = [escape.markdown_cell(name) for name in columns]
    cells = [[escape.markdown_cell(human(value)) for value in row] for row in rows]
    right = _numeric(len(columns), rows)
    sizes = [max(3, size) for size in _widths(heads, cells)]
    rule = [
        "-" * (size - 1) + (":" if end else "-") for size, end in zip(sizes, right, strict=True)
    ]
    padded = [_padded(each, sizes, right) for each in (heads, *cells)]
    text = "".join(f"| {' | '.join(each)} |\n" for each in [padded[0], rule, *padded[1:]])
    return text


def csv(columns: Sequence[str], rows: Rows) -> str:
    """RFC 4180 with \\n between the rows; text that a spreadsheet would run is made safe."""
    lines = [[escape.csv_cell(name) for name in columns]]
    lines += [[_exact(value) for value in row] for row in rows]
    return "".join(map(escape.csv_line, lines))


def tsv(columns: Sequence[str], rows: Rows) -> str:
    """Columns between tabs; a tab, line break or backslash in a cell is written \\t, \\n, \\\\."""
    lines = [[escape.csv_cell(name) for name in columns]]
    lines += [[_exact(value) for value in row] for row in rows]
    return "".join("\t".join(map(_one_line, line)) + "\n" for line in lines)


def json(columns: Sequence[str], rows: Rows) -> str:
    """A list with one object a row; not a number or not known is null, a second `a` is `a_1`."""
    names = [f"{name}_{columns[:at].count(name)}" if name in columns[:at] else name
             for at, name in enumerate(columns)]  # fmt: skip
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    lines = map(json_text, objects)
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + "\n]\n" if objects else "[]\n"


def html(columns: Sequence[str], rows: Rows) -> str:
    """A <table> to put into a page."""
    right = _numeric(len(columns), rows)
    lines = ["<table>", "<thead>", _html_row("th", columns, right), "</thead>", "<tbody>"]
    lines += [_html_row("td", [human(value) for value in row], right) for row in rows]
    return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"


def human(value: object) -> str:
    """A value for people: few digits, lists without brackets, nothing for what is missing."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return number(value) if abs(value) >= 10_000 else str(value)
    if isinstance(value, (float, Decimal)):
        return _human_float(float(value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={human(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(human, value))
    return str(plain(value))


def _human_float(value: float) -> str:
    if math.isfinite(value) and (value.is_integer() or abs(value) >= 10 ** (DIGITS - 1)):
        return human(round(value)) if abs(value) < 1e15 else significant(value, DIGITS)
    return significant(value, DIGITS)


def _exact(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return str(value)
    made = plain(value)
    text = made if isinstance(made, str) else _json.dumps(made, ensure_ascii=False)
    return escape.csv_cell(text)


def _one_line(text: str) -> str:
    for raw, shown in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(raw, shown)
    return text


def _numeric(count: int, rows: Rows) -> list[bool]:
    kinds = [{_is_number(row[at]) for row in rows if row[at] is not None} for at in range(count)]
    return [kind == {True} for kind in kinds]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal, Exact)) and not isinstance(value, bool)


def _widths(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_size, column)) for column in zip(heads, *cells, strict=True)]


def _fit(
    widths: list[int], least: list[int], right: list[bool], kept: list[bool], width: int
) -> dict[int, int]:
    """The sizes of the columns that have room, by place; the widest texts narrowed first.

    A head is never cut: it is what `--columns` wants to be told.
    """
    sizes = dict(enumerate(widths))
    while sizes:
        over = sum(sizes.values()) + GAP * (len(sizes) - 1) - width
        if over <= 0 or (len(sizes) == 1 and right[min(sizes)]):
            return sizes
        soft = [at for at, size in sizes.items() if not right[at] and size > least[at]]
        if sum(sizes[at] - least[at] for at in soft) < over and len(sizes) > 1:
            del sizes[max(sizes, key=lambda at: (not kept[at], at))]
        elif not soft:
            return sizes
        else:
            sizes[max(soft, key=sizes.__getitem__)] -= 1
    return sizes


def _row(cells: Sequence[str], sizes: list[int], right: list[bool]) -> str:
    cut = [_cut(cell, size) for cell, size in zip(cells, sizes, strict=False)]
    return (" " * GAP).join(_padded(cut, sizes, right)).rstrip()


def _padded(cells: Sequence[str], sizes: list[int], right: list[bool]) -> list[str]:
    gaps = [" " * (size - _size(cell)) for cell, size in zip(cells, sizes, strict=True)]
    return [
        g + c if end else c + g for c, g, end in zip(cells, gaps, right[: len(sizes)], strict=True)
    ]


def _cut(text: str, size: int) -> str:
    if _size(text) <= size:
        return text
    while _size(text) > size - 1:
        text = text[:-1]
    return text + CUT


def _size(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_cell_width(letter) for letter in text)


def _cell_width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _html_row(tag: str, cells: Sequence[str], right: list[bool]) -> str:
    style = [' style="text-align: right"' if end else "" for end in right]
    made = [f"<{tag}{s}>{escape.html(c)}</{tag}>" for s, c in zip(style, cells, strict=True)]
    return f"<tr>{''.join(made)}</tr>"
