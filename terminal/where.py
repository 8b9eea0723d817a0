"""What the command line says of columns: conditions (`--where`) and lists of their names."""

from __future__ import annotations

from collections.abc import Sequence

from ..schema.errors import BenchError
from ..schema.where import compile_where
from .messages import did_you_mean


def parse_columns(text: str, columns: Sequence[str]) -> list[str]:
    """The columns named in `a,b,c`, spelled as in `columns`."""
    known = {name.casefold(): name for name in columns}
    chosen: list[str] = []
    for word in filter(None, (part.strip().strip('"') for part in text.split(","))):
        if word.casefold() not in known:
            raise BenchError(f"unknown column {word!r}", hint=did_you_mean(word, columns))
        if known[word.casefold()] not in chosen:
            chosen.append(known[word.casefold()])
    if not chosen:
        raise BenchError("no column is named", hint=f"known: {', '.join(columns)}")
    return chosen


__all__ = ["compile_where", "parse_columns"]
