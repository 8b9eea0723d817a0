"""One log line quoted in a document, read with the formats of logs."""

from __future__ import annotations

import re
from dataclasses import replace

from .dialect import dialects
from .lines import peel
from .record import Record

NO_COLUMNS = frozenset(("memory", "epoch"))
# Quote marks, list bullets and code fences stand before the line, back quotes around it.
MARKDOWN = re.compile(r"^[\s>]*(?:[-*+]\s+)?`*")


def read_quoted(text: str) -> Record | None:
    """The record on a quoted line: format, fields by our columns, its text; None: no log line.

    Only a framework's own line of a step is quoted as a result.
    """
    _, text = peel(MARKDOWN.sub("", text, count=1).rstrip().rstrip("`"))
    for dialect in dialects():
        if dialect.reads != "iteration" or dialect.secondary:
            continue
        if (record := dialect.read(text)) is not None:
            fields = {name: record.fields[name] for name in record.fields.keys() - NO_COLUMNS}
            return replace(record, fields=fields)
    return None
