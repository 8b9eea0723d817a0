"""Plans of too much: refused soon, in words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.launch.reading import read_plan
from bench.schema.errors import BenchError
from tests.launching import expanded, write


@pytest.mark.parametrize("made", [os.mkfifo, lambda file: os.truncate(file, 10 << 30)])
def test_a_plan_is_a_file_of_some_size(tmp_path: Path, made: Callable[[Path], None]) -> None:
    file = tmp_path / "plan.toml"
    if made is not os.mkfifo:
        file.touch()
    made(file)
    with pytest.raises(BenchError, match="cannot read the plan"):
        read_plan(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("repeats = 1000000000\ndp = 1", "more than 10,000 runs"),
        (f"[settings]\ndp = {[*range(1, 10_002)]}", "more than 10,000 combinations"),
        ("[settings]\ndp = [1, 2]\n" + "[[matrix]]\n" * 60_000, "more than 100,000 combinations"),
        (f"constraints = {['dp > 0'] * 101}\n[settings]\ndp = 1", "invalid 'constraints'"),
        ('trainer = "command"\ncommand = "' + "a" * 20_000 + '"', "invalid 'command'"),
    ],
)
def test_a_plan_of_too_much_is_refused(tmp_path: Path, text: str, told: str) -> None:
    text = (
        text if "[settings]" in text or "command" in text else text.replace("dp", "[settings]\ndp")
    )
    with pytest.raises(BenchError, match=told):
        expanded(tmp_path, text)


def test_only_what_runs_counts_as_often_as_it_is_repeated(tmp_path: Path) -> None:
    text = """
        repeats = {}
        trainer = "command"
        command = "run {{n}}"
        constraints = ["n <= 50"]
        [values]
        n = {}
    """
    numbers = [*range(1, 2001)]
    assert len(expanded(tmp_path, text.format(200, numbers)).cases) == 50
    with pytest.raises(BenchError, match="more than 10,000 runs") as caught:
        expanded(tmp_path, text.format(201, numbers))
    assert caught.value.why == "50 combinations, 201 times each"


def test_the_lines_of_many_wrong_keys_are_not_all_searched(tmp_path: Path) -> None:
    taken = {}
    for keys in (1000, 4000):
        file = write(tmp_path, "[settings]\n" + "".join(f"k{n} = 1\n" for n in range(keys)))
        begun = time.process_time()
        with pytest.raises(BenchError, match=r"unknown key 'settings\.k0'"):
            read_plan(file)
        taken[keys] = time.process_time() - begun
    assert taken[4000] < 8 * taken[1000], "linear is 4"
