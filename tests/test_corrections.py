"""Corrections: dated, shown beside what is reported, withdrawn, left out of a page."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from shutil import copytree

import pytest

from bench.project.facts_file import read_facts
from bench.records.reading import rows_of_record
from bench.schema.as_of import show_as_known_at
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.facts_files import SIGNED, fact
from tests.making import table
from tests.program import quick

ROW = "2 | 1.3B | 8 | 1 | 1 | 1 | 512 | 23 | 44.4"
SINCE = SIGNED + "known_since = 2026-01-31\n"
BACK = SINCE + 'withdrawn = 2026-05-04\nwithdrawn_because = "it was another queue"\n'
TOLD = "SELECT field, value, outcome, reason FROM annotations ORDER BY ALL"


def facts(folder: Path, signed: str) -> None:
    (folder / "facts.toml").write_text(
        fact('file = "x.md"', "seq_len", "2048", signed) + fact('file = "x.md"', "tp", "4", signed)
    )


def told(folder: Path, *paths: str) -> list[dict[str, str]]:
    done = quick(folder, "sql", TOLD, *paths, "--format", "json")
    assert done.code == 0, done.text
    found: list[dict[str, str]] = json.loads(done.out)
    return found


@pytest.fixture
def place(folder: Path) -> Path:
    (folder / "x.md").write_text(table(ROW))
    facts(folder, SINCE)
    return folder


def test_a_correction_is_shown_beside_what_is_reported(place: Path) -> None:
    assert quick(place, "ingest", "-q", "x.md").code == 0
    reason = "measured twice; known since 2026-01-31"
    assert [(one["field"], one["outcome"], one["reason"]) for one in told(place)] == [
        ("seq_len", "counts", reason), ("tp", "contradicts", reason)
    ]  # fmt: skip
    page = quick(place, "report").out
    assert "seq_len = 2048" in page and "tp = 4" in page and "1 (used)" in page
    assert "tokens/s" in page.partition("## ")[0]


def test_a_page_without_corrections(place: Path) -> None:
    assert quick(place, "ingest", "-q", "x.md").code == 0
    for paths in ((), ("x.md",)):
        page = quick(place, "report", *paths, "--without-corrections")
        assert page.code == 0, page.text
        assert "‡" not in page.out and "2048" not in page.out
        assert "‡" in quick(place, "report", *paths).out, "and nothing was changed"
    (place / "facts.toml").unlink()
    alone = quick(place, "report", "x.md").out
    facts(place, SINCE)
    assert quick(place, "report", "x.md", "--without-corrections").out == alone
    assert quick(place, "report", "x.md", "--without-corrections", "--set", "tp=2").code == 2


def test_a_withdrawn_correction_stays_listed(place: Path) -> None:
    facts(place, BACK)
    assert quick(place, "ingest", "-q", "x.md").code == 0
    assert {(one["field"], one["outcome"]) for one in told(place)} == {
        ("seq_len", "withdrawn"), ("tp", "withdrawn")
    }  # fmt: skip
    page = quick(place, "report").out
    assert "withdrawn on 2026-05-04: it was another queue" in page
    rates = "SELECT count(*) AS n FROM metric_tokens_per_s"
    assert json.loads(quick(place, "sql", rates, "--format", "json").out) == [{"n": 0}]


def test_a_withdrawn_exception_closes_nothing(folder: Path, data: Path) -> None:
    text = (data / "tables" / "001_1.3b_benchmarking.md").read_bytes()
    (folder / "001.md").write_bytes(text)
    match = 'file = "001", line = 44, rule = "R6"'
    for signed, closed in ((SIGNED, 1), (BACK, 0)):
        (folder / "facts.toml").write_text(fact(match, "finding", '"exception"', signed))
        found = json.loads(quick(folder, "audit", "001.md", "--format", "json").out)
        assert sum(bool(one["closed"]) for one in found) == closed


def test_what_was_closed_at_a_time_is_judged_by_its_dates(folder: Path, data: Path) -> None:
    """A fact closes a finding from when it is known until it is taken back, as values count."""
    (folder / "001.md").write_bytes((data / "tables" / "001_1.3b_benchmarking.md").read_bytes())
    match = 'file = "001", line = 44, rule = "R6"'
    dates = 'known_since = 2999-01-01\nwithdrawn = 2999-06-01\nwithdrawn_because = "no"\n'
    (folder / "facts.toml").write_text(fact(match, "finding", '"exception"', SIGNED + dates))
    assert quick(folder, "ingest", "-q", "001.md").code == 0
    query = "SELECT count(*) FROM findings WHERE closed <> ''"
    with open_read(folder / "bench.duckdb") as warehouse:
        assert warehouse.rows(query) == [(0,)]
    for at, closes in (("2998-01-01", False), ("2999-03-01", True), ("2999-06-01", False)):
        with open_read(folder / "bench.duckdb") as warehouse:
            show_as_known_at(warehouse, datetime.fromisoformat(at))
            assert (warehouse.rows(query)[0][0] > 0) == closes, at


def test_when_and_why_go_together(place: Path) -> None:
    facts(place, SIGNED + "withdrawn = 2026-05-04\n")
    with pytest.raises(BenchError, match="invalid fact"):
        read_facts(place / "facts.toml")


def test_corrections_of_two_branches_are_merged(folder: Path) -> None:
    """Each exports the same run with facts of its own; in one folder they come together."""
    (folder / "x.md").write_text(table(ROW))
    for field, value in (("seq_len", "2048"), ("device", '"V100"'), ("device", '"A100"')):
        (folder / "facts.toml").write_text(fact('file = "x.md"', field, value))
        assert quick(folder, "export", "--records", f"r{value.strip(chr(34))}", "x.md").code == 0
    (folder / "facts.toml").unlink()
    for name in ("r2048", "rV100"):
        copytree(folder / name, folder / "merged", dirs_exist_ok=True)
    for uri, n in (("merged", 2), ("r2048", 1)):
        assert len(told(folder, uri)) == n
    assert {(one["field"], one["value"]) for one in told(folder, "merged")} == {
        ("seq_len", "2048"), ("device", "V100")
    }  # fmt: skip
    assert len(list((folder / "merged").rglob("*.json"))) == 2
    copytree(folder / "rA100", folder / "merged", dirs_exist_ok=True)
    done = quick(folder, "ingest", "merged")
    assert done.code == 0 and "another record" in done.err and "A100" in done.err, done.text
    assert sum(one["field"] == "device" for one in told(folder)) == 1, "one of them is used"


def test_what_is_known_since_and_taken_back_travels_with_records(place: Path) -> None:
    """Two branches: one states a value, the other has taken it back; that does not conflict."""
    for signed, name in ((SINCE, "stated"), (BACK, "taken")):
        facts(place, signed)
        assert quick(place, "export", "--records", name, "x.md").code == 0
    (place / "facts.toml").unlink()
    record = next((place / "stated").rglob("*.json"))
    [times] = json.loads(record.read_text())["corrections"]
    assert (times["field"], times["known_since"]) == ("seq_len", "2026-01-31")
    assert [(one["field"], one["outcome"]) for one in told(place, "stated")] == [
        ("seq_len", "counts")
    ]
    copytree(place / "stated", place / "both")
    copytree(place / "taken", place / "both", dirs_exist_ok=True)
    for folder in ("taken", "both"):
        found = told(place, folder)
        assert {(one["field"], one["outcome"]) for one in found} == {
            ("seq_len", "withdrawn"), ("tp", "withdrawn")
        }, folder  # fmt: skip
        assert "it was another queue" in found[0]["reason"]
    assert quick(place, "export", "--records", "again", "both").code == 0
    assert told(place, "again") == told(place, "both")
    broken = record.read_text().replace("2026-01-31", "31.1.2026")
    rows = rows_of_record(broken.encode(), record.name, "s")
    assert not rows.by_table["runs"]
    assert "no date" in str(rows.by_table["warnings"][0]["message"])


def test_a_correction_counts_from_when_it_is_known_until_it_is_taken_back(place: Path) -> None:
    """What the warehouse knew at a time, of dates that lie behind the reading."""
    later = SIGNED + "known_since = 2999-01-01\n"
    back = SIGNED + 'withdrawn = 2999-06-01\nwithdrawn_because = "no"\n'
    (place / "facts.toml").write_text(
        fact('file = "x.md"', "seq_len", "2048", later)
        + fact('file = "x.md"', "device", '"V100"', back)
        + fact('file = "x.md"', "device", '"A100"')
        + fact('file = "x.md"', "tp", "4", back)
    )
    assert quick(place, "ingest", "-q", "x.md").code == 0
    query = "SELECT field, value, outcome, stated FROM annotations ORDER BY ALL"
    device = ("device", "A100", "outvoted", "V100"), ("device", "V100", "counts", None)
    length, tp = ("seq_len", "2048", "counts", None), ("tp", "4", "contradicts", "1")
    taken = ("device", "A100", "counts", None), ("device", "V100", "withdrawn", None)
    for at, expected in (
        ("2998-01-01", [*device, tp]),
        ("2999-03-01", [*device, length, tp]),
        ("2999-06-01", [*taken, length, ("tp", "4", "withdrawn", "1")]),
    ):
        with open_read(place / "bench.duckdb") as warehouse:
            show_as_known_at(warehouse, datetime.fromisoformat(at))
            assert warehouse.rows(query) == expected, at
            [(seq_len,)] = warehouse.rows("SELECT seq_len FROM configurations")
            assert seq_len == (None if at < "2999" else 2048)
