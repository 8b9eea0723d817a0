"""`bench trend`: levels over time, change points, and a gate that goes by the newest level."""

import json
import math
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.decide.series import _version_key, changes, newest_p
from tests.deciding import ask
from tests.logs import header
from tests.program import Outcome, quick, told

SHAPE = """  num_layers ...................................... 24
  hidden_size ..................................... 1024
  num_attention_heads ............................. 16
  seq_length ...................................... 2048
  micro_batch_size ................................ 4
  global_batch_size ............................... {gbs}
"""


def noise(count: int, seed: int, deviation: float = 0.01) -> list[float]:
    dealt = random.Random(seed)
    return [dealt.gauss(0, deviation) for _ in range(count)]


def test_noise_has_no_changes() -> None:
    found = [len(changes(noise(30, seed))) for seed in range(60)]
    assert sum(map(bool, found)) <= 3, "1 in 100 is what the level allows"


@pytest.mark.parametrize(("at", "count"), [(10, 20), (4, 30), (26, 30), (8, 12)])
def test_a_step_is_found_where_it_is(at: int, count: int) -> None:
    values = [value + (0.06 if n >= at else 0) for n, value in enumerate(noise(count, 3))]
    [one] = changes(values)
    assert abs(one.at - at) <= 1 and one.p < 0.01


def test_two_steps_and_back() -> None:
    values = [v + (0.1 if 10 <= n < 20 else 0) for n, v in enumerate(noise(30, 5))]
    assert [one.at for one in changes(values)] == [10, 20]


def test_an_outlier_is_no_change_and_few_values_show_none() -> None:
    values = noise(20, 4)
    assert changes([*values[:9], 3.0, *values[10:]]) == []
    assert changes([0, 0, 0, 9, 9, 9, 9]) == [] and changes([]) == []
    assert changes([1.0] * 40) == []


def test_the_newest_is_tested_as_a_prediction_interval() -> None:
    from scipy.stats import t

    before = [1.0, 1.2, 0.9, 1.1]
    error = 0.1 * math.sqrt(1 / 4 + 1)
    assert newest_p(before, [1.5], 0.1, 3) == pytest.approx(2 * t.sf(0.45 / error, 3))


def test_versions_count_as_numbers() -> None:
    assert sorted(["2.10.0", "2.9.1", "2.9"], key=_version_key) == ["2.9", "2.9.1", "2.10.0"]


def log(day: int, step: float, gbs: int = 16, commit: str = "unknown", version: str = "1") -> str:
    lines = header(9).splitlines()
    lines[2:2] = SHAPE.format(gbs=gbs).splitlines()
    told_ = f"DeepSpeed info: version={version}, git-hash={commit}, git-branch=main"
    line = (
        "[2024-05-{day:02d} 10:00:{n:02d}] iteration {n:8d}/       9 | "
        "consumed samples: {of:12d} | "
        "elapsed time per iteration (ms): {step:.2f} | learning rate: 1.000E-03 | "
        "global batch size: {gbs:5d} | lm loss: 5.760191E+00 | grad norm: 7.439 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |"
    )
    steps = [line.format(day=day, n=n, of=gbs * n, step=step, gbs=gbs) for n in range(1, 10)]
    return "\n".join([told_, *lines, *steps]) + "\n"


Written = Callable[..., Path]


@pytest.fixture
def written(folder: Path) -> Written:
    def write(slow_from: int, count: int = 20, by: float = 1.06, gbs: int = 16) -> Path:
        for n, value in enumerate(noise(count, gbs)):
            step = 100 * math.exp(value) * (by if n >= slow_from else 1)
            (folder / f"{gbs}-{n:02}.log").write_text(log(n + 1, step, gbs, version=f"0.{n + 1}"))
        return folder

    return write


def asked(folder: Path, *args: str) -> list[dict[str, Any]]:
    done = ask(folder, "trend", *args, "--format", "json")
    assert done.code in (0, 1), done.text
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def gate(folder: Path, *args: str) -> Outcome:
    return ask(folder, "trend", "step_time", ".", "--fail-on", "regression", *args)


