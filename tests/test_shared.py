"""A shared warehouse, as a folder and as a lake: commands alike, many writers, each row once."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest
from bench.reports.forget import forget, purge_sources
from bench.schema.commits import CommitConflict, Retry, repeated
from bench.schema.copies import backup, compact_at, share
from bench.schema.errors import BenchError
from bench.schema.extensions import load
from bench.schema.lake import _created
from bench.schema.location import place_of
from bench.schema.migrate import now_utc
from bench.schema.opening import open_read, open_write
from bench.schema.warehouse import transaction
from tests.making import doubted, folder, log
from tests.program import quick
from tests.sharing import INSERT, at, killed, made, needs_lake, page, raced, stored, tailed, take

SECRET = "hf_" + "abCDefGHijKLmnOPqrSTuvWXyzABcdEFgh"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(tmp_path / "here", monkeypatch)


@pytest.fixture(params=["folder", "sqlite", pytest.param("duckdb", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An empty shared warehouse."""
    return made(request.param, tmp_path)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return folder(tmp_path / "logs", logs=3, tables=2, iterations=5)


def shown(db: Path) -> list[tuple[object, ...]]:
    """The runs that a warehouse shows."""
    with open_read(db) as warehouse:
        return warehouse.rows("SELECT run_id, uri FROM runs ORDER BY ALL")


