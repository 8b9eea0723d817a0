"""Steps: lines that speak of one step are one row; copies, restarts, broken lines, packed files."""

import bz2
import gzip
import lzma
import textwrap
import time
from datetime import datetime
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import printed_at
from bench.ingest.logs.log_result import LogResult
from bench.schema.opening import open_read
from tests.log_lines import line, read
from tests.logs import rows
from tests.program import quick

ENGINE = "[Rank 0] step={n}, skipped=0, lr=[0.00015, 0.00015], mom=[(0.9, 0.95)]"
SPEED = (
    "epoch=0/micro_step={n}/global_step={n}, RunningAvgSamplesPerSec=99.5, "
    "CurrSamplesPerSec=98.5, MemAllocated=1.5GB, MaxMemAllocated=2.5GB"
)


def numbers(log: LogResult) -> list[tuple[object, ...]]:
    return [(r["iteration"], r["segment"], r["interval_length"]) for r in rows(log)]


def test_engine_and_framework_speak_of_one_step() -> None:
    log = read(ENGINE.format(n=10), SPEED.format(n=10), line(10))
    (row,) = rows(log)
    assert (row["iteration"], row["step_time_s"], row["lr"], row["samples_per_s"]) == (
        10, 0.1, 0.00015, 98.5,
    )  # fmt: skip
    assert rows(log, "runs")[0]["framework"] == "Megatron-LM"
    assert [(r["kind"], r["value"], r["unit"]) for r in rows(log, "memory")] == [
        ("allocated", 1.5, "GiB"),
        ("max_allocated", 2.5, "GiB"),
    ]


def test_lines_join_by_order_where_numbers_differ() -> None:
    # After a restart the engine counts its global steps from 1 again.
    log = read(SPEED.format(n=1), line(136005), SPEED.format(n=2), line(136006))
    assert numbers(log) == [(136005, 1, None), (136006, 1, 1)]
    assert [row["samples_per_s"] for row in rows(log)] == [98.5, 98.5]


def test_the_engine_alone_makes_steps() -> None:
    log = read(SPEED.format(n=8), SPEED.format(n=16))
    assert numbers(log) == [(8, 1, None), (16, 1, 8)]


def test_an_interval_is_of_the_lines_of_one_kind() -> None:
    # The engine prints every step, the framework a mean over ten.
    steps = [ENGINE.format(n=n) for n in range(1, 21)]
    log = read(*steps[:10], line(10), *steps[10:], line(20))
    assert len(rows(log)) == 20
    assert [r["interval_length"] for r in rows(log) if "step_time_s" in r] == [None, 10]


def test_a_line_for_step_0_is_an_event() -> None:
    log = read(ENGINE.format(n=0), ENGINE.format(n=1))
    assert numbers(log) == [(1, 1, None)]
    assert [row["kind"] for row in rows(log, "events")] == ["before the first step"]


def test_the_extra_first_line_is_not_counted_twice() -> None:
    block = ["-" * 24 + " arguments " + "-" * 24, "  log_interval .................... 10"]
    log = read(*block, line(1), line(10), line(20))
    assert numbers(log) == [(1, 1, None), (10, 1, 10), (20, 1, 10)]


def test_ranks_that_print_the_same_step_count_once() -> None:
    text = "step: {n:2}  loss: {loss:7.4f}  memory:  8.44GiB(13.20%)  tps: 149  mfu: 0.47%"
    log = read(*(text.format(n=n, loss=9 - r / 10) for n in (1, 2) for r in range(4)))
    assert numbers(log) == [(1, 1, None), (2, 1, 1)]
    assert [row["code"] for row in rows(log, "warnings")] == ["copied_lines"]


def test_a_start_with_another_batch_is_another_run() -> None:
    """Pages quote logs one below the other; a training that goes on from a checkpoint is one."""
    other = line(10).replace("global batch size:     8", "global batch size:    16")
    assert other != line(10)
    log = read(line(10), line(20), other)
    assert [row["gbs"] for row in rows(log, "iterations")] == [8, 8, 16]
    assert len(rows(log, "runs")) == 2
    again = other.replace(" 10/", " 20/")
    for last in (line(10), again):
        assert len(rows(read(line(10), line(20), line(30), last), "runs")) == 1


