"""Renames that git does not see: most of the text is another one, but the rows went along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..ingest.stated_rows import StatedRow
from .commits import Touched

_LEAST = 0.5  # of the rows of a document that went, in the one that came
_FEWEST = 3  # rows in common: fewer may be a coincidence


def renamed(
    touched: Sequence[Touched],
    before: Callable[[str], Sequence[StatedRow] | None],
    after: Callable[[str, str], Sequence[StatedRow]],
) -> Sequence[Touched]:
    """What a commit touched, where a document went and one with most of its rows came as a rename.

    `before` gives the rows of a path before the commit, None of one without; `after` those of a
    path and blob.
    """
    gone = {one.path: rows for one in touched if not one.blob and (rows := before(one.path))}
    came = [one for one in touched if one.blob and not one.before and before(one.path) is None]
    pairs: dict[str, str] = {}
    for one in came if gone else ():
        says = {_text(row) for row in after(one.path, one.blob or "")}
        shares = {
            path: sum(_text(row) in says for row in rows) / len(rows)
            for path, rows in gone.items()
            if path not in pairs.values() and sum(_text(row) in says for row in rows) >= _FEWEST
        }
        best = max(shares, key=lambda path: shares[path], default=None)
        if best is not None and shares[best] >= _LEAST:
            pairs[one.path] = best
    return [
        replace(one, before=pairs.get(one.path, one.before))
        for one in touched
        if one.blob or one.path not in pairs.values()
    ]


def _text(row: StatedRow) -> str:
    """What was measured, with the sizes that every table has: text around it may have changed."""
    return repr(sorted(row.printed.items()))
