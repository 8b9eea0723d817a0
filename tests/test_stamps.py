"""LedgerEntry files that nobody touched are not read again; whatever may have changed is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench.ingest.files import planner
from bench.ingest.files.content import (
    Changed,
    Content,
    is_untouched,
    read_content,
    read_small,
    stamp_of,
)
from bench.ingest.files.inputs import Input
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.source import read_file
from bench.ingest.files.task import Task
from bench.ingest.version import PARSER_VERSION
from bench.schema.arrow import to_arrow
from bench.schema.ledger import STEP_NS, TICK_NS, Ledger, Stamp, read_ledger
from bench.schema.opening import open_read

LOG = (
    " iteration {n}/ 10 | elapsed time per iteration (ms): 100.0 | lm loss: 2.0E+00 |"
    " number of skipped iterations: 0 | number of nan iterations: 0 |\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.log"
    path.write_text("".join(LOG.format(n=n) for n in range(1, 10)))
    settle(path)
    return path


def settle(path: Path) -> None:
    """Wait until no write could go unseen."""
    while not stamp_of(path).settled:
        pass


def ledger_of(log: Path) -> Ledger:
    with open_read(log.with_name("bench.duckdb")) as warehouse:
        return read_ledger(warehouse)


def read_in(log: Path) -> tuple[int, int, int]:
    """Reads the log in; gives how many files were known, new or changed, and losses of 9."""
    db = log.with_name("bench.duckdb")
    summary = ingest([log], db)
    with open_read(db) as warehouse:
        [(nines,)] = warehouse.rows("SELECT count(*) FROM iterations WHERE loss = 9")
    return summary.known, len(summary.uris) - summary.known, nines


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose bytes were looked at."""
    found: list[Path] = []

    def noted(path: Path, stamp: Stamp) -> Content | None:
        found.append(path)
        return read_small(path, stamp)

    monkeypatch.setattr(planner, "read_small", noted)
    return found


def untouched(log: Path) -> bool:
    return is_untouched(Input(str(log), "run.log", str(log)), ledger_of(log), PARSER_VERSION)


def test_a_file_that_nobody_touched_is_not_read(log: Path, opened: list[Path]) -> None:
    assert read_in(log) == (0, 1, 0)
    assert untouched(log) and opened == [log]
    assert read_in(log) == (1, 0, 0)
    assert opened == [log], "its bytes were read once"


def test_a_write_that_hides_behind_an_old_time_is_seen(log: Path) -> None:
    read_in(log)
    before = log.stat()
    log.write_text(log.read_text().replace("2.0E+00", "9.0E+00"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert log.stat().st_mtime_ns == before.st_mtime_ns and log.stat().st_size == before.st_size
    assert read_in(log) == (0, 1, 9)


def test_a_file_put_in_its_place_is_read(log: Path, tmp_path: Path) -> None:
    read_in(log)
    other = tmp_path / "other"
    other.write_text(log.read_text().replace("2.0E+00", "9.0E+00"))
    shutil.copystat(log, other)
    other.replace(log)
    assert read_in(log) == (0, 1, 9)


def test_a_file_that_was_touched_is_looked_at_and_known(log: Path, opened: list[Path]) -> None:
    read_in(log)
    log.touch()
    assert not untouched(log)
    before = log.with_name("bench.duckdb").stat().st_mtime_ns
    assert read_in(log) == (1, 0, 0)
    assert opened == [log, log]
    assert log.with_name("bench.duckdb").stat().st_mtime_ns == before


def test_what_may_be_written_within_a_tick_is_not_trusted() -> None:
    fine, coarse = 5_000_000_001, 5_000_000_000
    assert not Stamp(1, 1, fine, fine, fine + TICK_NS).settled
    assert Stamp(1, 1, fine, fine, fine + TICK_NS + 1).settled
    assert not Stamp(1, 1, coarse, coarse, coarse + STEP_NS).settled
    assert not Stamp(1, 1, coarse, fine, 0).settled, "a clock that was set back"


def test_stamps_of_files_still_warm_are_not_kept(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(LOG.format(n=1))
    future = stamp_of(log).seen_ns + 60_000_000_000
    os.utime(log, ns=(future, future))
    read_in(log)
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT count(*) FROM raw.stamps") == [(0,)]


def test_a_file_that_changes_while_it_is_read_is_read_again(log: Path) -> None:
    stamp, found = stamp_of(log), read_content(log)
    task = Task(Content(log, found.size, found.sha256, stamp), "run.log", "source")
    with log.open("a") as file:  # a log grows: the bytes that were hashed are still there
        file.write(LOG.format(n=10))
    assert stamp.settled and not stamp_of(log).same(stamp)
    read = read_file(task)
    assert to_arrow(read.rows)["iterations"].num_rows == 9
    log.write_text(log.read_text().replace("2.0E+00", "9.0E+00"))
    with pytest.raises(Changed):
        read_file(task)


def test_known_files_are_told_in_their_order_among_new_ones(log: Path) -> None:
    names = [f"{letter}.log" for letter in "abcdef"]
    for number, name in enumerate(names, 11):
        log.with_name(name).write_text(LOG.format(n=number))
    for name in names[1::2]:
        settle(log.with_name(name))
        ingest([log.with_name(name)], log.with_name("bench.duckdb"))
    reported: list[str] = []
    summary = ingest([log.parent], log.with_name("bench.duckdb"), progress=reported.append)
    assert (summary.known, summary.new) == (3, 4)
    assert summary.uris == reported == [*names, "run.log"]
    again = ingest([log.parent], log.with_name("bench.duckdb"), progress=reported.append)
    assert (again.known, again.uris, reported) == (7, summary.uris, 2 * summary.uris)


def test_a_known_file_that_is_gone_or_unreadable_is_no_known_one(log: Path) -> None:
    read_in(log)
    log.unlink()
    log.symlink_to(log)
    summary = ingest([log.parent], log.with_name("bench.duckdb"))
    assert (summary.known, summary.uris, len(summary.failed)) == (0, [], 1)
