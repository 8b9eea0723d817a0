"""How much of other people's documents is read right: `make truth`.

A golden file holds what a careful reader finds in each row of a document: values, the class of
each (`cell` in the row, `near` in its section, `far` elsewhere), and the rows that contradict
themselves. This compares a fresh reading of the documents with it and prints what is right, wrong
and empty.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.schema.opening import open_read
from tests.scoring import Golden, as_reported
from tests.truth_stored import Stored, kept, same_field

ROOT = Path(__file__).resolve().parent.parent
CLASSES = ("cell", "near", "far")
FURTHER = (ROOT.parent / "shared/golden/golden_more.json", ROOT.parent / "shared/documents")

# Notes on a row rather than values of it; tests/scoring.py compares them.
_ONE_STEP = "iteration"  # the flag of a row that is one step of a run, and may be left out
_NOT_COMPARED = ("footnotes", "mem_unit", "env", "freq_ghz")


@dataclass(slots=True)
class Truth:
    """Counts of one document, and every difference in words."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    empty: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    tables_read: int = 0
    invented: int = 0  # rows where the document has none
    contradictions: int = 0  # rows that contradict themselves, of grade error
    contradictions_found: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # findings of grade error, by rule
    errors_true: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def share(self, kind: str) -> float:
        """Right among all that the document states; of `far` among what was given."""
        given = self.right[kind] + self.wrong[kind]
        total = given if kind == "far" else given + self.empty[kind]
        return self.right[kind] / total if total else math.nan

    def __iadd__(self, other: Truth) -> Truth:
        for name in ("right", "wrong", "empty", "errors", "errors_true"):
            getattr(self, name).update(getattr(other, name))
        for name in ("tables", "tables_read", "invented", "contradictions", "contradictions_found"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def read(documents: Sequence[Path], folder: Path) -> Path:
    """A fresh warehouse of the documents, audited."""
    db = folder / "truth.duckdb"
    ingest(documents, db)
    after_ingest_into(db, 5.0)
    return db


def truth_of(golden: Golden, stored: Stored) -> Truth:
    """Compare a document with its golden reading."""
    found = Truth()
    lines = {row["line"] for table in golden["tables"] for row in table["rows"]}
    # Runs that carry no label are neither right nor wrong.
    lines |= {line for table in golden["tables"] for line in table.get("unlabelled_lines", ())}
    lines |= {line for entry in golden.get("wide", ()) for line in entry["lines"]}
    spans = [(table["header_line"], table["last_line"]) for table in golden["tables"]]
    for table in golden["tables"]:
        if table.get("kind", "benchmark") != "benchmark":
            continue
        found.tables += 1
        found.tables_read += any(row["line"] in stored.runs for row in table["rows"])
        for row in table["rows"]:
            _compare_row(row, stored, found)
    _compare_wide(golden.get("wide", ()), stored, found)
    # Rows of tables that the golden reading leaves out as a whole are judged by hand.
    found.invented = sum(
        lines.isdisjoint(range(run["line"], run["last_line"] + 1))
        for run in stored.all_runs()
        if any(first <= run["line"] <= last for first, last in spans)
    )
    _compare_findings(golden, stored, found)
    return found


def _compare_row(row: Mapping[str, Any], stored: Stored, found: Truth) -> None:
    runs = stored.runs.get(row["line"], [])
    if not runs and _ONE_STEP in row.get("flags", ()):
        return
    for name, kind in row["field_class"].items():
        if kind not in CLASSES or name in _NOT_COMPARED:
            continue
        wanted = [row["values"][name], *row.get("accept", {}).get(name, [])]
        if runs and not stored.known(name, runs[0]):
            if kind == "cell":
                found.right[kind] += (there := kept(wanted, stored.texts[row["line"]]))
                found.empty[kind] += not there
                if not there:
                    found.differences.append(f"l.{row['line']} {name}: {wanted[0]!r} not kept")
            continue
        _compare(f"l.{row['line']} {name}", kind, wanted, runs, stored, found)


def _compare(
    what: str,
    kind: str,
    wanted: Sequence[object],
    runs: Sequence[Mapping[str, Any]],
    stored: Stored,
    found: Truth,
) -> None:
    """One field of a run, which may be any of those that stand there."""
    name = what.rpartition(" ")[2]
    values = [stored.value(run, name) for run in runs] or [None]
    if any(same_field(name, one, value) for value in values for one in wanted):
        found.right[kind] += 1
    elif all(value is None for value in values):
        found.empty[kind] += 1
        if kind != "far":
            found.differences.append(f"{what}: {wanted[0]!r} not read ({kind})")
    else:
        found.wrong[kind] += 1
        text = ", ".join(map(repr, values))
        found.differences.append(f"{what}: {wanted[0]!r} read as {text} ({kind})")


def _compare_wide(entries: Sequence[Mapping[str, Any]], stored: Stored, found: Truth) -> None:
    """Runs that are cells or columns of a table: each is the stored one that is most alike.

    A run of such lines that is no entry is invented.
    """
    lines = sorted({entry["lines"][-1] for entry in entries})
    left = {run["run_id"]: run for line in lines for run in stored.runs.get(line, [])}
    wanted = [_wanted(entry) for entry in entries]
    alike = [
        (sum(same_field(n, one, stored.value(run, n)) for n, _, (one, *_) in fields), at, run_id)
        for at, (entry, fields) in enumerate(zip(entries, wanted, strict=True))
        for run_id, run in left.items()
        if run["line"] in entry["lines"] or run["last_line"] in entry["lines"]
    ]
    matched: dict[int, Mapping[str, Any]] = {}
    for count, at, run_id in sorted(alike, key=lambda one: -one[0]):
        if count and at not in matched and run_id in left:
            matched[at] = left.pop(run_id)
    found.invented += len(left)
    for at, (entry, fields) in enumerate(zip(entries, wanted, strict=True)):
        runs = [matched[at]] if at in matched else []
        for name, kind, values in fields:
            optional = not any(name in entry.get(kind, {}) for kind in ("near", "far")) and (
                name not in entry
            )
            given = runs and stored.value(runs[0], name) is not None
            if (given or not optional) and (not runs or stored.known(name, runs[0])):
                what = f"l.{entry['lines'][-1]} column {entry.get('column', '?')} {name}"
                _compare(what, kind, values, runs, stored, found)


def _wanted(entry: Mapping[str, Any]) -> list[tuple[str, str, list[object]]]:
    """Field, class and accepted values of a run that is a cell or a column."""
    accept, notes = entry.get("accept", {}), ("lines", "column", "accept", "derivable", "src")
    own = {name: value for name, value in entry.items()
           if name not in (*notes, "extra_cells", "near", "far")}  # fmt: skip
    fields = [(name, "cell", value) for name, value in own.items()]
    for kind in ("near", "far"):  # a value alone, or behind its line
        stated = entry.get(kind, {}).items()
        fields += [(name, kind, one[1] if isinstance(one, list) else one) for name, one in stated]
    # What may be given and need not be.
    fields += [(name, "far", ...) for name in accept if name not in {field[0] for field in fields}]
    return [
        (name, kind, [one for one in (value, *accept.get(name, ())) if one is not ...])
        for name, kind, value in fields
        if name not in _NOT_COMPARED
    ]


def _compare_findings(golden: Golden, stored: Stored, found: Truth) -> None:
    if "anomalies" not in golden:
        return
    graded = {
        grade: [one for one in golden["anomalies"] if one["grade"] == grade]
        for grade in ("error", "warn")
    }
    labelled = {line for ones in graded.values() for one in ones for line in one["lines"]}
    for rule, lines in stored.errors:
        true = not labelled.isdisjoint(lines)
        found.errors[rule] += 1
        found.errors_true[rule] += true
        if not true:
            found.differences.append(f"l.{min(lines)} {rule}: an error where the row is right")
    told: set[int] = set().union(*(lines for _, lines in stored.errors))
    found.contradictions = len(graded["error"])
    found.contradictions_found = sum(not told.isdisjoint(one["lines"]) for one in graded["error"])


def documents_of(golden: Path) -> list[Golden]:
    """The documents of a golden file; both forms of a row are brought to one."""
    documents: list[Golden] = json.loads(golden.read_text("utf-8"))["documents"]
    for document in documents:
        for one in document["tables"]:
            one.setdefault("last_line", max((row["line"] for row in one["rows"]), default=0))
            for row in one["rows"]:
                row.setdefault("values", {**row.get("record", {}), **as_reported(row)})
    return documents


def measure(golden: Path, folder: Path) -> dict[str, Truth]:
    """The truth of each document of a golden file that lies in the folder, by its name."""
    documents = [one for one in documents_of(golden) if (folder / one["file"]).is_file()]
    with tempfile.TemporaryDirectory() as scratch:
        db = read([folder / one["file"] for one in documents], Path(scratch))
        with open_read(db) as warehouse:
            uris = {Path(uri).name: uri for (uri,) in warehouse.rows("SELECT uri FROM sources")}
            return {
                one["file"]: truth_of(one, Stored(warehouse, uris.get(one["file"], "")))
                for one in documents
            }


def table(found: Mapping[str, Truth]) -> Iterator[str]:
    """One line a document, one of them all, and the errors by rule."""
    total = Truth()
    for one in found.values():
        total += one
    heads = ["document", "tables", *CLASSES, "far: given", "errors: true", "contradictions: found"]
    yield f"| {' | '.join([*heads, 'rows invented'])} |"
    yield f"| :-- |{' --: |' * len(heads)}"
    for name, one in [*found.items(), ("all", total)]:
        far = sum(counts["far"] for counts in (one.right, one.wrong, one.empty))
        cells = [
            f"{one.tables_read} of {one.tables}",
            *(f"{one.share(kind):.3f}" for kind in CLASSES),
            f"{one.right['far'] + one.wrong['far']} of {far}",
            f"{one.errors_true.total()} of {one.errors.total()}",
            f"{one.contradictions_found} of {one.contradictions}",
            str(one.invented),
        ]
        yield f"| {name[:40]} | {' | '.join(cells)} |"
    for rule, count in sorted(total.errors.items()):
        yield f"{rule}: {total.errors_true[rule]} of {count} errors true"


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables; with `--differences` every value that is wrong or missing, too."""
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--golden", type=Path, help="a golden file in place of those that are here")
    parser.add_argument("--documents", type=Path, help="the folder of its documents")
    parser.add_argument("--only", action="append", default=[], help="a part of a document's name")
    parser.add_argument("--differences", action="store_true", help="each value wrong or missing")
    options = parser.parse_args(words)
    pairs = [(ROOT / "data/golden/golden.json", ROOT / "data/tables")]
    if FURTHER[0].is_file():
        pairs.append(FURTHER)
    if options.golden:
        pairs = [(options.golden, options.documents or options.golden.parent)]
    for golden, folder in pairs:
        found = {
            name: one
            for name, one in measure(golden, folder).items()
            if not options.only or any(word in name for word in options.only)
        }
        if found:
            print("\n".join([*table(found), ""]))
        for name, one in found.items():
            if options.differences and one.differences:
                print("\n  ".join([name, *one.differences]) + "\n")


if __name__ == "__main__":
    main()
