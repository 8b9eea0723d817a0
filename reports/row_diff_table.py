"""A row diff as a table, as markdown and as JSON."""

from __future__ import annotations

import math
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.fields import axes
from ..vocabulary.format import number, percent, significant
from .escape import markdown_cell, pipe_table
from .row_diff import (
    EPOCH,
    HEADINGS,
    KEY,
    MEASURED,
    OTHERS,
    STATUS,
    Change,
    Diff,
    nearly_equal,
    other_changes,
)
from .words import label_of

_SPLIT = (*axes(), "ep", "vpp")


def columns(diff: Diff) -> list[str]:
    """The headings of the diff as a table: those with a value in some row."""
    shown = [name for name in HEADINGS if any(_cell(c, name) for c in diff.changes)]
    return ["Change", "Row", "Configuration", *(HEADINGS[name] for name in shown)]


def cells(diff: Diff) -> list[list[str]]:
    """The rows of that table as plain text."""
    shown = [name for name in HEADINGS if any(_cell(c, name) for c in diff.changes)]
    common = _common(diff)
    return [
        [
            change.kind,
            f"{change.row['uri']}:{change.row['line']}",
            ", ".join(_words({k: v for k, v in change.row.items() if k not in common})),
            *(_cell(change, name) for name in shown),
        ]
        for change in diff.changes
    ]


def common_words(diff: Diff) -> str:
    """The values common to all rows of the table, stated once."""
    return ", ".join(_words(_common(diff)))


def markdown(diff: Diff) -> str:
    """The diff for a pull request: a summary, then one table."""
    lines = [f"**{diff.headline}** (rows by configuration)", ""]
    if diff.changes:
        if common := common_words(diff):
            lines += [f"All: {markdown_cell(common)}.", ""]
        heads = columns(diff)
        numbers = {HEADINGS[name] for name in MEASURED}
        sides = ["right" if head in numbers else "left" for head in heads]
        body = [[markdown_cell(cell) for cell in row] for row in cells(diff)]
        lines += [pipe_table(heads, body, sides), ""]
    return "\n".join(lines[:-1]) + "\n"


def plain(diff: Diff) -> dict[str, Any]:
    """The diff as a JSON object."""
    return {
        **diff.counts,
        "unchanged": diff.unchanged,
        "rows": [
            {
                "change": change.kind,
                "where": f"{change.row['uri']}:{change.row['line']}",
                "configuration": {name: change.row[name] for name in KEY
                                  if change.row[name] is not None},
                "old": _values(change.old),
                "new": _values(change.new),
                **({"across": _epochs(change)} if change.crosses else {}),
                "percent": {name: round(100 * share, 4) for name in MEASURED
                            if (share := _share(change, name)) is not None},
            }
            for change in diff.changes
        ],
    }  # fmt: skip


def _share(change: Change, name: str) -> float | None:
    """The change of a measurement, relative to the old one."""
    if change.old is None or change.new is None:
        return None
    if name == "memory" and change.old["memory_unit"] != change.new["memory_unit"]:
        return None
    return _ratio(change.old[name], change.new[name])


def _ratio(old: float | None, new: float | None) -> float | None:
    if not old or new is None or nearly_equal(old, new):
        return None
    share = new / old - 1
    return share if math.isfinite(share) else None


def _cell(change: Change, name: str) -> str:
    if name == OTHERS:
        return _others(change)
    if name == EPOCH:
        return _epochs(change)
    before = _text(change.old, name)
    after = _text(change.new, name)
    if change.kind != "changed":
        return before or after
    if before == after:
        return after if name in MEASURED else ""
    if name == "status" and change.old and change.new:
        return f"{change.old[name]} → {change.new[name]}"
    change_text = _percent(_share(change, name)) if name in MEASURED else ""
    return f"{before or '-'} → {after or '-'}{change_text}"


def _epochs(change: Change) -> str:
    """Both sides of a boundary that a comparison crosses, and the change there."""
    if not change.crosses or change.old is None or change.new is None:
        return ""
    sides = (row.get(EPOCH) or "no boundary" for row in (change.old, change.new))
    what = (change.new.get("boundary") or change.old.get("boundary") or "").strip()
    return f"{' → '.join(sides)}: {what}"


def _percent(share: float | None) -> str:
    return f" ({'+' if share > 0 else ''}{percent(share, 1)})" if share is not None else ""


def _others(change: Change) -> str:
    """The other numbers that changed: none for added or removed rows."""
    if change.old is None or change.new is None:
        return ""
    was, now = (row["basis"] for row in (change.old, change.new))
    return "; ".join(
        f"{name.replace('_per_', '/').replace('_', ' ')} "
        f"{_figure(old, was)} → {_figure(new, now)}{_percent(_ratio(old, new))}"
        for name, old, new in other_changes(change.old, change.new)
    )


def _figure(value: float | None, basis: str) -> str:
    """A number as printed; for a log the median to four digits."""
    if value is None:
        return "-"
    return significant(value, 4) if basis == "log" else number(value)


def _text(row: Row | None, name: str) -> str:
    if row is None or row[name] is None:
        return ""
    if name in STATUS:
        return "" if row[name] == "ok" else str(row[name])
    text = _figure(row[name], row["basis"])
    return f"{text} {row['memory_unit']}" if name == "memory" else text


def _values(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    place = {"where": f"{row['uri']}:{row['line']}"}
    if row["file"] != row["uri"]:
        place["file"] = row["file"]
    kept = {name: row[name] for name in (*MEASURED, "memory_unit", OTHERS, *STATUS)}
    return place | {name: value for name, value in kept.items() if value not in (None, "", {})}


def _common(diff: Diff) -> dict[str, Any]:
    found = [change.row for change in diff.changes]
    if len(found) < 2:
        return {}
    return {
        name: found[0][name]
        for name in KEY
        if found[0][name] is not None and len({row[name] for row in found}) == 1
    }


def _words(row: Row) -> list[str]:
    """A configuration in words, without redundant ones."""
    values = {name: row[name] for name in KEY if row.get(name) is not None}
    if values.get("model") and values.get("size"):
        values.pop("model")
    if values.get("world_size") in (values.get("nodes"), values.get("devices")):
        values.pop("world_size", None)
    split = " ".join(f"{name.upper()}{values[name]}" for name in _SPLIT if name in values)
    words: list[str] = []
    for name, value in values.items():
        if name in _SPLIT:
            words += [split] if split and split not in words else []
        else:
            words.append(label_of(name, value))
    return words
