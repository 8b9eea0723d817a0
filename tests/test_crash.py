"""Killed, raced and locked out: the warehouse holds whole files, each once."""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.project.after_ingest import after_ingest_into
from bench.schema.errors import LOCKED, Locked
from bench.schema.opening import open_read, open_write
from tests.making import doubted, everything, folder, whole
from tests.sharing import page, take
from tests.warm import Child, hold, read

KILLS = 30


def ended(db: Path) -> Path:
    """A copy of a warehouse after a kill, in which what was begun is brought to an end."""
    copy = db.with_name("ended.duckdb")
    for name in ("", ".wal"):
        Path(f"{copy}{name}").unlink(missing_ok=True)
        if (file := Path(f"{db}{name}")).exists():
            shutil.copy(file, f"{copy}{name}")
    after_ingest_into(copy, 5)
    return copy


def wait_for(db: Path, child: Child) -> float:
    """Until the file is there: before it a kill leaves nothing to look at; the time it is now."""
    while not db.exists() and child.process.exitcode is None:
        time.sleep(0.002)
    return time.monotonic()


@pytest.mark.slow
def test_kill_at_any_moment_leaves_whole_files_only(tmp_path: Path, db: Path) -> None:
    (tmp_path / ".git").mkdir()
    files = doubted(tmp_path / "logs", logs=40, tables=9, iterations=40)
    child = Child(read, files, db)
    there = wait_for(db, child)
    assert child.end() == 0
    lasted = time.monotonic() - there
    expected, printed = everything(db), page(db)
    chance = random.Random(20261120)
    partly = number = 0
    # On a busy machine many kills come before the first commit: go on until enough did not.
    while number < KILLS or (partly <= KILLS / 5 and number < 4 * KILLS):
        number += 1
        if db.exists() and (number % 3 == 0 or whole(db, 40) == 50):
            db.unlink()
            Path(f"{db}.wal").unlink(missing_ok=True)
        child = Child(read, files, db)
        wait_for(db, child)
        time.sleep(chance.uniform(0, lasted))
        child.kill()
        child.end()
        if db.exists() and (files_in := whole(db, 40)):
            partly += files_in < 50
            if number % 2:
                assert page(db) == page(ended(db))
    take(files, db)
    assert everything(db) == expected
    assert page(db) == printed
    assert partly > KILLS / 5, "the kills came too early or too late to prove anything"


@pytest.mark.slow
def test_several_processes_on_one_folder_double_nothing(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs", logs=30, tables=5, iterations=20)
    children = [Child(read, files, db) for _ in range(4)]
    assert [child.end() for child in children] == [0, 0, 0, 0]
    assert whole(db, 20) == 35
    alone = tmp_path / "bench2.duckdb"
    take(files, alone)
    assert everything(db) == everything(alone)
    assert not list(tmp_path.glob(".bench*")), "no draft is left"


@pytest.fixture
def holder(db: Path) -> Iterator[Child]:
    """A process that has the warehouse open for writing."""
    open_write(db).close()
    child = Child(hold, "open_write", db, 30)
    yield child
    child.kill()
    child.end()


def test_a_locked_warehouse_names_who_holds_it_in_time(holder: Child, db: Path) -> None:
    for opening in (open_read, open_write):
        began = time.monotonic()
        with pytest.raises(Locked, match="is locked") as error:
            opening(db, 0.5)
        assert 0.4 < time.monotonic() - began < 2
        assert error.value.exit_code == LOCKED == 4
        assert f"process {holder.pid} " in error.value.why


def test_readers_keep_a_writer_out_but_not_each_other(db: Path) -> None:
    open_write(db).close()
    child = Child(hold, "open_read", db, 30)
    with pytest.raises(Locked):
        open_write(db, 0.1)
    open_read(db, 0.1).close()
    child.kill()
    child.end()
    open_write(db, 1).close()


@pytest.mark.parametrize("opening", [open_read, open_write])
def test_who_waits_gets_in(db: Path, opening: type) -> None:
    open_write(db).close()
    child = Child(hold, "open_write", db, 0.5)
    opening(db, 5).close()
    child.end()


def test_the_same_process_locks_itself_out_in_words(db: Path) -> None:
    with open_write(db), pytest.raises(Locked, match="locked"):
        open_read(db, 0.1)
