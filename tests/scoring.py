"""The golden reading against what the warehouse holds, field by field and class by class."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.ingest.files.pipeline import ingest_into
from bench.schema.materialized import OF_RUNS, materialize
from bench.schema.opening import in_memory
from bench.schema.warehouse import Warehouse

REQUIRED = ("cell", "near")
NEVER_WRONG = ("far",)
IN_VIEWS = ("default", "derived")
NOT_STATED = ("inferred",)
SHOWN = ("judgement",)

# Golden names -> ours, where they differ.
_COLUMNS = {
    "nlayers": "layers",
    "nhidden": "hidden",
    "nheads": "heads",
    "gpus": "devices",
    "size": "model",
}
_METRICS = {
    "mem_value": "memory",
    "sec_per_it": "step_time_s",
    "tflops": "tflops",
    "agg_pflops": "aggregate_pflops",
}
_MARKED = {
    "mem": "mem",
    "step_time": "sec_per_it",
    "throughput": "sec_per_it",
    "tflops": "tflops",
    "agg_pflops": "agg_pflops",
    "nodes": "nodes",
}
_WORDS = ("device", "framework", "notes")

Key = tuple[str, int]
Golden = dict[str, Any]  # as the JSON file has it


@dataclass(frozen=True, slots=True)
class Expected:
    """A row of a golden table: what each field should be, and of which class it is."""

    document: str
    line: int
    table: str
    values: Mapping[str, Any]  # JSON values
    classes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Miss:
    """A field that came out otherwise."""

    where: str
    name: str
    kind: str
    expected: object
    found: object

    def __str__(self) -> str:
        what = f"expected {self.expected!r}, found {self.found!r}"
        return f"{self.kind} {self.where} {self.name}: {what}"


@dataclass(slots=True)
class Score:
    """How many fields of each class there are, are equal, and were filled."""

    total: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)
    misses: list[Miss] = field(default_factory=list)

    @property
    def failures(self) -> list[Miss]:
        """Misses of all classes but the one that is only shown."""
        return [miss for miss in self.misses if miss.kind not in SHOWN]

    def text(self, title: str) -> str:
        """One line a class."""
        lines = [title]
        for kind in (*REQUIRED, *NEVER_WRONG, *IN_VIEWS, *NOT_STATED, *SHOWN):
            note = f", {self.filled[kind]} filled" if kind in NEVER_WRONG else ""
            lines.append(f"  {kind:<9} {self.equal[kind]:>5} of {self.total[kind]:>5} equal{note}")
        required = sum(self.total[kind] for kind in REQUIRED)
        lines.append(
            f"  required  {sum(self.equal[kind] for kind in REQUIRED):>5} of {required:>5}"
        )
        return "\n".join(lines)


class Reading:
    """All rows of published tables in a warehouse, by document and line."""

    def __init__(self, warehouse: Warehouse) -> None:
        def keyed(query: str) -> Iterator[tuple[Key, dict[str, Any]]]:
            for row in warehouse.dicts(query):
                yield (str(row["uri"])[:3], int(row["at"])), row

        self.stored = dict(
            keyed(
                "SELECT r.*, t.* EXCLUDE (run_id), r.line AS at "
                "FROM runs r JOIN topology t USING (run_id) "
                "WHERE origin = 'row'"
            )
        )
        self.views = dict(keyed("SELECT *, line AS at FROM configurations WHERE origin = 'row'"))
        self.measured: dict[Key, dict[str, dict[str, Any]]] = defaultdict(dict)
        for key, row in keyed(
            "SELECT m.*, r.uri, r.line AS at FROM measurements m JOIN runs r USING (run_id)"
        ):
            self.measured[key][row["metric"]] = row
        self.settings: dict[Key, dict[str, str | None]] = defaultdict(dict)
        for key, row in keyed(
            "SELECT e.*, r.uri, r.line AS at FROM env_flags e JOIN runs r USING (run_id)"
        ):
            self.settings[key][row["name"]] = row["value"]
        self.cells: dict[Key, dict[str, dict[str, Any]]] = defaultdict(dict)
        for key, row in keyed(
            "SELECT c.*, t.uri, c.line AS at FROM cells c JOIN tables t USING (table_id)"
        ):
            self.cells[key][row["name"]] = row
        self.legends = {
            (key[0], row["subject"]): row
            for key, row in keyed("SELECT *, line AS at FROM statements WHERE kind = 'legend'")
        }

    def stored_value(self, key: Key, name: str) -> object:
        """What the tables hold of a field, NULL where the document does not say it."""
        if name in _METRICS:
            return self.measured[key].get(_METRICS[name], {}).get("value")
        if name == "mem_unit":
            cell = self.cells[key].get("mem", {}).get("unit")
            return self.measured[key].get("memory", {}).get("printed_unit") or cell
        if name == "act_ckpt":
            return {None: None, "none": False, "full": True}[self.stored[key]["recompute"]]
        if name == "freq_ghz":
            clock = self.settings[key].get("clock_ghz")
            return float(clock) if clock else None
        if name == "env":
            return {
                name: value for name, value in self.settings[key].items() if name != "clock_ghz"
            }
        if name == "footnotes":
            return list(self._footnotes(key))
        if name == "notes":
            return self.cells[key].get("notes", {}).get("raw") or None
        if name == "world_size":
            return self.stored[key]["ranks"]
        return self.stored[key][_COLUMNS.get(name, name)]

    def view_value(self, key: Key, name: str) -> object:
        """What the view offers, conventions and sums included."""
        return self.views[key][_COLUMNS.get(name, name)]

    def _footnotes(self, key: Key) -> Iterator[dict[str, object]]:
        for name, cell in self.cells[key].items():
            for mark in cell["marks"]:
                legend = self.legends.get((key[0], mark))
                yield {
                    "marker": mark,
                    "on": _MARKED.get(name, name),
                    "text": legend["detail"]["text"] if legend else None,
                    "legend_line": legend["at"] if legend else None,
                }


def read_golden(path: Path) -> list[Golden]:
    """The documents of a golden file."""
    documents: list[Golden] = json.loads(path.read_text("utf-8"))["documents"]
    return documents


def expected_rows(documents: Iterable[Golden]) -> Iterator[Expected]:
    """Every golden row; a disputed cell is expected as the document has it."""
    for document in documents:
        name = str(document["file"])[:3]
        for table in document["tables"]:
            for row in table["rows"]:
                values = {**row["record"], **as_reported(row)}
                yield Expected(name, row["line"], table["table_id"], values, row["field_class"])


def as_reported(row: Golden) -> dict[str, Any]:
    """Fields of class `cell` whose record holds what is suspected: the text that stands there."""
    told = row.get("as_reported") or {
        name: dispute["as_reported"] for name, dispute in row.get("disputes", {}).items()
    }
    return {name: value for name, value in told.items() if row["field_class"].get(name) == "cell"}


def read_folder(folder: Path) -> Reading:
    """Ingest every document of a folder into a fresh warehouse."""
    with in_memory() as warehouse:
        ingest_into(warehouse, sorted(folder.glob("[0-9]*.md")), folder)
        materialize(warehouse, *OF_RUNS)  # computed once, not by each query
        return Reading(warehouse)


def score(rows: Iterable[Expected], reading: Reading) -> Score:
    """Compare each field by the rule of its class."""
    result = Score()
    for row in rows:
        for name, kind in row.classes.items():
            expected = row.values[name]
            equal, found = _compare(reading, (row.document, row.line), name, kind, expected)
            result.total[kind] += 1
            result.equal[kind] += equal
            result.filled[kind] += found is not None
            if not equal:
                result.misses.append(Miss(f"{row.table} l.{row.line}", name, kind, expected, found))
    return result


def _compare(
    reading: Reading, key: Key, name: str, kind: str, expected: object
) -> tuple[bool, object]:
    if key not in reading.stored:
        return False, "no such row"
    stored = reading.stored_value(key, name)
    if kind in IN_VIEWS:
        found = reading.view_value(key, name)
        if stored is not None:
            return False, f"{stored} is stored"
        return same(name, expected, found), found
    if kind in NOT_STATED:
        return stored is None, stored
    if kind in NEVER_WRONG and stored is None:
        return True, None
    return same(name, expected, stored), stored


def same(name: str, expected: object, found: object) -> bool:
    """Equal, numbers up to rounding, free text up to case, spaces and punctuation."""
    if name in _WORDS:
        return plain(expected) == plain(found)
    if name == "footnotes":
        return _sorted(expected) == _sorted(found)
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return abs(expected - found) <= 1e-9 * max(1.0, abs(expected))
    return expected == found


def plain(text: object) -> str:
    """Text without case, spaces and punctuation; a dash alone is nothing."""
    return re.sub(r"[\W_]+", "", str(text if text is not None else "")).lower()


def _sorted(notes: object) -> list[str]:
    return (
        sorted(json.dumps(note, sort_keys=True) for note in notes)
        if isinstance(notes, list)
        else []
    )
