"""One training over several files: a run that goes on from a checkpoint of another is linked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.decide.goodput import measured
from bench.decide.query import Query
from bench.decide.selection import select
from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest
from bench.schema.materialized import OF_CONTINUATIONS, materialize
from bench.schema.opening import open_read, open_write
from tests.making import everything, iteration
from tests.program import quick
from tests.resuming import ARGUMENTS, LOAD, SAVE, steps


def read(folder: Path) -> Path:
    """The warehouse of a folder, with what is superseded, without an audit."""
    db = folder / "bench.duckdb"
    ingest([folder], db)
    with open_write(db) as warehouse:
        after_ingest(warehouse, folder, [], audited=False)
    return db


def linked(folder: Path) -> list[tuple[str, str, int, int]]:
    query = """SELECT b.uri || ':' || b.line AS run, a.uri || ':' || a.line AS before,
                   iteration, repeated
               FROM continuations c JOIN runs b ON b.run_id = c.run_id
               JOIN runs a ON a.run_id = c.continues ORDER BY ALL"""
    with open_read(read(folder)) as warehouse:
        materialize(warehouse, *OF_CONTINUATIONS)
        return warehouse.rows(query)


def test_a_run_over_several_files(tmp_path: Path) -> None:
    (tmp_path / "slurm-1.out").write_text(steps(1, 30, save=20))
    (tmp_path / "slurm-2.out").write_text(steps(21, 40, load=20, save=40))
    (tmp_path / "slurm-3.out").write_text(steps(41, 45, load=40))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "slurm-4.out").write_text(steps(21, 25, load=20) + "\n")
    (tmp_path / "slurm-5.out").write_text(steps(21, 26, layers=8, load=20))
    assert linked(tmp_path) == [
        ("slurm-2.out:1", "slurm-1.out:1", 21, 10),
        ("slurm-3.out:1", "slurm-2.out:1", 41, 0),
    ]
    shown = quick(tmp_path, "show", "slurm-2.out:1").out
    assert "continues" in shown and "slurm-1.out:1" in shown
    assert "goes on in" in shown and "slurm-3.out:1" in shown


def test_starts_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(1, 30, save=20) + steps(21, 40, load=20))
    ((_, before, first, repeated),) = linked(tmp_path)
    assert (before, first, repeated) == ("a.log:1", 21, 10)


def test_of_repeats_that_print_no_date_and_no_save_none_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(1, 30))
    (tmp_path / "b.log").write_text(steps(1, 31))
    (tmp_path / "c.log").write_text(steps(21, 40, load=20))
    assert linked(tmp_path) == []
    (tmp_path / "b.log").write_text(steps(1, 31, save=20))
    assert [before for _, before, _, _ in linked(tmp_path)] == ["b.log:1"]


def counting(folder: Path) -> list[tuple[str, int, int, int]]:
    """File, first and last iteration and n of the step times of each run."""
    query = """SELECT r.uri, first_iteration, last_iteration, n
               FROM run_stats t JOIN runs r USING (run_id)
               WHERE metric = 'step_time_s' ORDER BY ALL"""
    with open_read(folder / "bench.duckdb") as warehouse:
        return warehouse.rows(query)


OVER_THREE = {
    "slurm-1.out": steps(1, 30, save=20),
    "slurm-2.out": steps(21, 40, load=20, save=35),
    "slurm-3.out": steps(36, 45, load=35),
}


@pytest.mark.parametrize("calls", [
    [["slurm-1.out", "slurm-2.out", "slurm-3.out"]],
    [["slurm-3.out", "slurm-1.out", "slurm-2.out"]],
    [["slurm-1.out"], ["slurm-2.out"], ["slurm-3.out"]],
    [["slurm-3.out"], ["slurm-2.out"], ["slurm-1.out"]],
    [["slurm-2.out"], ["slurm-1.out", "slurm-3.out"]],
])  # fmt: skip
def test_an_iteration_done_again_in_another_file_counts_there_alone(
    tmp_path: Path, calls: list[list[str]]
) -> None:
    for name, text in OVER_THREE.items():
        (tmp_path / name).write_text(text)
    for files in calls:
        quick(tmp_path, "ingest", "-q", *files)
    found = counting(tmp_path)
    # Megatron-DeepSpeed's interval behind a save holds the save.
    assert found == [
        ("slurm-1.out", 2, 20, 19), ("slurm-2.out", 22, 35, 14), ("slurm-3.out", 37, 45, 9),
    ]  # fmt: skip
    stored = everything(tmp_path / "bench.duckdb")
    quick(tmp_path, "ingest", "-q", ".")
    assert everything(tmp_path / "bench.duckdb") == stored
    shown = quick(tmp_path, "show", "slurm-1.out:1").out
    assert "those from 21 on are done again by a later run" in shown


def test_the_same_files_give_the_same_numbers_in_any_order(tmp_path: Path) -> None:
    found = []
    for number, names in enumerate((sorted(OVER_THREE), sorted(OVER_THREE, reverse=True))):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in names:
            (folder / name).write_text(OVER_THREE[name])
            quick(folder, "ingest", "-q", name)
        found.append(everything(folder / "bench.duckdb"))
    for view in ("run_stats", "superseded_steps", "continuations", "effective_steps", "measured"):
        assert found[0][view] == found[1][view]


def test_without_the_later_file_the_steps_count_again(tmp_path: Path) -> None:
    for name in ("slurm-1.out", "slurm-2.out"):
        (tmp_path / name).write_text(OVER_THREE[name])
    read(tmp_path)
    assert counting(tmp_path)[0] == ("slurm-1.out", 2, 20, 19)
    quick(tmp_path, "forget", "slurm-2.out")
    assert counting(tmp_path) == [("slurm-1.out", 2, 30, 28)]
    quick(tmp_path, "forget", "--undo", "slurm-2.out")
    assert counting(tmp_path)[0] == ("slurm-1.out", 2, 20, 19)


def test_a_log_that_grows_goes_on_without_what_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "a.out").write_text(steps(1, 25, save=20))
    (tmp_path / "b.out").write_text(steps(21, 40, load=20))
    read(tmp_path)
    with (tmp_path / "a.out").open("a") as file:
        file.write("".join(iteration(n, 100.0) for n in range(26, 31)))
    quick(tmp_path, "ingest", "-q", "a.out")
    assert counting(tmp_path) == [("a.out", 2, 20, 19), ("b.out", 22, 40, 19)]


def test_another_try_from_the_same_checkpoint(tmp_path: Path) -> None:
    """Of two tries the one that failed does not count; repeats that ended well count both."""
    (tmp_path / "1.out").write_text(dated(1, 30, 1, save=20))
    failed = dated(21, 25, 2, load=20) + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n"
    (tmp_path / "2.out").write_text(failed)
    (tmp_path / "3.out").write_text(dated(21, 40, 3, load=20))
    read(tmp_path)
    assert counting(tmp_path) == [("1.out", 2, 20, 19), ("3.out", 22, 40, 19)]
    ended = (
        dated(21, 25, 2, load=20)
        + "[exiting program at iteration 25] datetime: 2024-01-02 01:00:00\n"
    )
    (tmp_path / "2.out").write_text(ended)
    read(tmp_path)
    assert [name for name, *_ in counting(tmp_path)] == ["1.out", "2.out", "3.out"]


def test_goodput_counts_what_lasts(tmp_path: Path) -> None:
    (tmp_path / "a.out").write_text(dated(1, 30, 1, save=20))
    (tmp_path / "b.out").write_text(dated(21, 60, 2, load=20))
    read(tmp_path)
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        select(warehouse, Query())
        shares = {uri: share.share for uri, share in measured(warehouse).items()}
    # 20 of 30 steps of a minute each last, over 29 minutes; all 40 do, over 39.
    assert shares == {"a.out": pytest.approx(20 / 29)}


def dated(first: int, last: int, day: int, load: int | None = None, save: int = 0) -> str:
    """Megatron-LM's lines of steps of a minute, with their times."""
    lines = []
    for n in range(first, last + 1):
        at = f"2024-01-{day:02d} {(n - first) // 60:02d}:{(n - first) % 60:02d}:00"
        lines.append(
            f" [{at}] iteration {n:8d}/     500 | consumed samples: {n * 8:12d} | elapsed time per "
            "iteration (ms): 60000.0 | learning rate: 1.000000E-03 | global batch size:     8 | "
            "lm loss: 5.760191E+00 | loss scale: 1.0 | grad norm: 7.439 | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
            + (SAVE.format(n) if n == save else "")
        )
    return ARGUMENTS.format(layers=4) + (LOAD.format(load) if load else "") + "".join(lines)


