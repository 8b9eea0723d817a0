"""The table of a sweep on a terminal: what there is no room for is left out."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.launch.folder import State
from bench.launch.planned_runs import planned_runs
from bench.launch.reading import read_plan
from bench.terminal.live import Board, describe
from bench.terminal.status import columns_of, drawn
from bench.watch.status import RunStatus
from tests.launching import expanded, write

PLAN = '[settings]\nmodel = "nano"\ndp = [1, 2]\n'
ENDED = State("p", "c", "dp=1", 1, "hang", evidence="no output for 5 s; last line: x", wall_s=5.2)


@pytest.mark.parametrize("width", [60, 120])
def test_a_run_is_one_line_whatever_the_width(tmp_path: Path, width: int) -> None:
    plan = read_plan(write(tmp_path, PLAN))
    todo = planned_runs(plan, expanded(tmp_path, PLAN).cases, tmp_path)
    board = Board(todo, None)
    for turn in todo:
        board.on_end(turn, replace(ENDED, label=turn.case.label))
    stream = StringIO()
    Console(file=stream, width=width).print(board.table(width))
    shown = stream.getvalue()
    assert sum("hang" in line for line in shown.splitlines()) == 2 + 1, "and the title"
    assert len(shown.splitlines()) == 7
    assert ("no output for 5 s" in shown) == (width == 120)


def test_the_time_that_is_left_stands_before_the_evidence() -> None:
    assert describe(ENDED, ", about 3.0 s left") == (
        "hang after 5.2 s, about 3.0 s left: no output for 5 s; last line: x"
    )


def test_what_is_left_of_jobs_that_run_together_is_told_by_their_pace(tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, PLAN))
    todo = planned_runs(plan, expanded(tmp_path, PLAN).cases, tmp_path)
    titles = []
    for together in (False, True):
        board = Board(todo, 1000.0, together=together)
        for turn in todo:
            board.on_begin(turn, replace(ENDED, status="running"))
        board.on_end(todo[0], replace(ENDED, wall_s=500.0))
        titles.append(str(board.table(200).title))
    assert titles[0].endswith("about 8 min 20 s left")
    assert titles[1].endswith("about 0.0 s left")


@pytest.mark.parametrize(("width", "height"), [(120, 40), (60, 20), (40, 8), (20, 9)])
def test_watched_runs_fit_their_terminal(width: int, height: int) -> None:
    run = RunStatus(
        "logs/\x1b[1m.log", "1", None, "running", 40, 500, 0.1, 12.5, 5.76, 20480, 46.0, 0.1, 1,
        ("hang? no output for 301 s (usually every 0.1 s)\x1b[2J", "nan at iteration 41"),
    )  # fmt: skip
    rows = [replace(run, uri=f"{run.uri}.{n}", age_s=float(9 - n)) for n in range(9)]
    columns = columns_of(None, people=True)
    stream = StringIO()
    console = Console(file=stream, width=width, height=height)
    console.print(drawn(rows, columns, width, height))
    lines = stream.getvalue().splitlines()
    assert len(lines) < height and all(len(line) <= width for line in lines)
    assert "\x1b" not in stream.getvalue()
    shown = min(9, max(1, (height - 4) // 3))
    assert lines[0].startswith(f"{shown} watched")
    assert sum("hang? no output" in line for line in lines) == shown
    assert lines[2].startswith("logs/"), "the one that was written last is on top"
    assert ("s/it" in lines[1]) == (width >= 60)
    assert str(drawn([], columns, width, height)) == "no runs yet"
