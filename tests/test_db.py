"""The file of a warehouse: checked, copied, put back, and without what was deleted."""

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.schema.check import check
from bench.schema.copies import restore
from bench.schema.errors import FOUND, USAGE
from bench.schema.opening import open_read
from tests.making import doubted, everything
from tests.program import quick, told

OLD_SECRET = "hf_" + "abCDefGHijKLmnOPqrSTuvWXyzABcdEFgh"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of six logs, two tables and an annotation, with its stored views."""
    top = doubted(tmp_path_factory.mktemp("made") / "logs", logs=6, tables=1, iterations=20).parent
    ingest([top / "logs"], top / "bench.duckdb")
    after_ingest_into(top / "bench.duckdb", 5)
    return top


@pytest.fixture
def filled(made: Path, tmp_path: Path) -> Path:
    """A copy of it to work on."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "bench.duckdb"


def problems(db: Path, *, deep: bool = True) -> list[str]:
    with open_read(db) as warehouse:
        return [f"{one.name}: {p}" for one in check(warehouse, deep=deep) for p in one.problems]


def change(db: Path, *queries: str) -> None:
    """What no command of bench does to a file."""
    with duckdb.connect(str(db)) as con:
        for query in queries:
            con.execute(query)


def test_a_sound_warehouse_has_no_problems(filled: Path) -> None:
    assert problems(filled) == []
    assert quick(filled.parent, "db", "check", "--deep").code == 0


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("DELETE FROM raw.sources WHERE kind = 'log'", "ledger: logs/run000.log generation 1"),
        ("INSERT INTO raw.loads FROM raw.loads", "ledger: logs/run000.log generation 1 is there 2"),
        ("UPDATE raw.loads SET generation = 3", "before 3 is missing"),
        ("UPDATE raw.iterations SET load_id = 'gone'", "rows: raw.iterations: 120 rows of no load"),
        ("INSERT INTO raw.runs FROM raw.runs", "runs: run "),
        ("DELETE FROM raw.runs", "runs: raw.iterations: 120 rows of no run"),
        ("INSERT INTO raw.iterations FROM raw.iterations", "iterations: run "),
        ("UPDATE raw.sources SET lines = lines + 1", "line counts: load "),
        ("CREATE OR REPLACE VIEW runs AS SELECT 1 AS run_id", "views: view runs is not the one"),
        ("DROP VIEW runs CASCADE", "views: view runs is missing"),
        ("DELETE FROM materialized.runs", "stored views: runs: "),
    ],
)
def test_what_is_wrong_is_named(filled: Path, query: str, problem: str) -> None:
    change(filled, query)
    assert problem in "\n".join(problems(filled, deep="stored" in problem))


def test_a_problem_is_a_warning_and_the_exit_code(filled: Path) -> None:
    change(filled, "DELETE FROM raw.runs")
    checked = quick(filled.parent, "db", "check")
    assert checked.code == FOUND and "raw.iterations: 120 rows of no run" in checked.err
    assert "next: bench db restore BACKUP, or" in checked.err


def test_stored_views_are_computed_again(filled: Path) -> None:
    change(filled, "DELETE FROM materialized.runs")
    assert quick(filled.parent, "db", "rebuild").code == 0
    assert problems(filled) == []


def test_a_backup_comes_back_whole(filled: Path, tmp_path: Path) -> None:
    before, copy = everything(filled), tmp_path / "copy.duckdb"
    assert quick(tmp_path, "db", "backup", str(copy)).code == 0
    told(quick(tmp_path, "db", "backup", str(copy)), USAGE, "already exists")
    filled.write_bytes(b"no warehouse any more" * 1000)
    Path(f"{filled}.wal").write_bytes(b"of another file")
    assert quick(tmp_path, "db", "restore", str(copy)).code == 0
    assert everything(filled) == before and problems(filled) == []
    kept = tmp_path / "bench.duckdb.before-restore-1"
    assert kept.read_bytes().startswith(b"no warehouse")
    assert not list(tmp_path.glob(".bench*"))


