"""Listings of bench in a document: their runs are those of other sources."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Headings of results that bench computes: others name the lines of their logs, too.
_OWN = frozenset(
    ("left_out", "ties with", "tokens/s/device", "tokens_per_s_per_device", "device-days")
)
# `004:44, :45`, of which the lines of a document are cited
_PLACE = re.compile(
    r"[\w./+-]{1,200}:\d{1,9}(?:, ?[\w./+-]{0,200}:\d{1,9}){0,40}(?: and \d+ more)?"
)


def is_own_listing(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table is one of bench, by its headings and the lines of others that it names."""
    if _OWN.isdisjoint(heading.strip().lower() for heading in headings):
        return False
    cells = [
        row[at]
        for at, heading in enumerate(headings)
        if heading.strip().lower() in ("where", "source")
        for row in rows
        if at < len(row) and row[at].strip()
    ]
    return bool(cells) and all(_PLACE.fullmatch(cell.strip()) for cell in cells)
