"""The history of documents: numbers that appear, change and go, as git has them."""

from __future__ import annotations

import json
from contextlib import chdir
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.decide.history import history
from bench.decide.query import Query
from bench.ingest.files.pipeline import ingest
from bench.project import history_reading as module
from bench.project.after_ingest import after_ingest_into
from bench.project.history_reading import HistorySummary
from bench.project.read_history import read_history
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.histories import Repository, document
from tests.program import quick

ROWS = [
    "1 | 8 | 1 | 1 | 1 | 64 | 10.0 | 60.1",
    "1 | 4 | 2 | 1 | 1 | 64 | 12.0 | 50.2",
    "2 | 8 | 2 | 1 | 1 | 64 | 6.0 | 50.1",
]
FASTER = ["1 | 8 | 1 | 1 | 1 | 64 | 8.0 | 75.1", *ROWS[1:]]


def events(db: Path, row: str | None = None, **more: Any) -> list[tuple[Any, ...]]:
    """Kind, number, old, new and day of each event."""
    with open_read(db) as warehouse:
        found = history(warehouse, Query(**more), row).rows
    return [(e["kind"], e["name"], e["old"], e["new"], f"{e['date']:%d}") for e in found]


def tables(db: Path) -> list[Any]:
    """What is stored of histories, but for when it was read and the name of the reading."""
    with open_read(db) as warehouse:
        rows = "SELECT number, kind, line, settings, printed, numbers FROM raw.row_changes"
        parts = (
            "SELECT number, commit_id, message FROM raw.commits",
            "SELECT number, uri, renamed_from, kind, blob, lines FROM raw.revisions",
            rows,
        )
        return [warehouse.rows(f"{part} ORDER BY ALL") for part in parts]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A row that changes, is renamed with its document, moves, goes and returns."""
    made = Repository(tmp_path_factory.mktemp("life") / "repo")
    made.commit({"a.md": document(ROWS), "notes.md": "# Notes\n\nnothing\n"}, "First sweep")
    made.commit({"a.md": document(FASTER)}, "Fused kernels")
    long = "# Sweep of 1.3B on V100 32GB, sequence length 2048\n\nA word.\n\nAnd another.\n"
    made.commit({"a.md": document(FASTER, text=long)}, "Say more")
    made.git("mv", "a.md", "b.md")
    made.commit({}, "Rename")
    made.commit({"b.md": document(FASTER[1:], text=long)}, "Remove a row")
    made.commit({"b.md": document(FASTER, text=long)}, "Put it back")
    return made


@pytest.fixture(scope="module")
def lived(life: Repository) -> tuple[Path, HistorySummary]:
    """Its history, in a warehouse at its top."""
    db = life.folder / "bench.duckdb"
    return db, read_history(life.folder, db)


def test_a_number_appears_changes_goes_and_returns(lived: tuple[Path, HistorySummary]) -> None:
    assert events(lived[0], "b:10") == [
        ("appeared", "step_time_s", None, "10.0", "01"),
        ("appeared", "tflops", None, "60.1", "01"),
        ("changed", "step_time_s", "10.0", "8.0", "02"),
        ("changed", "tflops", "60.1", "75.1", "02"),
        ("went", "step_time_s", "8.0", None, "05"),
        ("went", "tflops", "75.1", None, "05"),
        ("returned", "step_time_s", None, "8.0", "06"),
        ("returned", "tflops", None, "75.1", "06"),
    ]


def test_rows_that_moved_or_were_renamed_add_nothing(lived: tuple[Path, HistorySummary]) -> None:
    db, told = lived
    assert told.changes == {"added": 3, "changed": 1, "removed": 1, "returned": 1}
    assert (told.documents, told.commits) == (1, 6)
    with open_read(db) as warehouse:
        found = warehouse.rows("SELECT uri, renamed_from, kind FROM revisions ORDER BY number")
        assert ("b.md", "a.md", "renamed") in found
        assert not warehouse.rows("FROM runs"), "no run of today"
        [(names,)] = warehouse.rows("SELECT list(DISTINCT author) FROM commits")
    assert len(names) == 1 and "Ada" not in names[0] and "example" not in names[0]


def test_each_event_has_its_commit(lived: tuple[Path, HistorySummary], life: Repository) -> None:
    with open_read(lived[0]) as warehouse:
        made = history(warehouse, Query(model="1.3B"), metric="step_time")
    faster = next(event for event in made.rows if event["kind"] == "changed")
    ids = life.git("log", "--reverse", "--format=%H").split()
    assert (faster["commit"], faster["message"]) == (ids[1], "Fused kernels")
    assert faster["date"] == datetime(2022, 1, 2) and faster["change"] == pytest.approx(-0.2)
    assert made.facts["row_count"] == 3


def test_rows_stay_the_same_ones_under_other_headings_and_in_a_file_written_anew(
    tmp_path: Path,
) -> None:
    """As in a published history: a heading with a command came in between, and what is read around
    the table with it; then most of the text was written anew under another name."""
    rows = [f"{n} | {n} | 1 | 1 | 4 | {64 * n} | {20 + n}.5 | 4{n}.1" for n in range(1, 6)]
    made = Repository(tmp_path / "repository")
    made.commit({"a/old.md": document(rows, text="# Sweep\n\n## Metrics\n\n### Megatron, 1.3B")})
    text = "# Sweep\n\n## How\n\n--seq-length 2048 --fp16\n\n### Megatron, 1.3B"
    made.commit({"a/old.md": document(rows, text=text)})
    long = "\n\n".join(f"# Part {n}\n\n{'Other words. ' * 9}" for n in range(30))
    rows[0] = rows[0].replace("21.5", "20.9")
    made.commit({"a/old.md": None, "b/new.md": document(rows, text=f"{long}\n\n# 1.3B")})
    db = tmp_path / "bench.duckdb"
    told = read_history(made.folder, db)
    assert (told.documents, told.changes["added"], told.changes["removed"]) == (1, 5, 0)
    with open_read(db) as warehouse:
        found = history(warehouse, Query(), "new.md:" + str(len(long.splitlines()) + 6), None).rows
    changed = [(one["old"], one["new"], one["uri"]) for one in found if one["kind"] == "changed"
               and not one["is_setting"]]  # fmt: skip
    assert changed == [("21.5", "20.9", "repository/b/new.md")]


def test_what_has_no_history_is_said(tmp_path: Path, lived: tuple[Path, HistorySummary]) -> None:
    made = Repository(tmp_path / "empty")
    with pytest.raises(BenchError, match="nothing is committed on main yet"):
        read_history(made.folder, tmp_path / "bench.duckdb")
    for address in ("https://example.org/a/b", "git@example.org:a/b"):
        with chdir(made.folder), pytest.raises(BenchError, match="is an address") as told:
            read_history(Path(address), tmp_path / "bench.duckdb")
        assert "git clone" in told.value.hint
    with pytest.raises(BenchError, match="no row of model '176B'") as told:
        events(lived[0], model="176B")
    assert "1.3B (3)" in told.value.why


def test_a_second_reading_takes_new_commits_alone(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    read_history(made.folder, db)
    assert (read_history(made.folder, db).blobs, len(tables(db)[0])) == (0, 1)
    made.commit({"a.md": document(FASTER)})
    made.commit({"a.md": document(FASTER[1:])})
    told = read_history(made.folder, db)
    assert (told.commits, told.blobs, told.restart_reason) == (2, 2, "")
    made.commit({"a.md": document(FASTER)})
    assert read_history(made.folder, db).changes == {"returned": 1}
    read_history(made.folder, tmp_path / "other.duckdb")
    assert tables(db) == tables(tmp_path / "other.duckdb")


def test_a_reading_that_is_cut_short_goes_on(
    tmp_path: Path, life: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH_BLOBS", 1)
    monkeypatch.setattr(module, "_CHUNK_BLOBS", 1)
    whole, cut = tmp_path / "whole.duckdb", tmp_path / "cut.duckdb"
    read_history(life.folder, whole)
    for last in (3, 4, 9):
        left = iter(range(last))

        def progress(_: str, left: Any = left) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        try:
            read_history(life.folder, cut, progress=progress)
        except KeyboardInterrupt:
            continue
    assert tables(cut) == tables(whole)


def test_a_merge_is_one_revision_of_its_branch(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    made.git("checkout", "-q", "-b", "side")
    made.commit({"a.md": document([ROWS[0].replace("10.0", "9.0"), *ROWS[1:]])}, "Not yet")
    made.commit({"a.md": document(FASTER)}, "Now")
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    read_history(made.folder, db)
    assert next(one for one in events(db) if one[0] == "changed")[2:4] == ("10.0", "8.0")
    assert [message for _, _, message in tables(db)[0]] == ["A change", "Merge side"]
    read_history(made.folder, db, branch="side")
    assert next(one for one in events(db) if one[0] == "changed")[2:4] == ("10.0", "9.0")


def test_a_rewritten_branch_is_read_again_and_counts(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    made.commit({"a.md": document(FASTER)})
    read_history(made.folder, db)
    made.git("reset", "-q", "--hard", "HEAD~1")
    made.commit({"a.md": document([ROWS[0].replace("10.0", "7.0"), *ROWS[1:]])})
    assert "rewritten" in read_history(made.folder, db).restart_reason
    assert [one[2:4] for one in events(db) if one[0] == "changed"] == [("10.0", "7.0")]


def test_a_history_may_begin_later_and_elsewhere(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"docs/a.md": document(ROWS), "b.md": document(ROWS)})
    made.commit({"docs/a.md": document(FASTER)})
    made.commit({"docs/a.md": document(FASTER[1:])})
    told = read_history(made.folder / "docs", db, since=datetime(2022, 1, 3))
    assert told.changes == {"added": 3, "removed": 1}
    assert [number for number, _, _ in tables(db)[0]] == [0, 1]
    assert {uri for _, uri, *_ in tables(db)[1]} == {"r/docs/a.md"}
    assert "begins on 2022-01-03" in read_history(made.folder / "docs", db).restart_reason


def test_names_of_authors_are_kept_when_asked(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    read_history(made.folder, db)
    assert "names" in read_history(made.folder, db, authors=True).restart_reason
    with open_read(db) as warehouse:
        found = warehouse.rows("SELECT author FROM row_versions")
    assert {author for (author,) in found} == {"Ada <ada@example.org>"}


def test_records_have_a_history(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    source = tmp_path / "s.md"
    folder = made.folder / "results"
    (tmp_path / ".git").mkdir()
    for rows in (ROWS, FASTER):
        source.write_text(document(rows))
        assert quick(tmp_path, "ingest", str(source)).code == 0
        done = quick(tmp_path, "export", "--records", str(folder))
        assert done.code == 0, done.text
        made.commit({})
    read_history(made.folder, db)
    assert ("appeared", "step_time_s", None, "10.0", "01") in events(db)
    assert ("changed", "step_time_s", "10.0", "8.0", "02") in events(db), "its file is renamed"


def test_what_is_in_no_history_is_said(lived: tuple[Path, HistorySummary], tmp_path: Path) -> None:
    for row, what in (("b:3", "no row has stood on line 3"), ("zz:1", "no document of a history")):
        with pytest.raises(BenchError, match=what):
            events(lived[0], row)
    with pytest.raises(BenchError, match="in no git repository"):
        read_history(tmp_path, tmp_path / "bench.duckdb")
    with pytest.raises(BenchError, match="unknown git revision"):
        read_history(lived[0].parent, tmp_path / "bench.duckdb", branch="nowhere")


def test_the_command_lists_and_draws(life: Repository, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    db = ("--db", str(tmp_path / "x.duckdb"))
    done = quick(tmp_path, "ingest", "--history", str(life.folder), *db)
    assert done.code == 0 and "rows: 3 added, 1 changed, 1 removed, 1 returned" in done.err
    found = json.loads(quick(tmp_path, "history", "b:10", "--format", "json", *db).out)
    assert [one["new"] for one in found if one["name"] == "tflops"] == [
        "60.1",
        "75.1",
        None,
        "75.1",
    ]
    text = quick(tmp_path, "history", "--metric", "step_time", "--format", "md", *db).out
    assert "Fused kernels" in text and "-20.0%" in text
    done = quick(tmp_path, "history", "b:10", "-o", str(tmp_path / "h.svg"), *db)
    assert done.code == 0 and "8.0" in (tmp_path / "h.svg").read_text()
    done = quick(tmp_path, "trend", "step_time", "--by", "revision", *db)
    assert done.code == 0 and "2022-01-06" in done.out
    assert quick(tmp_path, "ingest", str(life.folder), "--authors", *db).code == 2


def test_the_present_is_as_without_a_history(life: Repository, tmp_path: Path) -> None:
    pages = []
    for with_history in (False, True):
        db = tmp_path / f"{with_history}.duckdb"
        with chdir(life.folder):
            ingest([Path("b.md")], db)
            after_ingest_into(db, 5.0)
            if with_history:
                read_history(life.folder, db)
        read = (("report",), ("runs", "--all"), ("audit",), ("best",))
        pages.append([quick(tmp_path, *one, "--db", str(db)).out for one in read])
    assert pages[0] == pages[1] and "8/1/1" in pages[0][0]