def test_a_regression_is_told_and_fails(written: Written) -> None:
    folder = written(slow_from=12)
    newest, before = asked(folder, "step_time", ".")
    assert newest["worse"] and newest["from"] in ("2024-05-12", "2024-05-13", "2024-05-14")
    assert newest["change"] == pytest.approx(0.06, abs=0.02) and len(before["values"]) >= 11
    done = gate(folder)
    assert done.code == 1 and "got worse in 1 of 1 configuration" in done.out
    assert gate(folder, "--threshold", "10%").code == 0
    assert ask(folder, "trend", "step_time", ".").code == 0, "without --fail-on"


def test_what_was_set_is_told_before_the_version(written: Written) -> None:
    folder = written(slow_from=12, by=1.3)
    for file in folder.glob("*.log"):
        heads = SHAPE.format(gbs=16)
        late = file.name >= "16-12"
        argument = f"  some_argument ................................... {2 if late else 1}\n"
        file.write_text(file.read_text().replace(heads, heads + argument))
    said = ask(folder, "trend", "step_time", ".", "--by", "version").out
    assert "Changed with it: some_argument 1 → 2, deepspeed_version " in said


def test_the_newest_run_alone_closes_the_gate(written: Written) -> None:
    folder = written(slow_from=19)
    assert gate(folder).code == 1
    [newest, _] = asked(folder, "tokens_per_s", ".")
    assert newest["verdict"] == "worse" and newest["change"] < 0, "rates fall"


def test_steady_and_faster_pass(written: Written) -> None:
    folder = written(slow_from=99)
    [row] = asked(folder, "step_time", ".")
    assert row["verdict"] == "steady" and gate(folder).code == 0
    written(slow_from=10, by=0.9, gbs=64)
    rows = asked(folder, "step_time", ".")
    assert [row["verdict"] for row in rows if row["is_newest"]].count("better") == 1
    assert gate(folder).code == 0


def test_since_accepts_what_was_before(written: Written) -> None:
    assert gate(written(slow_from=8), "--since", "2024-05-10").code == 0


def test_versions_and_commits_order_runs(written: Written) -> None:
    folder = written(slow_from=12)
    newest, _ = asked(folder, "step_time", ".", "--by", "version")
    assert newest["points"][-1] == "0.20" and newest["worse"]


def test_commits_come_in_the_order_of_the_repository(folder: Path) -> None:
    def git(*words: str, **env: str) -> str:
        who = {f"GIT_{role}_{what}": text for role in ("AUTHOR", "COMMITTER")
               for what, text in (("NAME", "a"), ("EMAIL", "a@b"))}  # fmt: skip
        done = subprocess.run(["git", *words], cwd=folder, env=os.environ | who | env,
                              check=True, capture_output=True, text=True)  # fmt: skip
        return done.stdout.strip()

    git("init", "-q")
    ids = []
    for n in range(3):
        at = f"2023-0{n + 1}-01T00:00:00+00:00"
        git("commit", "-q", "--allow-empty", "-m", "x", GIT_COMMITTER_DATE=at)
        ids.append(git("rev-parse", "--short=9", "HEAD"))
    for n, commit in enumerate(reversed(ids)):  # run the other way round
        (folder / f"{n}.log").write_text(log(n + 1, 100 + n, commit=commit))
    [row] = asked(folder, "step_time", ".", "--by", "commit")
    assert row["points"] == ids and row["verdict"] == "not tested: 3 places"


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_chart(written: Written, suffix: str) -> None:
    folder = written(slow_from=12)
    file = folder / f"t.{suffix}"
    done = quick(folder, "trend", "step_time", ".", "-o", file.name)
    assert done.code == 0 and f"wrote {file.name}" in done.err and file.stat().st_size > 5000
    first = file.read_bytes()
    quick(folder, "trend", "step_time", ".", "-o", file.name)
    assert file.read_bytes() == first


def test_errors(written: Written) -> None:
    folder = written(slow_from=99, count=1)
    told(ask(folder, "trend", "speed", "."), 2, "unknown metric 'speed'", "step_time")
    told(ask(folder, "trend", "step_time", "."), 5, "no configuration was measured at two times")
    told(ask(folder, "trend", "step_time", ".", "--by", "cuda"), 2, "no run states a cuda")
    told(quick(folder, "trend", "step_time"), 2, "no warehouse")
