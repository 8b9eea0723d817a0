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
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.ingest.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.schema.warehouse import Warehouse, open_read
from tests.scoring import Golden, as_reported, plain

ROOT = Path(__file__).resolve().parent.parent
CLASSES = ("cell", "near", "far")
FURTHER = (ROOT.parent / "shared/golden/golden_more.json", ROOT.parent / "shared/documents")

# Golden names -> columns of `runs` and `topology`, where they differ.
_COLUMNS = {
    "gpus": "devices",
    "size": "model",
    "nlayers": "layers",
    "nhidden": "hidden",
    "nheads": "heads",
    "gas": "grad_accum",
    "precision": "dtype",
    "act_ckpt": "recompute",
}
_METRICS = {
    "sec_per_it": "step_time_s",
    "tflops": "tflops",
    "mfu": "mfu",
    "hfu": "hfu",
    "mem_value": "memory",
    "tokens_per_s": "tokens_per_s",
    "tokens_per_s_per_gpu": "tokens_per_s_per_device",
    "samples_per_s": "samples_per_s",
}
_PERCENT = ("mfu", "hfu")
_RECOMPUTE = {"none": False, "full": True, "selective": "selective"}
# Notes on a row rather than values of it; tests/scoring.py compares them.
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


class Stored:
    """Rows and findings of one document in a warehouse, by line."""

    def __init__(self, warehouse: Warehouse, uri: str) -> None:
        def rows(query: str) -> Iterator[dict[str, Any]]:
            yield from warehouse.dicts(query, [uri])

        self.runs: dict[int, list[dict[str, Any]]] = defaultdict(list)
        query = """SELECT r.*, t.* EXCLUDE (run_id) FROM runs r JOIN topology t USING (run_id)
                   WHERE r.uri = ? AND origin = 'row' ORDER BY line, row_number"""
        for row in rows(query):
            for line in range(row["line"], row["last_line"] + 1):  # a run may be a column
                self.runs[line].append(row)
        self.metrics: dict[tuple[str, str], float] = {
            (row["run_id"], row["metric"]): row["value"]
            for row in rows("SELECT m.* FROM measurements m JOIN runs USING (run_id) WHERE uri = ?")
        }
        self.texts: dict[int, list[str]] = defaultdict(list)
        for row in rows(
            "SELECT c.line, c.raw FROM cells c JOIN tables USING (table_id) WHERE uri = ?"
        ):
            self.texts[row["line"]].append(row["raw"])
        query = """SELECT f.rule, list(DISTINCT f.line) AS lines FROM findings f
                   LEFT JOIN tables t USING (table_id) LEFT JOIN runs r USING (run_id)
                   WHERE coalesce(t.uri, r.uri) = ? AND f.severity = 'error'
                   GROUP BY f.audit_id, f.number, f.rule"""
        self.errors = [(row["rule"], set(row["lines"])) for row in rows(query)]

    def value(self, run: Mapping[str, Any], name: str) -> object:
        """The stored value of a golden field, None where nothing is stored."""
        if name in _METRICS:
            found = self.metrics.get((run["run_id"], _METRICS[name]))
            if found is None and name == "tokens_per_s":  # as printed, whosever it turned out to be
                found = self.metrics.get((run["run_id"], "tokens_per_s_per_device"))
            if found is None and name == "tflops":
                of_job = self.metrics.get((run["run_id"], "aggregate_pflops"))
                found = of_job * 1e3 if of_job is not None else None
            return found * 100 if found is not None and name in _PERCENT else found
        if name == "act_ckpt":
            return _RECOMPUTE.get(run["recompute"])
        return run.get(_COLUMNS.get(name, name))

    def known(self, name: str, run: Mapping[str, Any]) -> bool:
        """Whether a golden field is one of ours; the text of other columns is kept as it stands."""
        return name in _METRICS or _COLUMNS.get(name, name) in run


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
    spans = [(table["header_line"], table["last_line"]) for table in golden["tables"]]
    for table in golden["tables"]:
        if table.get("kind", "benchmark") != "benchmark":
            continue
        found.tables += 1
        found.tables_read += any(row["line"] in stored.runs for row in table["rows"])
        for row in table["rows"]:
            _compare_row(row, stored, found)
    # Rows of tables that the golden reading leaves out as a whole are judged by hand.
    found.invented = sum(
        len(runs)
        for line, runs in stored.runs.items()
        if line not in lines and any(first <= line <= last for first, last in spans)
    )
    _compare_findings(golden, stored, found)
    return found


def _compare_row(row: Mapping[str, Any], stored: Stored, found: Truth) -> None:
    runs = stored.runs.get(row["line"], [])
    for name, kind in row["field_class"].items():
        if kind not in CLASSES or name in _NOT_COMPARED:
            continue
        wanted = [row["values"][name], *row.get("accept", {}).get(name, [])]
        values = [stored.value(run, name) for run in runs] or [None]
        if runs and not stored.known(name, runs[0]):
            if kind == "cell":
                found.right[kind] += (kept := _kept(wanted, stored.texts[row["line"]]))
                found.empty[kind] += not kept
                if not kept:
                    found.differences.append(f"l.{row['line']} {name}: {wanted[0]!r} not kept")
            continue
        what = f"l.{row['line']} {name}: {wanted[0]!r}"
        if any(_same(one, value) for value in values for one in wanted):
            found.right[kind] += 1
        elif all(value is None for value in values):
            found.empty[kind] += 1
            if kind != "far":
                found.differences.append(f"{what} not read ({kind})")
        else:
            found.wrong[kind] += 1
            text = ", ".join(map(repr, values))
            found.differences.append(f"{what} read as {text} ({kind})")


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


def _kept(wanted: Iterable[object], texts: Iterable[str]) -> bool:
    return any(
        plain(one) == plain(text) or _number(text) == one for text in texts for one in wanted
    )


def _same(wanted: object, value: object) -> bool:
    if not plain(wanted) and value is None:  # a dash is nothing
        return True
    if wanted is None or value is None:
        return False
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    if isinstance(wanted, int | float) and isinstance(value, int | float):
        return math.isclose(wanted, value, rel_tol=1e-6)
    return plain(wanted) == plain(value)


def _number(text: str) -> float | bool | None:
    if text.strip().lower() in ("y", "yes", "true", "n", "no", "false"):
        return text.strip().lower()[0] in "yt"
    found = re.match(r"\s*-?\d+(?:\.\d+)?(?:e\d+)?", text)
    return float(found[0]) if found else None


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
