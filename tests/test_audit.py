"""What the audit says of the documents that the project knows, and how it says it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.audit.finding import Finding
from bench.audit.formulas import function
from bench.audit.interval import Interval, Printed, largest_agreement
from bench.audit.places import placed
from bench.audit.reference import table
from bench.audit.run import audit, rules
from bench.ingest.files.pipeline import ingest_into
from bench.schema.catalogue import formulas
from bench.schema.opening import in_memory
from bench.schema.warehouse import Warehouse
from tests.auditing import ERRORS
from tests.program import quick

Line = tuple[str, int]


# Rows with an error in the documents of data/tables: (document, line) -> rule, words to suggest.
def found_in(folder: Path) -> list[Finding]:
    with in_memory() as warehouse:
        ingest_into(warehouse, sorted(folder.glob("[0-9]*.md")), folder)
        return placed(warehouse, audit(warehouse), folder)


@pytest.fixture(scope="module")
def findings(root: Path) -> list[Finding]:
    return found_in(root / "data" / "tables")


def errors(findings: list[Finding]) -> dict[Line, Finding]:
    graves = [one for one in findings if one.severity == "error"]
    return {(uri[:3], line): one for one in graves for uri, line in one.rows()}


def test_the_errors_of_the_five_documents(findings: list[Finding]) -> None:
    found = errors(findings)
    assert found.keys() == ERRORS.keys()
    for line, (rule, words) in ERRORS.items():
        names = [re.sub("[a-z]", "", name) for name in found[line].rules]
        assert rule in names, (line, names)
        assert words in found[line].suggestion, (line, found[line].suggestion)


def test_values_that_slipped_a_line_name_their_row(findings: list[Finding]) -> None:
    shifted = errors(findings)["001", 29]
    assert shifted.suggestion.endswith("Nodes=1024, as line 30 has")
    assert "0.59 fits 1024, that of line 30" in shifted.evidence


def golden_lines(shared: Path, severity: str) -> dict[str, set[Line]]:
    golden = json.loads((shared / "golden" / "golden_seeds.json").read_text("utf-8"))
    return {
        issue["id"]: {(issue["doc"], line) for line in issue["lines"]}
        for issue in golden["issues"]
        if issue["severity"] == severity
    }


def test_precision_and_recall_on_the_whole_documents(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = found_in(shared / "seeds")
    told = []
    for ours, theirs in (("error", "error"), ("warning", "warn"), ("note", "info")):
        wanted = golden_lines(shared, theirs)
        anything = {line for name in ("error", "warn", "info")
                    for lines in golden_lines(shared, name).values() for line in lines}  # fmt: skip
        mine = [one for one in findings if one.severity == ours]
        lines = {(uri[:3], line) for one in mine for uri, line in one.rows()}
        every = {(uri[:3], line) for one in findings for uri, line in one.rows()}
        seen = sum(bool(golden & every) for golden in wanted.values())
        true = sum(bool({(u[:3], n) for u, n in one.rows()} & anything) for one in mine)
        told.append(f"{ours}: {len(mine)} findings, precision {true / len(mine):.2f}, "
                    f"recall {seen / len(wanted):.2f} of {len(wanted)} golden")  # fmt: skip
        if ours == "error":
            rows = set().union(*wanted.values()) | {("001", 44), ("001", 45)}
            assert lines == rows
    with capsys.disabled():
        print("\n" + "\n".join(told))


def test_one_document_alone_says_the_same(findings: list[Finding], root: Path) -> None:
    for document in sorted((root / "data" / "tables").glob("[0-9]*.md")):
        with in_memory() as warehouse:
            ingest_into(warehouse, [document], document.parent)
            alone = audit(warehouse)
        # Documents are compared with each other by R12, and only where there are several.
        together = [one for one in findings if one.uri == document.name and one.rule != "R12"]
        assert [one.message for one in alone] == [one.message for one in together]


def test_every_cell_stands_where_the_finding_says(findings: list[Finding], root: Path) -> None:
    for one in findings:
        lines = (root / "data" / "tables" / one.uri).read_text("utf-8").splitlines()
        assert one.cells and one.evidence and one.message
        for cell in one.cells:
            assert cell.text in lines[cell.line - 1]
            if cell.column:
                assert lines[cell.line - 1][cell.column - 1 :].startswith(cell.text)


def test_every_rule_says_what_it_is() -> None:
    for rule in rules():
        assert re.fullmatch(r"R\d+[a-z]?", rule.id)
        assert all((rule.title, rule.tests, rule.threshold))
        assert re.fullmatch(r"[a-z][a-z-]+", rule.slug)
        assert rule.severity in ("error", "warning", "note")


def test_every_rule_is_in_the_manual(root: Path) -> None:
    manual = (root / "docs" / "audit.md").read_text("utf-8")
    assert table() in manual, "make generate"


@pytest.fixture(scope="module")
def warehouse() -> Iterator[Warehouse]:
    with in_memory() as made:
        yield made


def test_formulas_in_python_are_those_of_the_warehouse(warehouse: Warehouse) -> None:
    for formula in formulas():
        if formula.unit != "FLOP per iteration":
            continue
        names, call = function(formula.name)
        values = [float(place + 3) for place, _ in enumerate(names)]
        [(there,)] = warehouse.rows(f"SELECT {formula.macro}({', '.join(map(str, values))})")
        assert call(*values) == pytest.approx(there, rel=1e-14)


def test_intervals() -> None:
    printed = Printed(3.7, 0.05)
    assert printed.rounded == Interval(3.7 - 0.05, 3.7 + 0.05)
    assert printed.either.high == pytest.approx(3.8), "cut off, it may be almost 3.8"
    assert (Interval(1, 2) * Interval(3, 4)) == Interval(3, 8)
    assert (Interval(1, 2) / Interval(4, 5)) == Interval(0.2, 0.5)
    assert Interval(1, 2).meets(2.0) and not Interval(1, 2).meets(2.1)
    spans = [Interval(0, 1), Interval(0.9, 2), Interval(5, 6), Interval(0.95, 3)]
    assert largest_agreement(spans) == [0, 1, 3]
    assert largest_agreement([]) == []


def test_the_command(root: Path, tmp_path: Path) -> None:
    source = root / "data" / "tables" / "001_1.3b_benchmarking.md"
    (tmp_path / "README.md").write_bytes(source.read_bytes())
    done = quick(tmp_path, "audit", "README.md", "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.out)
    assert done.code == 1, "errors stand"
    keys = {"rule", "rules", "severity", "confidence", "file", "line", "column", "message",
            "evidence", "suggestion", "cells"}  # fmt: skip
    assert all(keys <= one.keys() for one in found)
    assert all(
        cell.keys() == {"file", "line", "column", "text"} for f in found for cell in f["cells"]
    )
    assert {one["severity"] for one in found} <= {"error", "warning", "note"}
    assert quick(tmp_path, "audit", "README.md", "--fail-on", "never").code == 0
    assert "README.md:29" in quick(tmp_path, "audit", "README.md", "--format", "md").out


def test_clean_documents_pass(root: Path, tmp_path: Path) -> None:
    source = root / "data" / "tables" / "003_check_tcmalloc.md"
    (tmp_path / "README.md").write_bytes(source.read_bytes())
    assert quick(tmp_path, "audit", "README.md").code == 0
    assert quick(tmp_path, "audit", "README.md", "--fail-on", "warning").code == 0


def test_annotations_of_github(root: Path, tmp_path: Path) -> None:
    source = root / "data" / "tables" / "001_1.3b_benchmarking.md"
    (tmp_path / "README.md").write_bytes(source.read_bytes())
    out = quick(tmp_path, "audit", "README.md", "--format", "github").out
    for line in out.splitlines():
        assert re.match(
            r"::(error|warning|notice) file=README\.md,line=\d+(,col=\d+)?,title=", line
        )
    assert "::error file=README.md,line=29" in out


def test_sarif(root: Path, tmp_path: Path) -> None:
    source = root / "data" / "tables" / "001_1.3b_benchmarking.md"
    (tmp_path / "a b.md").write_bytes(source.read_bytes())
    log = json.loads(quick(tmp_path, "audit", "a b.md", "--format", "sarif").out)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    names = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(names) == len(set(names))
    for result in run["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        for place in (*result["locations"], *result.get("relatedLocations", ())):
            where = place["physicalLocation"]
            assert where["artifactLocation"]["uri"] == "a%20b.md"
            assert where["region"]["startLine"] >= 1
            assert where["region"].get("startColumn", 1) >= 1


def test_a_comment_closes_a_finding(root: Path, tmp_path: Path) -> None:
    text = (root / "data" / "tables" / "001_1.3b_benchmarking.md").read_text("utf-8")
    text += "\n<!-- bench audit: ok R6 l.44: measured twice -->\n"
    (tmp_path / "README.md").write_text(text)
    found = json.loads(quick(tmp_path, "audit", "README.md", "--format", "json").out)
    closed = [one for one in found if one["closed"]]
    assert [(one["rule"], one["line"], one["closed"]) for one in closed] == [
        ("R6", 44, "measured twice")
    ]


def test_nothing_is_said_of_a_document_without_numbers(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("| Nodes | DP | TFLOPs |\n|--|--|--|\n| 1 | 1 | - |\n")
    done = quick(tmp_path, "audit", "README.md", "--format", "json")
    assert (done.code, json.loads(done.out)) == (0, [])
