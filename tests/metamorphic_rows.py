"""What is read of a changed document against what is read of it as it was.

A value may become empty; another one, or one where there was none, is wrong.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.ingest.documents.tables import read_markdown
from bench.schema.rows import Rows
from tests.metamorphic_tables import Line, text_of

# What is said of a row and is no value of a run, and where it stands.
_ASIDE = frozenset((
    "source_id", "run_id", "table_id", "origin", "row_number", "line", "last_line", "segment",
    "status_line", "status_reason", "status", "flags", "kind", "notes", "job_ids", "date",
))  # fmt: skip
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Run:
    """A row: the line it had, the first of its table's, and its values by field and metric."""

    line: int
    table: int
    values: Values


def runs_of(lines: Sequence[Line]) -> list[Run]:
    """The rows of a document."""
    rows, _ = read_markdown(text_of(lines), "source")
    return list(_runs(rows, lines))


def _runs(rows: Rows, lines: Sequence[Line]) -> Iterator[Run]:
    by_run: dict[object, dict[str, object]] = defaultdict(dict)
    for name in ("runs", "topology"):
        for row in rows.by_table.get(name, ()):
            by_run[row["run_id"]] |= {
                key: value for key, value in row.items() if key not in _ASIDE and value is not None
            }
    for row in rows.by_table.get("measurements", ()):
        key = "/".join(str(row.get(part)) for part in ("metric", "scope", "statistic"))
        by_run[row["run_id"]].setdefault(key, row["value"])
    for row in rows.by_table.get("env_flags", ()):
        by_run[row["run_id"]][f"env {row['name']}"] = row["value"]
    heads = {row["table_id"]: row["header_line"] for row in rows.by_table.get("tables", ())}
    for row in rows.by_table.get("runs", ()):
        if row.get("table_id") is not None:
            table = _origin(lines, heads[row["table_id"]])
            yield Run(_origin(lines, row["line"]), table, by_run[row["run_id"]])


def _origin(lines: Sequence[Line], number: object) -> int:
    assert isinstance(number, int)
    return lines[number - 1].of or 0


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that a change made wrong: where, of what, as it was and as it is."""

    line: int
    name: str
    before: object
    after: object

    def __str__(self) -> str:
        return f"l.{self.line} {self.name}: {self.before!r} -> {self.after!r}"


def wrong(before: Sequence[Run], after: Sequence[Run]) -> list[Wrong]:
    """The values that are others than before, row by row; rows that were not there stay out."""
    of_line = _grouped(before, "line")
    whole = _grouped(before, "table")
    found: list[Wrong] = []
    for line, runs in _grouped(after, "line").items():
        old = of_line.get(line, [])
        if line in whole and len(runs) == len(whole[line]):  # a turned table: its runs in order
            old = whole[line]
        for one, run in _matched(old, runs):
            found += _compared(line, one.values, run.values)
    return found


def _grouped(runs: Sequence[Run], by: str) -> dict[int, list[Run]]:
    grouped: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        grouped[getattr(run, by)].append(run)
    return grouped


def _matched(old: Sequence[Run], new: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    """Each new run with the old one that is most alike; of several alike the first."""
    alike = sorted(
        (len(_compared(0, one.values, run.values)), -_equal(one.values, run.values), a != b, a, b)
        for a, one in enumerate(old)
        for b, run in enumerate(new)
    )
    taken_old, taken_new = set[int](), set[int]()
    for *_, a, b in alike:
        if a not in taken_old and b not in taken_new:
            taken_old.add(a)
            taken_new.add(b)
            yield old[a], new[b]


def _equal(before: Values, after: Values) -> int:
    return sum(name in before and _same(before[name], value) for name, value in after.items())


def _compared(line: int, before: Values, after: Values) -> list[Wrong]:
    return [
        Wrong(line, name, before.get(name), value)
        for name, value in after.items()
        if not any(_same(one, value) or _less(one, value) for one in _stated(before, name))
    ]


def _stated(before: Values, name: str) -> Iterator[object]:
    """What was read; of a rate of which it is open whose it is, those of job and device."""
    if name in before:
        yield before[name]
    metric, _, scope = name.partition("/")
    if scope == "None/None":
        yield from (before[one] for one in before if one.startswith(f"{metric}_per_device/"))


def _less(before: object, after: object) -> bool:
    """Whether a name only says less than before: `A100` of `A100-80GB`."""
    texts = isinstance(before, str) and isinstance(after, str)
    return texts and bool(re.search(rf"(?<!\w){re.escape(str(after))}(?!\w)", str(before)))


def _same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
