"""Whoever reads between a load and what follows from it sees what an ingest leaves when it ends."""

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.schema.location import place_of
from bench.schema.opening import open_read, open_write
from bench.schema.warehouse import transaction
from tests.making import doubted
from tests.program import quick
from tests.sharing import at, made, take

PAGE = ("report", "--format", "md")


@pytest.fixture
def logs(folder: Path) -> Path:
    return doubted(folder / "logs")


@pytest.fixture(params=["file", "folder", "sqlite"])
def place(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    at(folder / "here", monkeypatch)
    return folder / "bench.duckdb" if request.param == "file" else made(request.param, folder)


def shown(folder: Path, *words: str) -> str:
    """A page, without warnings; the copy that it was made from is gone."""
    done = quick(folder, *(words or PAGE))
    assert done.code == 0 and not done.err.startswith("warning"), done.text
    return done.out


def test_a_page_between_a_load_and_its_findings(
    logs: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("BENCH_DB", str(place))
    ingest([logs], place)
    between = shown(logs.parent)
    assert "A64FX" in between and "wrong:5" in between.partition("## Excluded")[2], between
    assert list(scratch.glob("bench-*")) == []
    with open_read(place) as warehouse:
        assert warehouse.rows("FROM raw.audits") == [], "who reads stores nothing"
    after_ingest_into(place, 5)
    assert shown(logs.parent) == between


def test_a_page_as_of_a_commit_between_them(
    logs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(folder / "here", monkeypatch)
    shelf = made("folder", folder)
    monkeypatch.setenv("BENCH_DB", str(shelf))
    ingest([logs], shelf)
    number, between = place_of(shelf).latest(), shown(folder)
    after_ingest_into(shelf, 5)
    assert place_of(shelf).latest() > number
    assert shown(folder, *PAGE, "--known-at", str(number)) == between


@pytest.mark.parametrize(
    "words",
    [
        ("forget", "run001"),
        ("forget", "--purge", "run001.log"),
        ("db", "compact"),
        ("db", "rebuild"),
    ],
)
def test_upkeep_in_between_hides_nothing_that_is_left_to_do(
    logs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("BENCH_DB", str(folder / "bench.duckdb"))
    ingest([logs], folder / "bench.duckdb")
    done = quick(folder, *words)
    assert done.code == 0, done.text
    between = shown(folder)
    assert "wrong:5" in between.partition("## Excluded")[2], between
    assert quick(folder, "ingest", "logs/table000.md").code == 0
    assert shown(folder) == between


def test_what_other_rules_found_counts_until_the_next_ingest(
    logs: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = folder / "bench.duckdb"
    monkeypatch.setenv("BENCH_DB", str(db))
    take(logs, db)
    before, words = shown(folder), "in the words of other rules"
    with open_write(db) as warehouse, transaction(warehouse):
        warehouse.con.execute("UPDATE raw.audits SET rules_version = 1")
        warehouse.con.execute("UPDATE raw.findings SET title = ?", [words])
    assert words in shown(folder) and words in shown(
        folder, "best", "--format", "json", "--verbose"
    )
    after_ingest_into(db, 5)
    assert shown(folder) == before
