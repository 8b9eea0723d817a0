"""One log line quoted in a document, read with the formats of logs."""

from __future__ import annotations

import re

from .dialect import dialects
from .lines import peel
from .record import Record

# Quote marks, list bullets and code fences stand before the line, back quotes around it.
MARKDOWN = re.compile(r"^[\s>]*(?:[-*+]\s+)?`*")


def read_quoted(text: str) -> Record | None:
    """The record on a quoted line: format, fields by our columns, its text; None: no log line."""
    _, text = peel(MARKDOWN.sub("", text, count=1).rstrip().rstrip("`"))
    for dialect in dialects():
        if dialect.within is None and (record := dialect.read(text)) is not None:
            return record
    return None
