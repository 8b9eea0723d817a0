"""Logs that are rotated, renamed or change places keep their runs, and none is shown twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from tests.growing import rows, steps
from tests.making import count, log


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


@pytest.mark.parametrize("name", ["run.log.1", "run-20261120.log"])
@pytest.mark.parametrize("longer", [0, 9])
def test_a_log_that_is_rotated_keeps_its_runs(file: Path, db: Path, name: str, longer: int) -> None:
    for number in (30, 40):
        file.write_text(log(number))
        ingest([file], db, live=True)
    [(run,)] = rows(db, "SELECT run_id FROM runs")
    file.write_text(log(40 + longer))
    file.rename(file.with_name(name))
    file.write_text(log(5, 250.0))
    summary = ingest([file], db, live=True)
    assert summary.failed == []
    found = dict(
        rows(db, "SELECT uri, count(*) FROM runs JOIN iterations USING (run_id) GROUP BY 1")
    )
    assert found == {"run.log": 5, name: 40 + longer}
    assert rows(db, f"SELECT run_id FROM runs WHERE uri = '{name}'") == [(run,)]
    assert ingest([file.parent], db).known == 2


@pytest.mark.parametrize(
    ("begun", "longer", "live"),
    [("", 0, False), ("", 9, True), ("loading\n", 9, False), ("no end yet", 0, True)],
)
def test_a_rotated_log_that_holds_nothing_yet(
    file: Path, db: Path, begun: str, longer: int, live: bool
) -> None:
    file.write_text(log(30))
    ingest([file], db, live=True)
    [(run,)] = rows(db, "SELECT run_id FROM runs")
    file.with_name("run.log.1").write_text(log(30 + longer))
    file.write_text(begun)
    for _ in range(2):
        assert ingest([file.parent], db, live=live).warnings == []
        assert rows(db, "SELECT uri, run_id FROM runs") == [("run.log.1", run)]
        assert steps(db) == list(range(1, 31 + longer))
    file.write_text(begun + "\n" + log(5, 250.0))
    ingest([file.parent], db, live=live)
    assert sorted(rows(db, "SELECT uri FROM runs")) == [("run.log",), ("run.log.1",)]
    assert len(steps(db)) == 35 + longer


def test_a_log_that_is_renamed_keeps_its_runs(file: Path, db: Path) -> None:
    file.write_text(log(40))
    ingest([file], db, live=True)
    [(run,)] = rows(db, "SELECT run_id FROM runs")
    file.write_text(log(45))
    file.rename(file.with_name("run.log.1"))
    ingest([file.parent], db)
    assert rows(db, "SELECT uri, run_id FROM runs") == [("run.log.1", run)]
    assert steps(db) == list(range(1, 46))


@pytest.mark.parametrize("longer", [0, 9])
def test_logs_that_move_on_while_no_new_one_is_there(file: Path, db: Path, longer: int) -> None:
    older, oldest = file.with_name("run.log.1"), file.with_name("run.log.2")
    older.write_text(log(20))
    file.write_text(log(30, 250.0))
    ingest([file.parent], db)
    before = dict(rows(db, "SELECT uri, run_id FROM runs"))
    older.rename(oldest)
    file.write_text(log(30 + longer, 250.0))
    file.rename(older)
    for _ in range(2):
        ingest([file.parent], db)
        found = dict(rows(db, "SELECT uri, run_id FROM runs"))
        assert found == {"run.log.1": before["run.log"], "run.log.2": before["run.log.1"]}
        assert len(steps(db)) == 50 + longer


@pytest.mark.parametrize("longer", [0, 9])
def test_logs_that_change_places(file: Path, db: Path, longer: int) -> None:
    names = ["run.log", "run.log.1", "run.log.2"]
    for number, name in enumerate(names):
        file.with_name(name).write_text(log(10 + number, 100.0 + number))
    ingest([file.parent], db)
    before = dict(rows(db, "SELECT uri, run_id FROM runs"))
    for number, name in enumerate([*names[1:], names[0]]):
        file.with_name(name).write_text(log(10 + number + longer, 100.0 + number))
    query = "SELECT uri, count(*) FROM runs JOIN iterations USING (run_id) GROUP BY 1"
    for _ in range(2):
        assert ingest([file.parent], db).failed == []
        assert dict(rows(db, query)) == {
            "run.log.1": 10 + longer, "run.log.2": 11 + longer, "run.log": 12 + longer,
        }  # fmt: skip
    if not longer:
        found = dict(rows(db, "SELECT uri, run_id FROM runs"))
        assert [found[name] for name in [*names[1:], names[0]]] == [before[n] for n in names]


def test_logs_that_move_on_by_one(file: Path, db: Path) -> None:
    older, oldest = file.with_name("run.log.1"), file.with_name("run.log.2")
    file.write_text(log(10, 100.0))
    ingest([file], db)
    for step_ms in (110.0, 120.0):
        if older.exists():
            older.rename(oldest)
        file.rename(older)
        file.write_text(log(10, step_ms))
        ingest([file.parent], db)
    query = "SELECT uri, any_value(step_time_s) FROM runs JOIN iterations USING (run_id) GROUP BY 1"
    assert dict(rows(db, query)) == {"run.log": 0.12, "run.log.1": 0.11, "run.log.2": 0.1}
    assert count(db, "runs") == 3