def test_a_broken_line_is_joined() -> None:
    whole = line(10)
    for cut in (60, 100, 130, 200):
        log = read(whole[:cut], whole[cut:])
        assert rows(log) == rows(read(whole)) or rows(log)[0]["loss"] == 5.760191, cut
        assert not rows(log, "warnings"), cut


def test_the_beginning_of_a_broken_line_counts_as_read() -> None:
    lines = [part for n in (1, 2) for part in (line(n)[:95], line(n)[95:190], line(n)[190:])]
    log = read(*lines)
    assert [row["iteration"] for row in rows(log)] == [1, 2]
    assert (log.lines_unread, log.lines_measuring) == (0, 0)
    log = read(line(1), line(2)[:95], "something else")
    assert (log.lines_read, log.lines_unread, log.lines_measuring) == (1, 2, 1)


def test_a_line_cut_off_at_the_end_is_reported() -> None:
    log = read(line(10), line(20)[:150])
    assert [row["code"] for row in rows(log, "warnings")] == ["truncated_line"]


@pytest.mark.parametrize(
    ("prefix", "value"),
    [
        ("[2022-10-29 00:43:38,570] [INFO] [timer.py:198:stop]", "2022-10-29T00:43:38.570000"),
        ("10/17/2025 16:31:56 [INFO|DP=0]:", "2025-10-17T16:31:56"),
        ("[default0]:", None),
    ],
)  # fmt: skip
def test_the_time_in_front_of_a_line(prefix: str, value: str | None) -> None:
    found = printed_at((prefix,)).get("printed_at")
    assert found == (datetime.fromisoformat(value) if value else None)


def test_flags_hold_no_secret() -> None:
    log = read(
        "export NCCL_IB_HCA=mlx5_0",
        "+ HF_TOKEN=hf_thisismysecretvalue",
        "CUDA_API_KEY=thisismysecretvalue",
        "#SBATCH --nodes=16",
        "+ mpirun -x UCX_TLS=rc -x WANDB_API_KEY=thisismysecretvalue -np 4 python train.py",
        line(1),
    )
    flags = {row["name"]: (row["value"], row["kind"]) for row in rows(log, "env_flags")}
    assert flags == {
        "NCCL_IB_HCA": ("mlx5_0", "env"),
        "CUDA_API_KEY": ("[redacted]", "env"),
        "--nodes": ("16", "scheduler"),
        "UCX_TLS": ("rc", "env"),
    }
    assert "thisismysecret" not in repr(log)


TRACEBACK = "Traceback (most recent call last):"
OOM = "torch.OutOfMemoryError: CUDA out of memory."
PREEMPTED = "Preemption detected, saving checkpoint and exiting"
WATCHDOG = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, Timeout(ms)=6) ran for "
)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Killing subprocess 7"], "fail"),
        ([TRACEBACK, "KeyboardInterrupt"], "cancelled"),
        ([TRACEBACK, "RuntimeError: no", "KeyboardInterrupt"], "fail"),
        (["NCCL error in: x.cpp:825, unhandled", OOM], "oom"),
        ([PREEMPTED, "Job a finished: SUCCEEDED"], "cancelled"),
        (["failed (exitcode: -9) local_rank: 3 (pid: 9) of binary: python"], "oom"),
        (["[WARN] PLE 0610 plexec The process terminated with the signal.(sig=11)"], "fail"),
        (["Process 73593 exits successfully."], "ok"),
        ([WATCHDOG + "60 milliseconds before timing out."], "hang"),
    ],
)  # fmt: skip
def test_the_first_true_cause(lines: list[str], status: str) -> None:
    (run,) = rows(read(line(1), *lines), "runs")
    assert run["status"] == status


