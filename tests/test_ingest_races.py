"""Files that change, and warehouses that others write, while an ingest reads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.ingest.files import content, planner
from bench.ingest.files.content import Content
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.summary import Summary
from bench.schema.opening import open_read
from tests.making import count, folder, iteration, log


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Path]:
    """A log that grows all the time."""
    file, stop = tmp_path / "growing.log", threading.Event()

    def grow() -> None:
        with file.open("w") as stream:
            for number in itertools.count(1):
                stream.write(iteration(number))
                if stop.wait(0.001 if number % 5 == 0 else 0):
                    return

    thread = threading.Thread(target=grow)
    thread.start()
    yield file
    stop.set()
    thread.join()


def test_a_file_that_grows_while_it_is_read(writer: Path, db: Path) -> None:
    while not writer.exists() or writer.stat().st_size < 50_000:
        pass
    for generation in (1, 2, 3):
        assert ingest([writer], db).failed == []
        with open_read(db) as warehouse:
            [(rows, last, runs)] = warehouse.rows(
                "SELECT count(*), max(iteration), count(DISTINCT run_id) FROM iterations"
            )
            assert warehouse.rows("SELECT max(generation) FROM loads") == [(generation,)]
        assert (rows, runs) == (last, 1)


def test_a_file_that_is_rewritten_while_it_is_read_is_read_again(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.log"
    file.write_text(log(3))
    rewrites = iter([log(4, 90), log(5, 80)])
    confirm = Content.confirm

    def rewritten(content: Content) -> None:
        if text := next(rewrites, None):
            content.path.write_text(text)
        confirm(content)

    monkeypatch.setattr(Content, "confirm", rewritten)
    assert ingest([file], db).new == 1
    assert count(db, "iterations") == 5
    file.write_text(log(6, 6))
    rewrites = (log(number, number) for number in itertools.count(7))
    summary = ingest([file], db)
    assert [uri for uri, _ in summary.failed] == ["run.log"]
    assert count(db, "iterations") == 5, "nothing but what was there"


def test_a_long_log_that_is_rewritten_behind_its_hash_is_read_again(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "LONG_BYTES", 0)
    file = tmp_path / "run.log"
    file.write_text(log(3))
    ingest([file], db)
    file.write_text(log(6, 6))
    rewrites = iter([log(7, 7), log(8, 8)])

    def rewritten(path: Path, *more: int | None) -> Content:
        found = content.fingerprint_of(path, *more)
        if text := next(rewrites, None):
            path.write_text(text)
        return found

    monkeypatch.setattr(planner, "fingerprint_of", rewritten)
    assert ingest([file], db).failed == []
    assert count(db, "iterations") == 8
    file.write_text(log(9, 9))
    rewrites = (log(number, number) for number in itertools.count(10))
    assert [uri for uri, _ in ingest([file], db).failed] == ["run.log"]
    assert count(db, "iterations") == 8, "nothing but what was there"


class Racer:
    """Stores a file from another process's point of view, between plan and commit."""

    def __init__(self, path: Path, db: Path) -> None:
        self.path, self.db = path, db
        self.summary: Summary | None = None

    def __call__(self, uri: str) -> None:
        if self.summary is None and uri.endswith("table001.md"):
            self.summary = Summary()
            self.summary = ingest([self.path], self.db)


def test_what_another_process_stores_meanwhile_is_not_doubled(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")
    racer = Racer(files, db)
    ingest([files], db, progress=racer)
    assert racer.summary is not None and racer.summary.new == 5
    assert count(db, "runs") == count(db, "raw.runs") == 5
    assert count(db, "loads") == 5
