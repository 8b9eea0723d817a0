"""How runs end in logs, and what damage does to them."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.ingest.logs.step import OPEN_STEPS
from bench.schema.opening import in_memory
from bench.schema.store import insert
from tests.logs import BLOCK, codes, header, iteration, only_run, read, rows

TRACEBACK = "Traceback (most recent call last):"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
LIMIT = "slurmstepd: error: *** JOB 12 ON vm CANCELLED AT 2026-11-20T08:46:36 DUE TO TIME LIMIT ***"
NAN = "grad norm: nan |"


@pytest.mark.parametrize(
    ("lines", "status", "line"),
    [
        ([iteration(1)], "ended", 9),
        ([iteration(1), "[after training is done] datetime: 2026-11-20 09:08:24 "], "ok", 10),
        ([iteration(4)], "ok", 9),
        ([iteration(4), TRACEBACK], "ok", 9),
        ([], "ended", 8),
        ([TRACEBACK, "ValueError: no", LIMIT], "fail", 9),
        ([TRACEBACK, "  File x", OOM, LIMIT], "oom", 11),
        ([LIMIT, TRACEBACK], "timeout", 9),
        ([TRACEBACK, iteration(1)], "ended", 10),
        (["Process 4711 exits with return code = -11"], "fail", 9),
        (["Process 4711 exits with return code = 0"], "ended", 9),
        ([iteration(1), iteration(2, tail=NAN), iteration(3, tail=NAN), LIMIT], "nan", 10),
        ([iteration(1, tail=NAN), iteration(2)], "ended", 10),
        ([iteration(1, tail="loss scale: 8.0 |")], "ended", 9),
    ],
)
def test_how_a_run_ended(lines: list[str], status: str, line: int) -> None:
    run = only_run(read("\n".join([header(), *lines])))
    assert (run["status"], run["status_line"]) == (status, line)
    assert (run["status_reason"] is None) == (status == "ok")


def test_a_damaged_value_is_kept_and_counted() -> None:
    log = read(iteration(1).replace("7.439", "7.4x9"))
    (row,) = rows(log, "iterations")
    assert "grad_norm" not in row and row["more"] == {"grad norm": "7.4x9"}
    assert codes(log) == ["misfit"]


def test_rows_may_be_taken_early() -> None:
    text = "\n".join([header(), *(iteration(n, of=9) for n in range(1, 9))])
    reader, taken = LogReader("source", dialects()), []
    for line in read_lines(io.BytesIO(text.encode())):
        reader.feed(line)
        taken += reader.take_rows().by_table.get("iterations", [])
        assert not reader.take_rows().by_table
    rest = reader.finish().rows.by_table
    # The newest steps wait for other lines that may speak of them.
    assert len(rest["iterations"]) == OPEN_STEPS and len(rest["runs"]) == 1
    assert taken + rest["iterations"] == rows(read(text), "iterations")


def test_what_is_no_log_gives_no_run() -> None:
    log = read("# Title\n\n------\nTraceback (most recent call last):\n> padded vocab\n")
    assert not log.rows.by_table and not log.formats
    assert (log.lines, log.lines_read, log.lines_known, log.lines_unread) == (5, 0, 2, 3)


PIECES = st.sampled_from(
    [
        *header().splitlines(),
        iteration(1),
        iteration(3)[:150],
        TRACEBACK,
        OOM,
        LIMIT,
        " validation loss at iteration 5 on test set | lm loss value: x | lm loss PPL: 1E+2 | ",
        " > number of parameters on model parallel rank 2            52.005 Billion",
        "\r",
        "\n",
        "|",
        ": ",
    ]
)


@settings(max_examples=200)
@given(st.lists(PIECES | st.text(max_size=20) | st.binary(max_size=8), max_size=30))
def test_no_damage_raises(pieces: list[str | bytes]) -> None:
    raw = b"".join(p if isinstance(p, bytes) else p.encode("utf-8", "replace") for p in pieces)
    log = read(raw)
    runs = {row["run_id"] for row in rows(log, "runs")}
    assert {row["run_id"] for row in rows(log, "iterations")} <= runs
    assert log.lines == log.lines_read + log.lines_known + log.lines_unread
    assert "thisismysecret" not in repr(log)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "  ",
        "a",
        "a.",
        "-",
        "|",
        "a: 1 |",
        " loss at ",
        "[before ",
        "using world size: 1, context-parallel size: 1, ",
        "iteration 1/ 2 | elapsed time per iteration",
        "failed (exitcode: ",
        "a=",
        "--token ",
        "-eyJ",
        "http://",
    ],
)
def test_a_long_line_takes_no_time(unit: str) -> None:
    def processor_time(size: int) -> float:
        long = unit * (size // len(unit))
        begun = time.process_time()
        read(f"{header()}\n{BLOCK.splitlines()[0]}\n  data_path ...... {long}\n{long}\n{long}")
        return time.process_time() - begun

    # Four times the line may take four times as long; a pattern that goes back takes sixteen.
    assert processor_time(120_000) < 9 * processor_time(30_000) + 0.1


def test_the_tables_take_every_row(data: Path) -> None:
    with in_memory() as warehouse:
        for path in sorted((data / "logs").glob("*.log")):
            log = read(path.read_bytes(), path.name)
            insert(warehouse.con, log.rows, path.name)
            for table, made in log.rows.by_table.items():
                query = f"SELECT count(*) FROM raw.{table} WHERE load_id = ?"
                assert list(warehouse.rows(query, [path.name])) == [(len(made),)]
        query = "SELECT sum(step_time_s), max(loss), any_value(loss_name) FROM raw.iterations"
        (found,) = warehouse.rows(query + " WHERE load_id = 'fugaku_dp2.log'")
        times = pytest.approx(0.1431 + 0.2921 + 0.0784 + 0.0760 + 0.0756)
        assert found == (times, 5.800581, "lm loss")


EPOCHS = (
    "Training epoch {e}, iteration {i}/19 | lr: 2.999e-07 | global_batch_size: 512 | "
    "global_step: {n} | reduced_train_loss: 11.03 | train_step_timing in s: 7.549\n"
)


def test_steps_of_an_epoch_are_no_goal_once_there_are_more() -> None:
    steps = "".join(EPOCHS.format(e=n // 20, i=n % 20, n=n) for n in range(25))
    (run,) = rows(read(steps), "runs")
    assert (run["status"], run["train_iters"]) == ("ended", None)
    (run,) = rows(read(steps + "torch.OutOfMemoryError: CUDA out of memory. Tried to\n"), "runs")
    assert run["status"] == "oom"
    whole = "".join(EPOCHS.format(e=0, i=n, n=n) for n in range(20))
    (run,) = rows(read(whole), "runs")
    assert (run["status"], run["train_iters"]) == ("ok", 20)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("2026-01-02 10:00:33 INFO Training finished in 0:00:33", "ok"),
        ("Training complete!", "ok"),
        ("Epoch 3 training complete", "ended"),
        ("the training is not finished yet", "ended"),
    ],
)
def test_a_program_that_says_that_it_is_over(line: str, status: str) -> None:
    (run,) = rows(read("\n".join([iteration(1), iteration(2), line])), "runs")
    assert run["status"] == status


@pytest.mark.parametrize(("last", "status"), [(1, "ended"), (2, "ok")])
def test_a_log_that_counts_from_zero_is_over_one_below_its_number_of_steps(
    last: int, status: str
) -> None:
    line = (
        "step {:05d}/00003 (0.05%) | loss: 8.12 | grad norm: 0.51 | lrm: 1.00 | dt: 1234.50ms | "
        "tok/sec: 424,697 | mfu: 45.12 | total time: 0.50m"
    )
    text = "\n".join(line.format(step) for step in range(last + 1))
    assert [row["iteration"] for row in rows(read(text), "iterations")] == [*range(last + 1)]
    assert only_run(read(text))["status"] == status