@pytest.mark.parametrize(("suffix", "pack"), [
    (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress),
])  # fmt: skip
def test_packed_logs(tmp_path: Path, suffix: str, pack: object) -> None:
    assert callable(pack)
    text = "\n".join(line(n) for n in range(1, 6)).encode()
    (tmp_path / f"run.log{suffix}").write_bytes(pack(text))
    (tmp_path / f"cut.log{suffix}").write_bytes(pack(text)[:20])
    summary = ingest([tmp_path], tmp_path / "b.duckdb")
    assert summary.new == 1
    ((uri, why),) = summary.failed
    assert uri == f"cut.log{suffix}" and "damaged" in why
    with open_read(tmp_path / "b.duckdb") as warehouse:
        assert list(warehouse.rows("SELECT count(*) FROM iterations")) == [(5,)]


def test_a_unit_error_is_put_right_in_a_view(tmp_path: Path) -> None:
    wrong = (
        " iteration    16800/  159576 | consumed samples:      7594208 | consumed tokens: 15529 | "
        "elapsed time per iteration (ms): 384505.8 | learning rate: 5.955E-05 | "
        "global batch size:  2048 | lm loss: 2.682074E+00 | number of skipped iterations:   0 | "
        "number of nan iterations:   0 | samples per second: 0.005 | TFLOPs: {tflops} |"
    )
    pipeline = "steps: 10 loss: 1.9161 iter time (s): 580.123 samples/sec: 0.441"
    header = "[Rank 0] DeepSpeed info: version=0.6.2, git-hash=x, git-branch=y"
    (tmp_path / "a.log").write_text(wrong.format(tflops="35240.10") + "\n")
    (tmp_path / "b.log").write_text(wrong.format(tflops="35.24") + "\n")
    (tmp_path / "c.log").write_text(f"{header}\n{pipeline}\n")
    (tmp_path / "d.log").write_text(line(10) + "\n")
    old = [f"steps: {n} loss: 1.9 iter time (s): 0.580 samples/sec: 44.15" for n in (10, 20)]
    (tmp_path / "e.log").write_text("\n".join([header.replace("0.6.2", "0.3.0"), *old]) + "\n")
    ingest([tmp_path], tmp_path / "b.duckdb")
    query = """SELECT uri, round(step_time_s, 6), round(samples_per_s, 3), round(tflops, 3),
            correction IS NOT NULL
        FROM iterations_corrected JOIN runs USING (run_id) ORDER BY uri"""
    with open_read(tmp_path / "b.duckdb") as warehouse:
        assert list(warehouse.rows(query)) == [
            ("a.log", 384.5058, 5.0, 35.24, True),
            ("b.log", 384.5058, 5.0, 35.24, True),
            ("c.log", 0.580123, 441.0, None, True),
            ("d.log", 0.1, None, None, False),
            ("e.log", 0.58, 441.5, None, True),
            ("e.log", 0.58, 441.5, None, True),
        ]
        printed = list(warehouse.rows("SELECT max(tflops), max(step_time_s) FROM iterations"))
        assert printed == [(35240.1, 580.123)]


def test_a_unit_error_is_told_where_the_run_is_shown(tmp_path: Path) -> None:
    header = "[Rank 0] DeepSpeed info: version=0.6.2, git-hash=x, git-branch=y"
    steps = [f"steps: {n} loss: 1.9 iter time (s): 580.5 samples/sec: 0.441" for n in (10, 20)]
    (tmp_path / "a.log").write_text("\n".join([header, *steps]) + "\n")
    done = quick(tmp_path, "show", "a.log:1", "a.log", "--format", "csv")
    corrected = [row.split(",")[:3] for row in done.out.splitlines() if row.startswith("corrected")]
    assert corrected == [["corrected", "samples_per_s", "median 441"],
                    ["corrected", "step_time_s", "median 0.5805"]]  # fmt: skip


def test_steady_state_leaves_out_what_is_no_step(tmp_path: Path) -> None:
    saved = "  successfully saved checkpoint at iteration      30 to /ckpt"
    text = [line(10, 900.0), line(20, 100.0), line(30, 102.0), saved, line(40, 500.0)]
    (tmp_path / "a.log").write_text("\n".join(text))
    ingest([tmp_path], tmp_path / "b.duckdb")
    query = "SELECT n, lines, median, first_iteration FROM run_stats WHERE metric = 'step_time_s'"
    with open_read(tmp_path / "b.duckdb") as warehouse:
        assert list(warehouse.rows(query)) == [(20, 2, 0.101, 11)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [dialect.name for dialect in dialects()])
