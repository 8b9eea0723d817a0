"""The last gate before rows are stored: no text passes that has a secret in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from ..schema.rows import Row, Rows
from ..vocabulary.secrets import REDACTED, Redactions, redact_inside, redact_json, redact_text

_JSON = frozenset(("pieces",))  # of cells
_LINES = ("line", "status_line", "header_line")
_PLAIN = frozenset((type(None), bool, int, float))
# Texts without a secret: names, kinds and settings come again in row after row, file after file.
_CLEAN: set[str] = set()
_MOST, _LONGEST = 50_000, 100  # such texts, and letters of one


def redact_rows(rows: Rows, since: int) -> None:
    """Take secrets out of every text of rows, and warn of each line that had one.

    `since` is the count of `Redactions` before the file was read: readers redact secrets by
    their names. If there is none since, the file itself contains the mark of a redaction.
    """
    lines: dict[object, None] = {}
    for name, found in rows.by_table.items():
        for row in found if name != "warnings" else ():
            for key in _redact(row):
                lines[_line_of(row, key)] = None
    for name, many in rows.tables.items():
        rows.tables[name] = [_redact_columns(table, lines) for table in many]
    for row in rows.by_table.get("warnings", ()):
        row["message"] = redact_text(str(row["message"]))
    if Redactions.count == since:
        return
    for line in lines:
        rows.warn("redacted", "a secret was redacted", line if isinstance(line, int) else None)


def _line_of(row: Row, name: str) -> object:
    """The line of a text of a row; None for a row without one."""
    lines = ("status_line", *_LINES) if name == "status_reason" else _LINES
    return next((row[key] for key in lines if row.get(key) is not None), None)


def _redact(row: Row) -> Iterator[str]:
    """The names of the texts of a row that are redacted, also of before."""
    for key, value in row.items():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, str):
            if value in _CLEAN:
                continue
            row[key] = text = _clean(value, key)
            if REDACTED in text:
                yield key
        elif isinstance(value, (list, tuple, Mapping)) and value:
            row[key] = redact_inside(value)
            if REDACTED in str(row[key]):
                yield key


def _redact_columns(table: pa.Table, lines: dict[object, None]) -> pa.Table:
    """The same for columnar rows, each text once."""
    for place, column in enumerate(table.schema):
        if not pa.types.is_string(column.type):
            continue
        texts = [text for text in table[place].unique().to_pylist() if text and text not in _CLEAN]
        clean = {text: _clean(text, column.name) for text in texts}
        if any(REDACTED in text for text in clean.values()):
            whole = [clean.get(text, text) for text in table[place].to_pylist()]
            if "line" in table.column_names:
                found = zip(table["line"].to_pylist(), whole, strict=True)
                lines.update((line, None) for line, text in found if text and REDACTED in text)
            table = table.set_column(place, column, [whole])
    return table


def _clean(value: str, column: str) -> str:
    text = redact_json(value) if column in _JSON else redact_text(value)
    if text == value and REDACTED not in text and len(text) <= _LONGEST:
        _remember(text)
    return text


def _remember(text: str) -> None:
    if len(_CLEAN) >= _MOST:
        _CLEAN.clear()
    _CLEAN.add(text)
