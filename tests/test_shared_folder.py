"""A folder as a shared warehouse: numbers of commits, and files that nobody needs any more."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from bench.schema.commits import Change, repeated
from bench.schema.copies import compact_at
from bench.schema.errors import BenchError
from bench.schema.folder import Folder
from bench.schema.location import place_of
from bench.schema.opening import open_read, open_write
from bench.schema.warehouse import transaction
from tests.sharing import INSERT, at, furnished, hidden, made
from tests.warm import Child


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(tmp_path / "here", monkeypatch)


def test_no_file_of_a_writer_at_work_is_collected(tmp_path: Path) -> None:
    place = place_of(made("folder", tmp_path))
    data = tmp_path / "shelf" / "data"
    assert place.commit(0, hidden("first", lambda: None)) == 1

    def collected(days: int) -> None:
        for file in data.iterdir():  # written by a machine whose clock is of another year
            os.utime(file, (0, 0))
        assert place.collect(timedelta(days=days)) == 1

    for days in (0, 1):
        late = hidden("late", partial(collected, days))
        assert place.commit(place.latest(), late) is None
        assert place.commit(place.latest(), hidden("late", lambda: None))
        assert place.check() == (len(list(data.iterdir())), [])
    tables = [one.tables for one in place.history()]
    assert tables == [("hidden",), (), ("hidden",), (), ("hidden",)]


def test_a_number_is_never_free_again(tmp_path: Path) -> None:
    place = place_of(made("folder", tmp_path))
    for number in range(3):
        change = hidden(str(number), lambda: None)
        assert place.commit(number, Change(0, change.tables, whole=number == 2)) == number + 1
    assert place.collect(timedelta(0)) == 2
    assert isinstance(place, Folder)
    assert not place._claim(1, place._entry(1))
    assert [one.number for one in place.history()] == [3]


def test_writers_beside_a_process_that_collects(tmp_path: Path) -> None:
    place = made("folder", tmp_path)
    children = [Child(add, furnished(tmp_path / name), name, place) for name in ("a", "b")]
    rounds = 0
    while any(child.process.is_alive() for child in children):
        place_of(place).collect(timedelta(0))
        rounds += 1
    assert [child.end() for child in children] == [0, 0] and rounds > 10
    compact_at(place, 5)
    assert place_of(place).collect(timedelta(0)) > 0
    assert place_of(place).check() == (1, [])
    with open_read(place) as warehouse:
        found = warehouse.rows("SELECT id FROM raw.hidden ORDER BY ALL")
    assert found == [(f"{name}{number}",) for name in "ab" for number in range(8)]


def add(ready: Connection, machine: Path, name: str, place: Path) -> None:
    """A writer on a machine of its own, of a row in each commit."""
    os.environ["XDG_CACHE_HOME"] = str(machine)
    ready.send("ready")

    @repeated
    def one(number: int) -> None:
        with open_write(place) as warehouse, transaction(warehouse):
            warehouse.con.execute(INSERT, [f"{name}{number}"])

    for number in range(8):
        one(number)


def test_a_folder_takes_a_number_once_and_names_what_it_lacks(tmp_path: Path) -> None:
    place = place_of(made("folder", tmp_path))
    assert place.commit(0, Change(0, {})) == 1
    assert place.commit(0, Change(0, {})) is None
    with pytest.raises(BenchError, match="not empty"):
        place.create(None)
    (tmp_path / "shelf" / "commits" / "0000000001.json").write_text('{"files": [{"name": "../x"}]}')
    with pytest.raises(BenchError, match="commit 1"):
        list(place.changes(0))
