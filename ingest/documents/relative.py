"""Tables whose results are compared with each other alone: `100%`, `1.6x`, `fast`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.headings import columns_of

_SHARES = frozenset({"mfu", "hfu", "peak_share"})  # percentages that are results
_EMPTY = re.compile(r"[\W_]*(?:n/?a|none|tbd|todo)?[\W_]*", re.I)
_RELATIVE = re.compile(
    r"[\W_]*(?:\d[\d.,]{0,8}\s?[+-]?\s?(?:%|[x×倍])|(?:(?:very|most|more|less|about|slightly) )?"
    r"(?:fast|slow|low|high|medium|moderate|small|large|good|bad|best|worst|baseline|same|similar|minimal)(?:er|est)?"
    r"|很?(?:快|慢|低|高|中等|适中|最快|最慢|最低|最高|基准|稍慢|较快))(?![^\W_])[^\d]{0,120}",
    re.I,
)


def is_relative(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether every result of a table is a comparison, in numbers or words."""
    places = [
        at
        for at, column in enumerate(columns_of(headings))
        if column and column.role == "result" and column.name not in _SHARES
    ]
    cells = [row[at] for row in rows for at in places if at < len(row)]
    filled = [cell for cell in cells if not _EMPTY.fullmatch(cell)]
    return bool(filled) and all(map(_RELATIVE.fullmatch, filled))