HF = """[INFO|trainer.py:1143] 2023-10-01 10:00:00,000 >> ***** Running training *****
[INFO|trainer.py:1149] 2023-10-01 10:00:00,000 >>   Total optimization steps = 500
{load}"""
TITAN = """{load}[titan] 2025-02-24 10:00:0{day},000 - root - INFO - Training starts at step \
{first}, with local batch size 1, global batch size 8, sequence length 2048, total steps 500 \
(warmup 20)
"""
NANO = """10/17/2025 16:31:5{day} [INFO|DP=0|PP=0|TP=0|ip-1]: mbs: 4 | grad_accum: 8 | \
sequence_length: 2048 | global_batch_size: 256 | train_steps: 500 | start_iteration_step: 0
{load}"""
# Head, its line of a load, line of a step, line of a save.
PLAINLY: dict[str, tuple[str, str, Callable[[int], str], str]] = {
    "deepspeed": (
        ARGUMENTS.replace("{layers}", "4") + "{load}",
        "[2021-06-10 23:06:14,512] [INFO] [engine.py:15:_get] successfully read 8 ZeRO state_dicts"
        " for rank 0\n",
        iteration,
        "[2021-06-10 23:06:14,512] [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint"
        " global_step{} is about to be saved!\n",
    ),
    "hf": (
        HF,
        "[INFO|trainer.py:1766] 2023-10-01 10:00:00,000 >>   Continuing training from global step"
        " 20\n",
        lambda n: f"{{'loss': 2.075, 'learning_rate': 2.3e-05, 'epoch': 0.04, 'step': {n}}}\n",
        "[INFO|trainer.py:2889] 2023-10-01 10:00:00,000 >> Saving model checkpoint to"
        " out/checkpoint-{}\n",
    ),
    "torchtitan": (
        TITAN,
        "[titan] 2025-02-24 10:00:01,000 - root - INFO - Loading the checkpoint at step 20.\n",
        lambda n: (
            f"[titan] 2025-02-24 10:01:{n:02d},508 - root - INFO - step: {n:2d}  loss:  7.62585  "
            "grad_norm: 26.6250  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71  mfu: 1.9%\n"
        ),
        "[titan] 2025-02-24 19:46:27,508 - root - INFO - Finished saving the checkpoint (or staging"
        " if async is enabled)in 12.34 seconds.\n",
    ),
    "nanotron": (
        NANO,
        "10/17/2025 16:39:55 [INFO|DP=0|PP=0|TP=0|ip-1]: Loading checkpoint from checkpoints/20:\n",
        lambda n: (
            f"10/17/2025 16:32:{n:02d} [INFO|DP=0|PP=0|TP=0|ip-1]: iteration: {n} / 500 | "
            "consumed_tokens: 85.8G | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K"
            " | tokens_per_sec_per_gpu: 11.4K | global_batch_size: 64 | lm_loss: 2.38 | lr: 1e-05 |"
            " model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3 | grad_norm: 1.25\n"
        ),
        "10/17/2025 16:31:50 [INFO|DP=0|PP=0|TP=0|ip-1]: Saving checkpoint at checkpoints/{}\n",
    ),
}


