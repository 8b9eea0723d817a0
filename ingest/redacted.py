"""The last gate before rows are stored: no text passes that has a secret in it."""

from __future__ import annotations

from collections.abc import Mapping

from ..schema.rows import Row, Rows
from ..vocabulary.secrets import REDACTED, Redactions, redact_text

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
            if _redact(row):
                lines[next((row[key] for key in _LINES if row.get(key) is not None), None)] = None
    for row in rows.by_table.get("warnings", ()):
        row["message"] = redact_text(str(row["message"]))
    if Redactions.count == since:
        return
    for line in lines:
        rows.warn("redacted", "a secret was redacted", line if isinstance(line, int) else None)


def _redact(row: Row) -> bool:
    """Whether a row has a redacted text, also of before."""
    found = False
    for key, value in row.items():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, str):
            if value in _CLEAN:
                continue
            row[key] = text = redact_text(value)
            if REDACTED in text:
                found = True
            elif text == value and len(text) <= _LONGEST:
                _remember(text)
        elif isinstance(value, (list, tuple, Mapping)) and value:
            row[key] = _inside(value)
            found |= REDACTED in str(row[key])
    return found


def _remember(text: str) -> None:
    if len(_CLEAN) >= _MOST:
        _CLEAN.clear()
    _CLEAN.add(text)


def _inside(value: object) -> object:
    """The same for the items of a list or a map."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {_inside(key): _inside(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_inside(one) for one in value]
    return value
