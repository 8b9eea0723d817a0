"""What one author states anew takes the place of what they said before."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from shutil import copytree

import pytest

from bench.project.merging import MergeSource, contradicting, merge_all
from bench.schema.as_of import show_as_known_at
from bench.schema.opening import open_read
from tests.facts_files import fact
from tests.making import table
from tests.program import quick

ROW = "2 | 1.3B | 8 | 1 | 1 | 1 | 512 | 23 | 44.4"
OUTCOMES = "SELECT value, outcome, stated, author FROM annotations ORDER BY value"
NEW, OLD = ("4096", "counts", None, "Ada"), ("2048", "superseded", "4096", "Ada")


def stated(value: str, day: str, author: str = "Ada", match: str = 'file = "x.md"') -> str:
    """An entry about the length of sequences."""
    signed = f'reason = "by the script"\nauthor = "{author}"\ndate = {day}\n'
    return fact(match, "seq_len", value, signed)


FIRST, LATER = stated("2048", "2026-01-01"), stated("4096", "2999-03-01")


@pytest.fixture
def place(folder: Path) -> Path:
    (folder / "x.md").write_text(table(ROW))
    return folder


def outcomes(folder: Path, *paths: str) -> list[tuple[str, ...]]:
    done = quick(folder, "sql", OUTCOMES, *paths, "--format", "json")
    assert done.code == 0, done.text
    return [tuple(one.values()) for one in json.loads(done.out)]


def exported(folder: Path, name: str, facts: str) -> None:
    """The records of x.md with these facts alone."""
    (folder / "facts.toml").write_text(facts)
    assert quick(folder, "export", "--records", name, "x.md").code == 0
    (folder / "facts.toml").unlink()


@pytest.mark.parametrize("facts", [FIRST + LATER, LATER + FIRST])
def test_the_later_statement_of_an_author_counts(place: Path, facts: str) -> None:
    (place / "facts.toml").write_text(facts)
    done = quick(place, "ingest", "x.md")
    assert "states" not in done.err, done.text
    assert outcomes(place) == [OLD, NEW]
    page = quick(place, "report").out
    assert "superseded on 2999-03-01 by facts.toml:" in page and "4096 (used)" in page
    for at, used in (("2998-01-01", 2048), ("2999-03-01", 4096)):
        with open_read(place / "bench.duckdb") as warehouse:
            show_as_known_at(warehouse, datetime.fromisoformat(at))
            assert warehouse.rows("SELECT seq_len FROM configurations") == [(used,)], at


@pytest.mark.parametrize("other", [
    stated("4096", "2026-03-01", author="Bob"),
    stated("4096", "2026-03-01", match='file = "*"'),  # of more rows: an exception to it stands
    stated("4096", "2026-01-01"),
])  # fmt: skip
def test_what_replaces_nothing_is_told_with_what_to_do(place: Path, other: str) -> None:
    (place / "facts.toml").write_text(FIRST + other)
    done = quick(place, "ingest", "x.md")
    assert "2048 is used; take one of them back: withdrawn" in done.err, done.text
    assert [one[1] for one in outcomes(place)] == ["counts", "outvoted"]


def test_a_withdrawn_statement_replaces_nothing(place: Path) -> None:
    back = 'withdrawn = 2999-04-01\nwithdrawn_because = "no"\n'
    (place / "facts.toml").write_text(FIRST + LATER.rstrip("\n") + "\n" + back)
    assert quick(place, "ingest", "-q", "x.md").code == 0
    assert [one[:2] for one in outcomes(place)] == [("2048", "counts"), ("4096", "withdrawn")]


def test_records_of_two_times_tell_the_later_one(place: Path) -> None:
    """Each has one value alone: who says it and when is what tells which is the newer."""
    exported(place, "old", FIRST)
    exported(place, "new", LATER)
    exported(place, "bob", stated("1024", "2026-02-01", author="Bob"))
    copytree(place / "old", place / "both")
    copytree(place / "new", place / "both", dirs_exist_ok=True)
    done = quick(place, "ingest", "both")
    assert "another record" not in done.err, done.text
    assert outcomes(place) == [OLD, NEW]
    assert "4,096" in quick(place, "report").out
    assert quick(place, "export", "--records", "again", "both").code == 0
    assert [one[:2] for one in outcomes(place, "again")] == [
        ("2048", "withdrawn"), ("4096", "counts")
    ]  # fmt: skip
    copytree(place / "bob", place / "both", dirs_exist_ok=True)
    assert "another record" in quick(place, "ingest", "both").err, "two authors contradict"


def test_groups_that_state_a_value_anew_do_not_contradict(place: Path) -> None:
    exported(place, "a", FIRST)
    exported(place, "b", LATER)
    exported(place, "c", stated("1024", "2026-02-01", author="Bob"))
    db = place / "all.duckdb"
    merge_all(db, [MergeSource(name, place / name) for name in "ab"], None, 5.0)
    assert contradicting(db, 5.0) == []
    with open_read(db) as warehouse:
        assert warehouse.rows(OUTCOMES) == [OLD, NEW]
    merge_all(db, [MergeSource("c", place / "c")], None, 5.0)
    [found] = contradicting(db, 5.0)
    assert "1024 stated by" in found and "4096 stated by" in found and "2048" not in found
