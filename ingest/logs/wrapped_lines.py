"""Records wrapped by a page or a terminal: the rest of a record is on the next lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .dialect import Dialect
from .readers import ObjectReader
from .record import Record
from .segments import Segments

MOST_LINES = 6
LONGEST = 4000
FIELDS = re.compile(r"\bstep: {1,12}\d{1,12} {2}loss:")  # torchtitan: two blanks between fields


class WrappedRecord:
    """The newest line that may continue below, and the number of fields read from it."""

    __slots__ = ("_fields", "_line", "_lines", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._line = 0
        self._lines = 0
        self._fields = -1  # fields read so far; -1: nothing yet

    def begin(self, record: Record, line: int) -> None:
        """A record of segments or fields was read: its tail may follow."""
        text = record.raw + record.after
        whole = "number of nan iterations" in record.raw or "number_of_nan" in record.raw
        parted = "|" in text or ("mfu:" not in text and _is_of_fields(text))
        if whole or len(text) > LONGEST or not parted:
            self._text = ""
            return
        self._text, self._line, self._lines, self._fields = text, line, 1, size(record)

    def clear(self) -> None:
        """A line of something else: no record continues."""
        self._text = ""

    def is_pending(self, line: int) -> bool:
        """Whether an unread line may be the first half of a record."""
        return bool(self._text) and self._fields < 0 and self._line == line

    def join(
        self, text: str, line: int, dialects: Sequence[Dialect]
    ) -> tuple[Dialect, Record, bool] | None:
        """The record of the lines together, where the new line adds to it, and if it is new."""
        if not self._text:
            self._remember(text, line)
            return None
        goes_on = "|" in text or (_is_cut_dict(self._text) and "': " in text)
        goes_on = goes_on or (": " in text and _is_of_fields(self._text))
        if not text.strip() or line != self._line + self._lines or not goes_on:
            if text.strip():
                self._text = ""
                self._remember(text, line)
            return None
        best = self._best(text, dialects)
        if best is None:
            self._text = ""
            self._remember(text, line)
            return None
        dialect, record, joined = best
        first, self._fields = self._fields < 0, size(record)
        self._lines += 1
        self._text = joined if self._lines < MOST_LINES and len(joined) < LONGEST else ""
        return dialect, record, first

    def _best(self, text: str, dialects: Sequence[Dialect]) -> tuple[Dialect, Record, str] | None:
        best = None
        most, cut_dict = self._fields, _is_cut_dict(self._text)
        of_fields = not cut_dict and _is_of_fields(self._text)
        for between in ("", " ", "  ") if of_fields else ("", " "):
            joined = self._text.rstrip() + between + text.strip()
            for dialect in dialects:
                if cut_dict:
                    own = dialect.buffered and isinstance(dialect.reader, ObjectReader)
                elif of_fields:
                    own = dialect.reads == "iteration" and not dialect.secondary
                else:
                    steps = dialect.reads == "iteration" and isinstance(dialect.reader, Segments)
                    own = steps or dialect.reads == "memory"
                record = dialect.read(joined) if own else None
                if record is not None and (cut_dict or "iteration" in record.fields):
                    if size(record) > most:
                        best, most = (dialect, record, joined), size(record)
                    break
        return best

    def _remember(self, text: str, line: int) -> None:
        is_half = ("iteration" in text and "|" in text) or _is_cut_dict(text)
        is_half = is_half or _is_of_fields(text)
        if is_half and len(text) < LONGEST:
            self._text, self._line, self._lines, self._fields = text, line, 1, -1


def _is_cut_dict(text: str) -> bool:
    """Whether a text is the first part of a dict with a loss, which a terminal has broken."""
    return text.startswith("{'loss': ") and "}" not in text


def _is_of_fields(text: str) -> bool:
    """Whether a text begins a step whose fields have two blanks between them."""
    return "step: " in text and FIELDS.search(text) is not None


def size(record: Record) -> int:
    """How many fields a record has; those with a column count twice."""
    fields = record.fields
    inner = {name: len(f) for name, f in fields.items() if isinstance(f, dict)}
    return 2 * (len(fields) - len(inner) + inner.get("losses", 0)) + inner.get("more", 0)