def test_a_backup_has_the_writes_that_wait_where_a_link_leads(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(filled, copy)
    with duckdb.connect(str(copy)) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS one")
        (tmp_path / "link").symlink_to(copy)
        restore(tmp_path / "link", tmp_path / "back.duckdb", 5)
    with duckdb.connect(str(tmp_path / "back.duckdb")) as con:
        assert con.execute("FROM mine").fetchall() == [(1,)]


def test_a_damaged_backup_is_not_put_back(filled: Path, tmp_path: Path) -> None:
    before, copy = filled.read_bytes(), tmp_path / "copy.duckdb"
    assert quick(tmp_path, "db", "backup", str(copy)).code == 0
    data = bytearray(copy.read_bytes())
    copy.write_bytes(data[: len(data) // 2])
    assert quick(tmp_path, "db", "restore", str(copy)).code != 0
    assert filled.read_bytes() == before
    os.truncate(copy, 0)
    os.truncate(copy, 8 << 30)
    hole = quick(tmp_path, "db", "restore", str(copy))
    assert "copy.duckdb is not a warehouse" in hole.err and "try: name a backup" in hole.err
    told(quick(tmp_path, "db", "restore", "absent"), USAGE, "no backup at")
    told(quick(tmp_path, "db", "restore", str(filled)), USAGE, "the warehouse itself")


def test_what_killed_copies_left_is_swept(filled: Path, tmp_path: Path) -> None:
    left, fresh = (tmp_path / f".[kept].duckdb.{name}.new" for name in ("old", "now"))
    for draft in (left, fresh):
        draft.write_bytes(b"half of a warehouse")
    os.utime(left, (0, 0))
    assert quick(tmp_path, "db", "backup", "[kept].duckdb").code == 0
    assert fresh.exists() and not left.exists(), "another process may write it"


def test_a_stored_secret_is_found_by_place_and_purged_to_the_last_byte(filled: Path) -> None:
    change(filled, f"UPDATE raw.runs SET notes = 'token {OLD_SECRET}' WHERE line = 1")
    found = quick(filled.parent, "db", "check", "--secrets")
    assert found.code == FOUND and "logs/run001.log" in found.out and "runs.notes" in found.out
    assert OLD_SECRET not in found.text
    assert OLD_SECRET.encode() in filled.read_bytes()
    logs = sorted(f"logs/{path.name}" for path in (filled.parent / "logs").glob("*.log"))
    quick(filled.parent, "forget", logs[1])  # what is hidden is deleted too
    done = quick(filled.parent, "forget", "--purge", *logs)
    assert done.code == 0 and "logs/run001.log deleted" in done.err, done.text
    assert OLD_SECRET.encode() not in filled.read_bytes()
    assert not Path(f"{filled}.wal").exists()
    assert problems(filled) == []
    assert quick(filled.parent, "db", "check", "--secrets").code == 0
    ingest([filled.parent / "logs"], filled)
    assert problems(filled) == []


def test_what_another_file_shows_too_is_not_purged(filled: Path) -> None:
    twin = """INSERT INTO raw.loads SELECT * REPLACE ('logs/twin.log' AS uri)
              FROM raw.loads WHERE uri = 'logs/run000.log'"""
    change(filled, twin)
    assert quick(filled.parent, "forget", "--purge", "logs/run000.log").code == 0
    with open_read(filled) as warehouse:
        uris = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
        steps = "SELECT count(*) FROM iterations JOIN runs USING (run_id) WHERE uri LIKE '%twin%'"
        assert warehouse.rows(steps) == [(20,)]
    assert "logs/twin.log" in uris and "logs/run000.log" not in uris
    assert problems(filled) == []
    told(quick(filled.parent, "forget", "--purge", "--undo", "x"), USAGE, "cannot be undone")
