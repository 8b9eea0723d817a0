"""How watched runs stand, and what is warned of."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read
from bench.watch.status import Budget, RunStatus, statuses
from tests.making import iteration, log
from tests.resuming import steps


def standing(folder: Path, text: str, age_s: float = 1.0, **more: float) -> RunStatus:
    """The one run of a log that was written so long ago."""
    file = folder / "run.log"
    file.write_text(text)
    db = folder / "bench.duckdb"
    ingest([file], db, live=True)
    with open_read(db) as warehouse:
        now = file.stat().st_mtime + age_s
        [found] = statuses(warehouse, {"run.log": file}, Budget(), now, **more)
    return found


def test_how_a_run_stands(tmp_path: Path) -> None:
    found = standing(tmp_path, log(40))
    assert (found.iteration, found.planned, found.step_time_s) == (40, 500, 0.1)
    assert found.tokens == 40 * 512
    assert found.eta_s == pytest.approx(460 * 0.1)
    assert found.days == pytest.approx(500 * 0.1 / 86_400)
    assert found.age_s == pytest.approx(1.0)
    assert (found.status, found.warnings) == ("running", ())


def test_what_is_left_is_told_by_the_median_of_the_last_intervals(tmp_path: Path) -> None:
    """Also where nothing but samples a second are printed."""
    names = {"global_batch_size": 8, "seq_length": 64, "train_iters": 1000}
    lines = [f"{24 * '-'} arguments {24 * '-'}"]
    lines += [f"  {name} {(48 - len(name)) * '.'} {value}" for name, value in names.items()]
    lines.append(f"{20 * '-'} end of arguments {21 * '-'}")
    for n in range(1, 60):
        at, rate = f"[2023-05-01 10:00:{n:02d},100] [INFO]", 8.0 if n < 59 else 0.8
        lines += [
            f"{at} [logging.py:96:log_dist] [Rank 0] step={n}, skipped=0, lr=[0.0001],"
            " mom=[(0.9, 0.95)]",
            f"{at} [timer.py:199:stop] epoch=0/micro_step={n}/global_step={n},"
            f" RunningAvgSamplesPerSec=8.0, CurrSamplesPerSec={rate}, MemAllocated=1.0GB,"
            " MaxMemAllocated=2.0GB",
        ]
    found = standing(tmp_path, "\n".join(lines) + "\n")
    assert (found.iteration, found.step_time_s) == (59, 10.0)
    assert found.eta_s == pytest.approx(941.0)
    assert found.days == pytest.approx(1000 / 86_400)


def test_what_is_warned_of(tmp_path: Path) -> None:
    hung = standing(tmp_path, log(40), age_s=301.0)
    assert hung.warnings == ("hang? no output for 301 s (usually every 0.1 s)",)
    assert standing(tmp_path, log(40), age_s=299.0).warnings == ()
    assert standing(tmp_path, log(40), age_s=3.0, hang_after=2.0).warnings[0].startswith("hang?")
    slow = log(40) + "".join(iteration(number, 150.0) for number in range(41, 46))
    assert standing(tmp_path, slow).warnings == ("slow: 0.15 s/it lately, 0.1 s/it before",)
    nan = log(40) + iteration(41).replace("lm loss: 5.760191E+00", "lm loss: nan")
    assert standing(tmp_path, nan + iteration(42)).warnings == ("nan at iteration 41",)
    titan = "".join(
        f"2025-02-01 10:0{number // 60}:{number % 60:02d},123 - root - INFO - step: {number:2d}"
        f"  loss:  8.1234  memory: 28.84GiB(30.36%)  tps: {1500 if number < 60 else 700}"
        "  mfu: 5.1%\n"
        for number in range(1, 71)
    )
    assert standing(tmp_path, titan, age_s=301.0).warnings == (
        "hang? no output for 301 s (usually every 1 s)",
        "slow: 700 tokens/s/device lately, 1500 tokens/s/device before",
    )
    done = "".join(iteration(number, of=40) for number in range(1, 41))
    over = standing(tmp_path, done, age_s=9999.0)
    assert (over.status, over.warnings, over.eta_s) == ("ok", (), None)


def test_what_goes_on_in_another_file_does_not_hang(tmp_path: Path) -> None:
    (tmp_path / "run.log.1").write_text(log(40))
    (tmp_path / "run.log").write_text("".join(iteration(n, 101.0) for n in range(41, 60)))
    (tmp_path / "slurm-1.out").write_text(steps(1, 30, save=20))
    (tmp_path / "slurm-2.out").write_text(steps(21, 40, load=20, save=40))
    (tmp_path / "other-2.log").write_text(log(40, 102.0))
    db = tmp_path / "bench.duckdb"
    ingest([tmp_path], db, live=True)
    watched = {path.name: path for path in tmp_path.iterdir() if path != db}
    with open_read(db) as warehouse:
        now = (tmp_path / "run.log").stat().st_mtime + 400
        found = {one.uri: one for one in statuses(warehouse, watched, Budget(), now)}
    hung = {uri for uri, one in found.items() if one.warnings}
    assert hung == {"run.log", "slurm-2.out", "other-2.log"}
    assert found["run.log.1"].eta_s is None


def test_a_log_of_several_names_stands_under_each(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log(40))
    (tmp_path / "b.log").write_text(log(40))
    db = tmp_path / "bench.duckdb"
    for name in ("a.log", "b.log"):
        ingest([tmp_path / name], db)
    watched = {name: tmp_path / name for name in ("a.log", "b.log")}
    with open_read(db) as warehouse:
        found = statuses(warehouse, watched, Budget(), time.time())
    assert [(one.uri, one.iteration) for one in found] == [("a.log", 40), ("b.log", 40)]


def test_what_is_left_of_a_run_without_a_plan(tmp_path: Path) -> None:
    text = "".join(f"steps: {n} loss: 5.1 iter time (s): 2.0 samples/sec: 32.0\n" for n in range(9))
    assert standing(tmp_path, text).eta_s is None
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        file = tmp_path / "run.log"
        [found] = statuses(warehouse, {"run.log": file}, Budget(steps=108), time.time())
    assert found.eta_s == pytest.approx(200)


def test_a_log_whose_folder_becomes_a_file(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    file = tmp_path / "logs" / "run.log"
    file.write_text(log(40))
    db = tmp_path / "bench.duckdb"
    ingest([file], db, live=True)
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder\n")
    with open_read(db) as warehouse:
        [found] = statuses(warehouse, {"logs/run.log": file}, Budget(), time.time())
    assert (found.iteration, found.age_s) == (40, 0.0)
