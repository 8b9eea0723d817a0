"""Output formats of tables, one function each: columns and rows to text."""

from __future__ import annotations

import json as _json
import math
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from ..reports import escape
from ..vocabulary.format import number, significant
from ..vocabulary.printable import json_text, plain
from . import text_table

Rows = Sequence[Sequence[object]]
DIGITS = 4


class ExactNumber(str):
    """A number printed with all digits in every format."""

    __slots__ = ()


def exact(value: object) -> object:
    """The value with numbers as their shortest exact text."""
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return ExactNumber(repr(value) if isinstance(value, float) else value)
    return value


def as_columns(
    columns: Sequence[str],
    rows: Rows,
    keep: Collection[str] = (),
    derived: Collection[str] = (),
) -> list[text_table.GridColumn]:
    """The columns of a table as text for a terminal: `derived` ones dropped first, `keep` last."""
    right = _numeric(len(columns), rows)
    cells = [[escape.terminal(human(value)) for value in row] for row in rows]
    return [
        text_table.GridColumn(
            escape.terminal(name),
            tuple(row[at] for row in cells),
            right[at],
            name in keep,
            name in derived,
        )
        for at, name in enumerate(columns)
    ]


def md(columns: Sequence[str], rows: Rows) -> str:
    """A padded GitHub table."""
    heads = [escape.markdown_cell(name) for name in columns]
    cells = [[escape.markdown_cell(human(value)) for value in row] for row in rows]
    right = _numeric(len(columns), rows)
    sizes = [max(3, *map(text_table.size, column)) for column in zip(heads, *cells, strict=True)]
    rule = [
        "-" * (size - 1) + (":" if end else "-") for size, end in zip(sizes, right, strict=True)
    ]
    padded = [[*map(text_table.padded, each, sizes, right)] for each in (heads, *cells)]
    text = "".join(f"| {' | '.join(each)} |\n" for each in [padded[0], rule, *padded[1:]])
    return text


def csv(columns: Sequence[str], rows: Rows) -> str:
    """RFC 4180 with \\n line ends; escapes text that a spreadsheet would run."""
    lines = [[escape.csv_cell(name) for name in columns]]
    lines += [[_exact(value) for value in row] for row in rows]
    return "".join(map(escape.csv_line, lines))


def tsv(columns: Sequence[str], rows: Rows) -> str:
    """Columns separated by tabs; tabs, line breaks and backslashes are escaped: \\t, \\n, \\\\."""
    lines = [[escape.csv_cell(name) for name in columns]]
    lines += [[_exact(value) for value in row] for row in rows]
    return "".join("\t".join(map(_one_line, line)) + "\n" for line in lines)


def json(columns: Sequence[str], rows: Rows) -> str:
    """A list with one object per row; NaN and missing values are null, a second `a` is `a_1`."""
    names = [f"{name}_{columns[:at].count(name)}" if name in columns[:at] else name
             for at, name in enumerate(columns)]  # fmt: skip
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    lines = map(json_text, objects)
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + "\n]\n" if objects else "[]\n"


def html(
    columns: Sequence[str],
    rows: Rows,
    title: str = "bench",
    *,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    figures: Sequence[str] = (),
    badges: Collection[str] = (),
) -> str:
    """A page in one file: sentences, figures and a sortable table."""
    from ..site.single import listing  # imported late, with its templates

    cells = [[human(value) for value in row] for row in rows]
    return listing(
        title, columns, cells, _numeric(len(columns), rows), above=above, below=below,
        figures=figures, badges=badges,
    )  # fmt: skip


def human(value: object) -> str:
    """A value for people: few digits, lists without brackets, '' if missing."""
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
    return isinstance(value, (int, float, Decimal, ExactNumber)) and not isinstance(value, bool)
