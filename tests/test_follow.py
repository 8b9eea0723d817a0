"""What a follower reads at each look, and what it tells of files that it cannot read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench.ingest.files.summary import Summary
from bench.schema.opening import open_read
from bench.watch.follow import Follower
from tests.making import count, iteration, log

DAMAGED = b"\x1f\x8b\x08\x00 no more of it"


def test_a_file_that_is_never_read_makes_no_other_be_read_again(tmp_path: Path, db: Path) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log.gz"
    good.write_text(log(5))
    bad.write_bytes(DAMAGED)
    follower = Follower([good, bad], db, 5.0)
    assert follower.store().uris == ["good.log"]
    for _ in range(2):
        again = follower.store()
        assert [uri for uri, _ in again.failed] == ["bad.log.gz"], "it is tried again"
        assert again.uris == [], "the other one was not touched"
    good.write_text(log(6))
    assert follower.store().uris == ["good.log"]


def test_each_folder_is_listed_once_a_look(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"run{number}.log" for number in range(9)]
    for number, file in enumerate(files):
        file.write_text(log(3, 100.0 + number))
    follower = Follower(files, db, 5.0)
    follower.store()
    listed: list[str] = []
    scandir = os.scandir

    def counted(path: str) -> object:
        listed.append(os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    for file in files:
        file.rename(file.with_suffix(".log.1"))
    follower._follow_moved()
    assert listed == [str(tmp_path)]
    assert sorted(path.name for path in follower.files()) == [f"run{n}.log.1" for n in range(9)]


def test_each_reason_is_told_once_until_the_file_is_read(tmp_path: Path, db: Path) -> None:
    follower = Follower([tmp_path], db, 5.0)
    denied = Summary(failed=[("a.log", "Permission denied")])
    full = Summary(failed=[("a.log", "No space left on device")])
    looks = [denied, denied, full, denied, Summary(uris=["a.log"]), denied]
    told = [[text.rpartition(": ")[2] for text in follower.failures(look)] for look in looks]
    assert told == [
        ["Permission denied"], [], ["No space left on device"], [], [], ["Permission denied"],
    ]  # fmt: skip


def test_a_folder_that_becomes_a_file(tmp_path: Path, db: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "run.log").write_text(log(5))
    follower = Follower([folder / "run.log", tmp_path / f"{'x' * 300}.log"], db, 5.0)
    assert follower.store().new == 1
    shutil.rmtree(folder)
    folder.write_text("no folder\n")
    assert follower.store().failed == [] and follower.uris() == {}
    assert count(db, "iterations") == 5


def test_logs_that_have_grown_are_gone_on_with_whatever_their_number(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"run{number:02d}.log" for number in range(17)]
    for number, file in enumerate(files):
        file.write_text(log(4, 100.0 + number))
    follower = Follower(files, db, 5.0)
    follower.store()
    for number, file in enumerate(files):
        if number:
            with file.open("a") as stream:
                stream.write(iteration(5, 100.0 + number))
    opened: list[object] = []

    def counted(path: Path, lock_timeout: float) -> object:
        opened.append(path)
        return open_read(path, lock_timeout)

    monkeypatch.setattr("bench.ingest.files.pipeline.open_read", counted)
    summary = follower.store()
    assert (summary.grown, summary.failed) == (16, [])
    assert len(opened) == 1 + 2, "for what is known, and for eight logs at once"
    assert count(db, "iterations") == 17 * 4 + 16
