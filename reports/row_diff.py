"""Differences between two sets of runs: rows matched by configuration, not text by line."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..decide.query import Query
from ..decide.selection import select
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.fields import shown

# The system and the device count of a run follow from the rest.
KEY = (*(name for name in shown("answers") if name not in ("system", "device_count")), "settings")
MEASURED = ("step_time_s", "tflops", "memory")
STATUS = ("status", "left_out")
OTHERS = "others"  # every other number of a row, by metric
EPOCH = "epoch"  # stated for rows compared across a boundary
HEADINGS = {"step_time_s": "Sec/it", "tflops": "TFLOPs", "memory": "Memory", OTHERS: "Others",
            "status": "Status", "left_out": "Left out", EPOCH: "Across a boundary"}  # fmt: skip
ALIKE = 1e-9  # relative: the effect of summation order on a mean
# A record's row is identified by the place in its source; `file` and `file_line` are its location.
_QUERY = f"""
    WITH marks AS (
        SELECT run_id, max(value) FILTER (field = 'source') AS source,
            max(value) FILTER (field = 'record_file') AS file
        FROM facts WHERE scope = 'record' GROUP BY run_id
    ), numbers AS (
        SELECT run_id, list({{'name': metric, 'value': value}} ORDER BY metric) AS others
        FROM measured WHERE value IS NOT NULL AND list_contains(?, metric) = false GROUP BY run_id
    )
    SELECT s.run_id, coalesce(m.source, s.uri) AS uri, s.line, s.basis, s.memory_unit, n.others,
        CASE WHEN m.file IS NULL THEN s.uri ELSE regexp_replace(s.uri, '[^/]*$', '') || m.file
        END AS file, CASE WHEN m.file IS NULL THEN s.line ELSE 1 END AS file_line,
        {", ".join(f"s.{name}" for name in (*KEY, *MEASURED))}, s.status, s.left_out,
        e.regime AS epoch, e.boundary
    FROM selected s LEFT JOIN marks m USING (run_id) LEFT JOIN numbers n USING (run_id)
    LEFT JOIN regimes e ON e.run_id = s.run_id
    WHERE s.kind = 'measured' ORDER BY uri, s.line, s.run_id"""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs: `old` None: added, `new` None: removed."""

    old: Row | None
    new: Row | None

    @property
    def kind(self) -> str:
        return "added" if self.old is None else "removed" if self.new is None else "changed"

    @property
    def crosses(self) -> bool:
        """Whether the two are on different sides of a boundary, so that numbers do not compare."""
        return self.old is not None and self.new is not None and side(self.old) != side(self.new)

    @property
    def row(self) -> Row:
        """The row as it is, or was."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Diff:
    """Every row that changed, and the number of unchanged ones."""

    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """1 changed, 2 added, 40 unchanged."""
        parts = [f"{self.counts[kind]} {kind}" for kind in self.counts if self.counts[kind]]
        return ", ".join([*parts, f"{self.unchanged} unchanged"])


def rows(warehouse: Warehouse, where: str | None = None) -> list[Row]:
    """The runs to compare, with their measurements; `where` is the text of a condition."""
    select(warehouse, Query(where=where))
    found = warehouse.dicts(_QUERY, [list(MEASURED)])
    return [
        row | {"left_out": _reasons(row["left_out"]), OTHERS: _by_name(row[OTHERS])}
        for row in found
    ]


def compare(old: Sequence[Row], new: Sequence[Row]) -> Diff:
    """Match rows by configuration; among several with one configuration equal ones first."""
    before, after = _by_key(old), _by_key(new)
    changes: list[Change] = []
    unchanged = 0
    for key in dict.fromkeys([*after, *before]):
        left, right = list(before.get(key, ())), list(after.get(key, ()))
        unchanged += _take_same(left, right)
        for row in list(right):
            same = next((one for one in left if _equal(one, row)), None)
            if same is not None:
                left.remove(same)
                right.remove(row)
                unchanged += 1
        changes += _pairs(left, right)
        changes += [Change(None, row) for row in right]
        changes += [Change(row, None) for row in left]
    order = ("changed", "added", "removed")
    changes.sort(
        key=lambda change: (order.index(change.kind), change.row["uri"], change.row["line"])
    )
    counts = {kind: sum(change.kind == kind for change in changes) for kind in order}
    return Diff(tuple(changes), unchanged, counts)


def _pairs(left: list[Row], right: list[Row]) -> Iterator[Change]:
    """Remove compared pairs from both: first those on the same side of every boundary."""
    for row in list(right):
        same = next((one for one in left if side(one) == side(row)), None)
        if same is not None:
            left.remove(same)
            right.remove(row)
            yield Change(same, row)
    while left and right:
        yield Change(left.pop(0), right.pop(0))


def side(row: Row) -> tuple[str, str]:
    """The side of a row at boundaries: by their text, since lines move."""
    return (row.get("epoch") or "").partition(" ")[0], (row.get("boundary") or "").strip()


def _reasons(left_out: str | None) -> str:
    """The reason for leaving out a row, without the choice of copies, which depends on other
    rows."""
    reasons = (left_out or "").split(", ")
    return ", ".join(reason for reason in reasons if reason not in ("", "copy"))


def _by_name(others: Sequence[Mapping[str, Any]] | None) -> dict[str, float]:
    return {one["name"]: one["value"] for one in others or ()}


def _by_key(found: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in found:
        groups[tuple(row[name] for name in KEY)].append(row)
    return groups


def _take_same(left: list[Row], right: list[Row]) -> int:
    """Remove rows equal to the last digit from both, without comparing each with each."""
    known: dict[str, list[Row]] = defaultdict(list)
    for row in left:
        known[_digits(row)].append(row)
    taken: list[Row] = []
    kept: list[Row] = []
    for row in right:
        same = known[_digits(row)]
        (taken if same else kept).append(same.pop(0) if same else row)
    gone = set(map(id, taken))
    left[:] = [row for row in left if id(row) not in gone]
    right[:] = kept
    return len(taken)


def _digits(row: Row) -> str:
    return repr([row[name] for name in (*MEASURED, "memory_unit", OTHERS, *STATUS)])


def _equal(old: Row, new: Row) -> bool:
    return (
        all(old[name] == new[name] for name in (*STATUS, "memory_unit"))
        and all(nearly_equal(old[name], new[name]) for name in MEASURED)
        and not any(other_changes(old, new))
    )


def other_changes(old: Row, new: Row) -> Iterator[tuple[str, float | None, float | None]]:
    """The other numbers that differ: name, old and new value."""
    before, after = old.get(OTHERS) or {}, new.get(OTHERS) or {}
    for name in {**before, **after}:
        if not nearly_equal(before.get(name), after.get(name)):
            yield name, before.get(name), after.get(name)


def nearly_equal(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=ALIKE)
