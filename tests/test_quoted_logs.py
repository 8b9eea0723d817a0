"""A log in a markdown document is one run, as the same text in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

OLMO = """2024-03-01 10:00:0{n}.123\thost:0\tolmo.train:967\tINFO\t[step={n}/739328,epoch=0]
    train/CrossEntropyLoss=10.5{n}
    throughput/device/batches_per_second=0.0800
"""
SWIFT = (
    "{{'loss': 1.{n}, 'learning_rate': 1e-05, 'epoch': 0.05, 'global_step/max_steps': '{n}/90'}}\n"
)
NANO = "iter {n}: loss 3.2, time 140.00ms, mfu 2.66%\n"


def read(text: str, tmp_path: Path) -> tuple[list[dict[str, object]], list[tuple[object, ...]]]:
    (tmp_path / "notes.md").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "notes.md"], tmp_path)
        runs = warehouse.dicts("SELECT * FROM runs ORDER BY line")
        steps = warehouse.rows("SELECT line, iteration, loss, step_time_s FROM iterations")
        return runs, sorted(steps)


def test_parts_of_a_step_are_its_own_and_the_settings_come_from_around(tmp_path: Path) -> None:
    log = "".join(OLMO.format(n=n) for n in (1, 2))
    text = f"# OLMo 1B\n\nWe use sequence length 2048.\n\n```\n{log}```\n"
    (run,), steps = read(text, tmp_path)
    assert steps == [(6, 1, 10.51, 12.5), (9, 2, 10.52, 12.5)]
    assert (run["origin"], run["line"], run["seq_len"], run["train_iters"]) == (
        "quote", 6, 2048, 739328,
    )  # fmt: skip


def test_dicts_that_tell_their_step_are_a_log_too(tmp_path: Path) -> None:
    log = "".join(SWIFT.format(n=n) for n in (5, 10)) + "{'train_runtime': 60.0, 'epoch': 0.1}\n"
    (run,), steps = read(f"Output:\n\n```\n{log}```\n", tmp_path)
    assert [step[1:3] for step in steps] == [(5, 1.5), (10, 1.1)]
    assert run["status"] == "ok"


@pytest.mark.parametrize("between", ["", "# with flash attention\n", "The second run:\n"])
def test_two_runs_of_a_block_are_not_one(tmp_path: Path, between: str) -> None:
    first, second = (1, 2), (3, 4) if between else (2, 3)
    one, two = ("".join(NANO.format(n=n) for n in run) for run in (first, second))
    runs, _ = read(f"A\n\n```\n{one}{between}{two}```\n", tmp_path)
    assert len(runs) == 4
    runs, _ = read(f"A\n\n```\n{one}saving checkpoint to out\n{NANO.format(n=3)}```\n", tmp_path)
    assert len(runs) == 1


def test_blocks_and_lines_of_other_runs_are_runs_of_their_own(tmp_path: Path) -> None:
    one = NANO.format(n=1) + NANO.format(n=2)
    compared = NANO.format(n=9) + "\n" + NANO.format(n=3)
    runs, steps = read(f"A\n\n```\n{one}```\n\nB\n\n```\n{compared}```\n", tmp_path)
    assert [run["line"] for run in runs] == [4, 11, 13]
    assert len(steps) == 4


@pytest.mark.parametrize(("count", "runs"), [(4, 1), (3, 3)])
def test_lines_of_text_one_below_another_are_a_log(tmp_path: Path, count: int, runs: int) -> None:
    log = "".join(NANO.format(n=n) for n in range(count))
    found, steps = read(f'A\n\n"""\n{log}"""\n\nB\n\n"""\n{log}"""\n', tmp_path)
    assert (len(found), len(steps)) == (2 * runs, 2 * count)
