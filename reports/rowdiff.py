"""What changed between two sets of runs: rows matched by configuration, not text by line."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..schema.warehouse import Warehouse
from .escape import markdown_cell
from .format import number, percent, significant
from .layout import pipe_table
from .selection import Selection, select

Row = Mapping[str, Any]
KEY = (
    "size", "model", "device", "framework", "nodes", "devices", "world_size", "dp", "tp", "pp",
    "cp", "ep", "vpp", "mbs", "gbs", "seq_len", "zero_stage", "recompute", "dtype", "layers",
    "hidden", "heads", "settings",
)  # fmt: skip
MEASURED = ("step_time_s", "tflops", "memory")
TOLD = ("status", "left_out")
HEADINGS = {"step_time_s": "Sec/it", "tflops": "TFLOPs", "memory": "Memory", "status": "Status",
            "left_out": "Left out"}  # fmt: skip
ALIKE = 1e-9  # relative: what the order of adding makes of a mean
_WORDS: dict[str, Callable[[Any], str]] = {
    "nodes": lambda v: f"{number(v)} {'node' if v == 1 else 'nodes'}",
    "devices": lambda v: f"{number(v)} devices",
    "world_size": lambda v: f"{number(v)} {'process' if v == 1 else 'processes'}",
    "mbs": lambda v: f"MBS {v}", "gbs": lambda v: f"GBS {v}", "seq_len": lambda v: f"seq {v}",
    "zero_stage": lambda v: f"ZeRO-{v}", "layers": lambda v: f"{v} layers",
    "hidden": lambda v: f"hidden {v}", "heads": lambda v: f"{v} heads",
    "recompute": lambda v: f"{'no' if v == 'none' else v} recompute",
}  # fmt: skip
_SPLIT = ("dp", "tp", "pp", "cp", "ep", "vpp")
_QUERY = f"""SELECT run_id, uri, line, kind, basis, memory_unit, {", ".join((*KEY, *MEASURED))},
                status, left_out
            FROM selected WHERE kind = 'measured' ORDER BY uri, line, run_id"""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that is not the same: `old` None: added, `new` None: removed."""

    old: Row | None
    new: Row | None

    @property
    def kind(self) -> str:
        return "added" if self.old is None else "removed" if self.new is None else "changed"

    @property
    def row(self) -> Row:
        """The row as it is, or was."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Diff:
    """Every row that changed, and how many did not."""

    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """1 changed, 2 added, 40 unchanged."""
        parts = [f"{self.counts[kind]} {kind}" for kind in self.counts if self.counts[kind]]
        return ", ".join([*parts, f"{self.unchanged} unchanged"])


def rows(warehouse: Warehouse, where: str | None = None) -> list[Row]:
    """The runs to compare, with what was measured; `where` is a safe SQL condition."""
    select(warehouse, Selection(where=where))
    return [row | {"left_out": _reasons(row["left_out"])} for row in warehouse.dicts(_QUERY)]


def compare(old: Sequence[Row], new: Sequence[Row]) -> Diff:
    """Match rows by configuration; of several with one configuration the equal ones first."""
    before, after = _by_key(old), _by_key(new)
    changes: list[Change] = []
    unchanged = 0
    for key in dict.fromkeys([*after, *before]):
        left, right = list(before.get(key, ())), list(after.get(key, ()))
        for row in list(right):
            same = next((one for one in left if _equal(one, row)), None)
            if same is not None:
                left.remove(same)
                right.remove(row)
                unchanged += 1
        paired = min(len(left), len(right))
        changes += [Change(*pair) for pair in zip(left[:paired], right[:paired], strict=True)]
        changes += [Change(None, row) for row in right[paired:]]
        changes += [Change(row, None) for row in left[paired:]]
    order = ("changed", "added", "removed")
    changes.sort(key=lambda one: (order.index(one.kind), one.row["uri"], one.row["line"]))
    counts = {kind: sum(one.kind == kind for one in changes) for kind in order}
    return Diff(tuple(changes), unchanged, counts)


def columns(diff: Diff) -> list[str]:
    """The headings of the diff as a table: those of which a row has something to say."""
    shown = [name for name in (*MEASURED, *TOLD) if any(_cell(c, name) for c in diff.changes)]
    return ["Change", "Row", "Configuration", *(HEADINGS[name] for name in shown)]


def cells(diff: Diff) -> list[list[str]]:
    """The rows of that table as plain text."""
    shown = [name for name in (*MEASURED, *TOLD) if any(_cell(c, name) for c in diff.changes)]
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
    """What all rows of the table share, said once."""
    return ", ".join(_words(_common(diff)))


def markdown(diff: Diff) -> str:
    """The diff for a pull request: what happened, then one table."""
    lines = [f"**{diff.headline}** (rows by configuration)", ""]
    if diff.changes:
        if said := common_words(diff):
            lines += [f"All: {markdown_cell(said)}.", ""]
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
                "percent": {name: round(100 * share, 4) for name in MEASURED
                            if (share := _share(change, name)) is not None},
            }
            for change in diff.changes
        ],
    }  # fmt: skip


def _reasons(left_out: str | None) -> str:
    """Why a row is left out; which of two copies is one hangs on rows that are not its own."""
    reasons = (left_out or "").split(", ")
    return ", ".join(reason for reason in reasons if reason not in ("", "copy"))


def _by_key(found: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in found:
        groups[tuple(row[name] for name in KEY)].append(row)
    return groups


def _equal(old: Row, new: Row) -> bool:
    return all(old[name] == new[name] for name in (*TOLD, "memory_unit")) and all(
        _alike(old[name], new[name]) for name in MEASURED
    )


def _alike(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=ALIKE)


def _share(change: Change, name: str) -> float | None:
    """By how much a measurement changed, as a share of the old one."""
    if change.old is None or change.new is None:
        return None
    old, new = change.old[name], change.new[name]
    if not old or new is None or _alike(old, new):
        return None
    share = new / old - 1
    return share if math.isfinite(share) else None


def _cell(change: Change, name: str) -> str:
    before = _text(change.old, name)
    after = _text(change.new, name)
    if change.kind != "changed":
        return before or after
    if before == after:
        return after if name in MEASURED else ""
    if name == "status" and change.old and change.new:
        return f"{change.old[name]} → {change.new[name]}"
    share = _share(change, name) if name in MEASURED else None
    told = f" ({'+' if share > 0 else ''}{percent(share, 1)})" if share is not None else ""
    return f"{before or '-'} → {after or '-'}{told}"


def _text(row: Row | None, name: str) -> str:
    if row is None or row[name] is None:
        return ""
    if name in TOLD:
        return "" if row[name] == "ok" else str(row[name])
    text = significant(row[name], 4) if row["basis"] == "log" else number(row[name])
    return f"{text} {row['memory_unit']}" if name == "memory" else text


def _values(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    place = {"where": f"{row['uri']}:{row['line']}"}
    kept = {name: row[name] for name in (*MEASURED, "memory_unit", *TOLD)}
    return place | {name: value for name, value in kept.items() if value not in (None, "")}


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
    """A configuration in words; what another word says already is left out."""
    said = {name: row[name] for name in KEY if row.get(name) is not None}
    if said.get("model") and said.get("size"):
        said.pop("model")
    if said.get("world_size") in (said.get("nodes"), said.get("devices")):
        said.pop("world_size", None)
    split = " ".join(f"{name.upper()}{said[name]}" for name in _SPLIT if name in said)
    words: list[str] = []
    for name, value in said.items():
        if name in _SPLIT:
            words += [split] if split and split not in words else []
        else:
            words.append(_WORDS.get(name, str)(value))
    return words