PLAINLY["nemo"] = (
    "{load}",
    "Restoring states from the checkpoint path at /ckpt/model_name=0--step=19-last/weights\n",
    lambda n: (
        f"Training epoch 0, iteration {n - 1}/499 | lr: 1.649e-06 | global_batch_size: 512 | "
        f"global_step: {n - 1} | reduced_train_loss: 11.03 | train_step_timing in s: 7.589\n"
    ),
    "[NeMo I 2025-03-07 22:38:44 model_checkpoint:522] Async checkpoint save for step {}"
    " (/ckpt/model_name=0--step=19-last.ckpt) finalized successfully.\n",
)


@pytest.mark.parametrize("trainer", PLAINLY)
def test_other_trainers_say_that_they_go_on(tmp_path: Path, trainer: str) -> None:
    head, load, step, save = PLAINLY[trainer]
    first = head.replace("{load}", "").replace("{first}", "1").replace("{day}", "0")
    second = head.replace("{load}", load).replace("{first}", "21").replace("{day}", "1")
    lines = "".join(step(n) + (save.format(n) if n == 20 else "") for n in range(1, 31))
    (tmp_path / "a.out").write_text(first + lines)
    (tmp_path / "b.out").write_text(second + "".join(step(n) for n in range(21, 41)))
    # A run of the folder that begins at the same step, and loads nothing.
    (tmp_path / "c.out").write_text(first + "".join(step(n) for n in range(21, 31)))
    found = [(run[:5], before[:5], *counts) for run, before, *counts in linked(tmp_path)]
    assert found == [("b.out", "a.out", 21, 10)]


def test_runs_of_one_file_and_a_single_line_of_the_later_one(tmp_path: Path) -> None:
    """Both runs log every tenth step; the later one ends before its second line."""
    tenth = "".join(iteration(n) + (SAVE.format(n) if n == 20 else "") for n in range(10, 51, 10))
    head = ARGUMENTS.format(layers=4)
    (tmp_path / "a.log").write_text(head + tenth + head + LOAD.format(20) + iteration(30))
    read(tmp_path)
    assert counting(tmp_path) == [("a.log", 11, 20, 10), ("a.log", 30, 30, 1)]


def test_two_trainings_of_one_folder_are_told_apart(tmp_path: Path) -> None:
    """They save at the same iterations; their layout, else the path of the checkpoint, tells."""
    for tp in (1, 2, 4):
        world = f"using world size: 8, data-parallel-size: {8 // tp}, tensor-model-parallel size: "
        head = f"{world}{tp}, pipeline-model-parallel size: 1\n"
        path = str(tp) if tp < 4 else ""
        for part, text in enumerate((steps(1, 30, save=20), steps(21, 40, load=20))):
            name = f"tp{tp}-{part}.out"
            (tmp_path / name).write_text(head + text.replace("/ckpt", f"/ckpt{path}"))
    found = [(run[:7], before[:7]) for run, before, *_ in linked(tmp_path)]
    assert found == [(f"tp{tp}-1.o", f"tp{tp}-0.o") for tp in (1, 2, 4)]
    # Another layout goes on, and nothing tells from which.
    other = (tmp_path / "tp2-1.out").read_text().replace("/ckpt2", "/new")
    (tmp_path / "tp2-1.out").write_text(other.replace("parallel-size: 4", "parallel-size: 8"))
    assert [run[:7] for run, *_ in linked(tmp_path)] == ["tp1-1.o", "tp4-1.o"]