def test_a_shared_warehouse_shows_what_a_file_shows(
    place: Path, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for db in (place, tmp_path / "bench.duckdb"):
        take(logs, db)
    assert stored(place) == stored(tmp_path / "bench.duckdb")
    latest = place_of(place).latest()
    take(logs, place)
    assert place_of(place).latest() == latest, "known files are no commit"
    pages = [
        quick(tmp_path, "report", "--db", str(db)) for db in (place, tmp_path / "bench.duckdb")
    ]
    assert pages[0].out == pages[1].out and "124M" in pages[0].out
    at(tmp_path / "there", monkeypatch)
    assert stored(place) == stored(tmp_path / "bench.duckdb")


def test_a_replica_follows_what_other_machines_store(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, machine in enumerate(("one", "two", "one", "two")):
        at(tmp_path / machine, monkeypatch)
        files = folder(tmp_path / f"logs{number}", logs=1, tables=1, iterations=3 + number)
        take(files, place)
        assert stored(place)["loads"] == 2 * (number + 1)


def test_a_log_that_grows_keeps_its_newest_checkpoint_everywhere(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.log"
    for iterations in (5, 9, 14):
        at(tmp_path / f"machine{iterations % 2}", monkeypatch)
        file.write_text(log(iterations))
        ingest([file], place, live=True)
        with open_read(place) as warehouse:
            assert warehouse.rows("SELECT count(*) FROM raw.checkpoints") == [(1,)]
            assert warehouse.rows("SELECT count(*) FROM iterations") == [(iterations,)]


def test_who_was_overtaken_stores_nothing_and_begins_anew(place: Path) -> None:
    with open_write(place) as one:
        with open_write(place) as other, transaction(other):
            other.con.execute(INSERT, ["other"])
        with pytest.raises(CommitConflict), transaction(one):
            one.con.execute(INSERT, ["one"])
        assert one.rows("FROM raw.hidden") == []
    tries = []

    @repeated
    def insistent() -> None:
        with open_write(place) as one:
            tries.append(len(one.rows("FROM raw.hidden")))
            if len(tries) == 1:
                with open_write(place) as other, transaction(other):
                    other.con.execute(INSERT, ["faster"])
            with transaction(one):
                one.con.execute(INSERT, ["one"])

    insistent()
    assert tries == [1, 2]
    with open_read(place) as warehouse:
        names = warehouse.rows("SELECT id FROM raw.hidden ORDER BY 1")
    assert names == [("faster",), ("one",), ("other",)]


@pytest.mark.parametrize(
    ("failure", "most"), [(CommitConflict(), 5000), (Retry("the connection was lost"), 200)]
)
def test_who_is_overtaken_is_more_patient_than_who_is_cut_off(
    failure: Retry, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1,000 writers that begin at once some are overtaken hundreds of times."""
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)

    @repeated
    def insistent() -> None:
        raise failure

    with pytest.raises(Retry):
        insistent()
    assert len(pauses) == most - 1 and max(pauses) <= 1


def test_rows_that_another_tool_leaves_in_the_catalog_are_taken_in(tmp_path: Path) -> None:
    place = made("sqlite", tmp_path)
    ingest([folder(tmp_path / "logs", logs=1, tables=0)], place)
    before = stored(place)
    with duckdb.connect() as con:
        load(con, "ducklake")
        load(con, "sqlite_scanner")
        con.execute(f"ATTACH '{place}' AS wh")
        con.execute(INSERT.replace("raw", "wh.raw"), ["theirs"])
    assert stored(place) == before
    with open_read(place) as warehouse:
        assert warehouse.rows("SELECT id FROM raw.hidden") == [("theirs",)]


def test_a_lake_that_a_killed_process_did_not_finish_is_made(tmp_path: Path) -> None:
    needs_lake("sqlite_scanner")
    name, data = f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/lake.sqlite.files"
    (tmp_path / "lake.sqlite.lock").touch()
    with duckdb.connect() as con:
        load(con, "ducklake")
        load(con, "sqlite_scanner")
        con.execute(f"ATTACH '{name}' AS wh (DATA_PATH '{data}/')")
    done = quick(tmp_path, "db", "info", "--db", name)
    assert done.code == 2 and "bench db init" in done.err, done.text
    for words in (["db", "init"], ["db", "check"], ["db", "info"]):
        done = quick(tmp_path, *words, "--db", name)
        assert done.code == 0, done.text


def test_a_commit_that_a_killed_process_did_not_see_is_taken_in(place: Path) -> None:
    with open_write(place) as warehouse:
        assert warehouse.replica is not None
        with pytest.raises(KeyboardInterrupt), transaction(warehouse):
            warehouse.con.execute(INSERT, ["seen"])
            warehouse.replica.publish(warehouse.con)
            raise KeyboardInterrupt
    with open_read(place) as warehouse:
        assert warehouse.rows("SELECT id FROM raw.hidden") == [("seen",)]


def test_hidden_and_purged_sources_are_so_everywhere(
    place: Path, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = logs / "secret.log"
    secret.write_text((logs / "run000.log").read_text() + f"a line that says {SECRET[3:20]}\n")
    take(logs, place)
    at(tmp_path / "there", monkeypatch)
    assert stored(place)["loads"] == 6
    forget(place, ["run001.log"], undo=False, lock_timeout=5)
    assert purge_sources(place, ["secret.log"], lock_timeout=5) == ["logs/secret.log"]
    at(tmp_path / "here", monkeypatch)
    assert stored(place)["loads"] == 5
    with open_read(place) as warehouse:
        uris = {uri for (uri,) in warehouse.rows("SELECT uri FROM sources")}
    assert uris == {"logs/run000.log", "logs/run002.log", "logs/table000.md", "logs/table001.md"}


def test_compaction_and_collection_change_no_row(
    place: Path, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in sorted(logs.iterdir()):
        ingest([file], place)
    before = stored(place)
    at(tmp_path / "there", monkeypatch)
    compact_at(place, 5)
    assert place_of(place).collect(timedelta(days=1)) == 0, "all files are of today"
    assert stored(place) == before
    assert place_of(place).collect(timedelta(0)) > 0
    assert place_of(place).check()[1] == []
    for machine in ("there", "here", "nowhere yet"):
        at(tmp_path / machine, monkeypatch)
        assert stored(place) == before


def test_a_file_is_copied_to_a_shared_place_and_back(
    place: Path, logs: Path, tmp_path: Path
) -> None:
    db = tmp_path / "bench.duckdb"
    take(logs, db)
    rows = share(db, place, None, 5)
    assert rows > sum(stored(place).values()) > 0
    backup(place, tmp_path / "back.duckdb", 5)
    assert stored(tmp_path / "back.duckdb") == stored(place) == stored(db)
    assert shown(tmp_path / "back.duckdb") == shown(db)
    with pytest.raises(BenchError, match="not empty"):
        share(db, place, None, 5)


def test_a_page_as_a_commit_left_it(place: Path, logs: Path, tmp_path: Path) -> None:
    def page(*words: str) -> str:
        done = quick(tmp_path, "report", "--db", str(place), "--format", "md", *words)
        assert done.code == 0, done.text
        return done.out

    ingest([logs], place)
    before, number, at = page(), place_of(place).latest(), now_utc().isoformat(" ")
    folder(logs / "more", logs=2, tables=1, iterations=7)
    ingest([logs], place)
    now = page()
    assert now != before
    compact_at(place, 1)
    assert page("--known-at", str(number)) == before
    assert page("--known-at", str(place_of(place).latest())) == now
    for wrong in (0, 9_999):
        done = quick(tmp_path, "report", "--db", str(place), "--known-at", str(wrong))
        assert done.code == 2 and f"no commit {wrong}" in done.err, done.text
    place_of(place).collect(timedelta(0))
    done = quick(tmp_path, "report", "--db", str(place), "--known-at", str(number))
    assert done.code == 2 and f"commit {number} of {place} is no longer kept" in done.err, done.text
    assert page("--known-at", at) == before, "no row is removed"
    done = quick(tmp_path, "report", "--db", "x.duckdb", "--known-at", "3")
    assert done.code == 2 and "is a file" in done.err, done.text


def test_a_place_that_is_made_anew_is_another(place: Path, logs: Path, tmp_path: Path) -> None:
    ingest([logs], place)
    assert shown(place)
    files = list(Path(str(place).rpartition(":")[2]).parent.glob("[sl][ha]*"))  # shelf, lake.sqlite
    for one in files:
        os.renames(one, tmp_path / "before" / one.name)
    _created.cache_clear()  # as in the next process
    place_of(place).create(None)
    assert shown(place) == []
    (tmp_path / "other.log").write_text(log(4))
    ingest([tmp_path / "other.log"], place)
    assert len(shown(place)) == 1


def test_a_damaged_replica_is_made_anew(place: Path, logs: Path) -> None:
    take(logs, place)
    before = stored(place)
    with open_read(place) as warehouse:
        file = warehouse.path
    assert file is not None
    file.write_bytes(b"\0" * 4096)
    assert stored(place) == before


def test_readers_and_a_writer_on_one_machine_do_not_wait(place: Path, logs: Path) -> None:
    take(logs, place)
    with open_write(place) as writer, open_read(place, 0) as one, open_read(place, 0) as two:
        assert one.path == two.path != writer.path


@pytest.mark.slow
def test_four_writers_of_the_same_and_of_other_files(place: Path, tmp_path: Path) -> None:
    same = folder(tmp_path / "same", logs=4, tables=2, iterations=4)
    others = [
        folder(tmp_path / f"of{number}", logs=2, tables=1, iterations=5 + number)
        for number in (0, 1)
    ]
    raced(place, tmp_path, [same, same, *others])
    for files in (same, *others):
        take(files, tmp_path / "bench.duckdb")
    expected = stored(tmp_path / "bench.duckdb")
    found = stored(place)
    assert {name: found[name] for name in expected if name not in ("findings", "audits")} == {
        name: expected[name] for name in expected if name not in ("findings", "audits")
    }
    with open_read(place) as warehouse:
        twice = """SELECT load_id, rules_version, facts FROM raw.audits
                   GROUP BY ALL HAVING count(*) > 1"""
        assert warehouse.rows(twice) == []


@pytest.mark.slow
def test_kill_at_any_moment_leaves_whole_files_only(place: Path, tmp_path: Path) -> None:
    files = doubted(tmp_path / "logs", logs=20, tables=2, iterations=20)
    killed(place, tmp_path, files, kills=6, longest_s=5.0)
    take(files, place)
    take(files, tmp_path / "bench.duckdb")
    assert stored(place)["iterations"] == 20 * 20
    assert page(place) == page(tmp_path / "bench.duckdb")


@pytest.mark.slow
def test_tails_of_one_log_beside_who_compacts(place: Path, tmp_path: Path) -> None:
    tailed(place, tmp_path, tails=2, pieces=4)
    with open_read(place) as warehouse:
        query = "SELECT count(*), count(DISTINCT iteration) FROM iterations"
        assert warehouse.rows(query) == [(20, 20)]
    # What a longer reading of the log stands for is kept, as in a file, and not shown.
    assert stored(place)["iterations"] >= 20


def test_commands_of_a_shared_warehouse(place: Path, logs: Path, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "bench.toml").write_text(f'db = "{place}"\n')
    assert quick(tmp_path, "ingest", "logs").code == 0
    for words in (["db", "check", "--deep"], ["db", "compact"], ["db", "gc"], ["db", "rebuild"],
                  ["db", "info"], ["db", "snapshots"], ["runs"]):  # fmt: skip
        done = quick(tmp_path, *words)
        assert done.code == 0, done.text
    assert "is shared" in quick(tmp_path, "db", "restore", "x.duckdb").err
