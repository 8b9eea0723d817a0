"""One job, a file a rank: the first rank's states the run, the last rank's prints its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.making import ARGUMENTS, iteration
from tests.program import selected

WORLD = "using world size: 8, data-parallel-size: 1, tensor-model-parallel size: 2, "
WORLD += "pipeline-model-parallel size: 4 \n"
STATES = "export NCCL_DEBUG=WARN\n" + WORLD + ARGUMENTS.format(layers=24)
STEPS = "".join(iteration(number, 100.0) for number in range(1, 6))
DONE = "[after training is done] datetime: 2023-06-10 23:06:14 \n"
RUNS = "SELECT uri, status, layers, tp, pp, ranks FROM configurations ORDER BY uri"
NAMES = [
    ("output.21107476/0/{thousand}/stdproc.1.{rank}", 7),
    ("output.21107476/0/{thousand}/stdproc.1.{rank}", 1535),
    ("logs/none_x1/attempt_0/{rank}/stdout.log", 7),
]


def write(place: Path, name: str, rank: int, text: str) -> str:
    path = place / name.format(thousand=rank // 1000, rank=rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path.relative_to(place).as_posix()


@pytest.mark.parametrize(("name", "last"), NAMES)
def test_the_ranks_of_a_job_are_one_run(tmp_path: Path, name: str, last: int) -> None:
    first = write(tmp_path, name, 0, STATES)
    steps = write(tmp_path, name, last, STEPS + DONE)
    (run,) = selected(tmp_path, RUNS, ".")
    assert run == {"uri": steps, "status": "ok", "layers": 24, "tp": 2, "pp": 4, "ranks": 8}
    (flag,) = selected(tmp_path, "SELECT name, value, file FROM env_flags", ".")
    assert flag == {"name": "NCCL_DEBUG", "value": "WARN", "file": first}
    (link,) = selected(tmp_path, "SELECT uri, rule FROM companions", ".")
    assert link == {"uri": first, "rule": "ranks of one job"}


def test_what_tells_of_a_failure_stays(tmp_path: Path) -> None:
    name, last = NAMES[0]
    write(tmp_path, name, 0, STATES + "RuntimeError: CUDA out of memory. Tried to allocate 2 MiB\n")
    write(tmp_path, name, last, STEPS)
    assert [run["status"] for run in selected(tmp_path, RUNS, ".")] == ["oom", "ended"]


def test_ranks_that_all_print_steps_and_other_jobs_stay(tmp_path: Path) -> None:
    name, last = NAMES[0]
    write(tmp_path, name, 0, STATES)
    write(tmp_path, name, 1, STEPS + DONE)
    write(tmp_path, name, last, STEPS.replace("100.0", "101.0") + DONE)
    write(tmp_path, name.replace("476", "477"), 0, STATES.replace("WARN", "INFO"))
    assert len(selected(tmp_path, RUNS, ".")) == 4