def test_a_hostile_line_takes_no_time(name: str) -> None:
    """A long line made of a format's own words, whole, in halves and without end.

    What grows with the square of the length takes 16 times as long for 4 times the length; the
    allowance lets through what would take a quarter of a second for a line of 1 MB. Short lines are
    tried first: what is linear there with as much to spare is.
    """
    (dialect,) = (dialect for dialect in dialects() if dialect.name == name)
    sample = dialect.samples[0].line
    for unit in (dialect.hints[0], sample, sample[: max(3, len(sample) // 2)]):
        first = used(unit, 62_500)
        if first < 5 * used(unit, 15_625) + 0.001:
            continue
        tries = ((short or used(unit, 62_500), used(unit, 250_000)) for short in (first, 0, 0))
        assert any(long < 9 * short + 0.006 for short, long in tries)  # linear: four times


def used(unit: str, size: int) -> float:
    """Processor seconds for a line of so many characters."""
    begun = time.process_time()
    read(unit * (size // len(unit)))
    return time.process_time() - begun


def test_glued_lines_are_read_or_reported() -> None:
    """Many processes without line ends between them: too many on a line are a warning."""
    for count, crowded in ((200, False), (2000, True)):
        found = read("".join(line(number).strip("\n") for number in range(1, count + 1)))
        codes = [row["code"] for row in found.rows.by_table.get("warnings", [])]
        assert ("crowded_line" in codes) == crowded
        assert crowded or [n for n, *_ in numbers(found)] == list(range(1, count + 1))


def test_a_long_line_of_glued_records_is_read_to_its_end() -> None:
    """62 KB: a search of all that is left, for each record, would be given up."""
    step = "step: {n}  loss:  7.62585  memory: 66.91GiB(37.51%)  tps: 10,050  tflops: 314.71 "
    found = read("".join(step.format(n=n) for n in range(1, 801)))
    assert [n for n, *_ in numbers(found)] == list(range(1, 801))
    assert not rows(found, "warnings")


def test_bars_that_begin_again_each_epoch_go_on() -> None:
    bar = (
        "Epoch {e}: :  50%|█████     | {i}/20 [01:00<01:00, reduced_train_loss={loss:.3f}, "
        "global_step={n}, consumed_samples={n}, train_step_timing in s=1.5]\r"
    )
    steps = [(e, i, 20 * (e - 1) + i) for e in (1, 2, 3) for i in range(1, 21)]
    log = read("".join(bar.format(e=e, i=i, n=n - 1, loss=2 - n / 100) for e, i, n in steps))
    assert [row["iteration"] for row in rows(log, "iterations")] == list(range(1, 61))
    assert {row["segment"] for row in rows(log, "iterations")} == {1}
    assert rows(log, "runs")[0]["train_iters"] is None


@pytest.mark.parametrize("width", (72, 80, 100))
def test_a_step_of_fields_that_a_terminal_breaks_is_joined(width: int) -> None:
    """torchtitan's lines at the width of a terminal, as pages quote them."""
    shown: list[str] = []
    for n in (1, 2, 3):
        step = (
            f"[rank0]:[titan] 2026-07-16 11:20:4{n},921 - root - INFO - step:  {n}  "
            f"loss:  7.9882{n}  grad_norm:  3.7762  memory:  3.87GiB(2.17%)  tps: 1,578  "
            "tflops: 0.86  mfu: 12.50%"
        )
        shown += textwrap.wrap(step, width, break_long_words=False)
        shown.append(f"[rank0]:[titan] 2026-07-16 11:20:4{n},921 - root - INFO - Synchronizing")
    found = rows(read(*shown), "iterations")
    assert [row["iteration"] for row in found] == [1, 2, 3]
    for row in found:
        assert (row["loss"], row["tflops"]) == (float(f"7.9882{row['iteration']}"), 0.86)
        assert row["tokens_per_s_per_device"] == 1578
        assert row.get("mfu") == (None if width == 80 else 0.125), "a number alone on its line"
