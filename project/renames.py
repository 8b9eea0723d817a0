"""Renames undetected by git: most of the text differs, but the rows are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..ingest.files.stated_rows import StatedRow
from .commits import Touched

_LEAST = 0.5  # share of a removed document's rows in the added one
_FEWEST = 3  # common rows: fewer may be a coincidence


def renamed(
    touched: Sequence[Touched],
    before: Callable[[str], Sequence[StatedRow] | None],
    after: Callable[[str, str], Sequence[StatedRow]],
) -> Sequence[Touched]:
    """The files touched by a commit, with removals and additions of the same rows as renames.

    `before` returns the rows of a path before the commit, None without any; `after` those of a
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
    """Measurements and common sizes of a row, for comparison without the rest of its text."""
    return repr(sorted(row.printed.items()))
