"""Steps that begin again are another training where no line says that one starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.log_lines import line, read
from tests.logs import rows
from tests.program import quick, selected

FIRST = "iter 0: loss 10.9600, time 900.00ms, mfu -100.00%"
NEXT = [f"iter {n}: loss {10 - n / 100:.4f}, time 90.00ms, mfu 20.00%" for n in (100, 200, 300)]


def counts(lines: Sequence[str]) -> list[int]:
    """The number of steps of each run."""
    log = read(*lines)
    steps = [row["run_id"] for row in rows(log, "iterations")]
    return [steps.count(row["run_id"]) for row in rows(log, "runs")]


def test_a_loss_that_is_where_it_was_begins_another_run() -> None:
    again = FIRST.replace("10.9600", "10.9312")
    log = read(FIRST, *NEXT, again, *NEXT)
    assert counts([FIRST, *NEXT, again, *NEXT]) == [4, 4]
    assert [row["status"] for row in rows(log, "runs")] == ["ended", "ended"]
    assert counts([FIRST, *NEXT, again.replace("10.93", "7.12")]) == [5], "another epoch"
    assert counts([FIRST, again, *NEXT]) == [5], "too early to tell"
    assert len(counts([FIRST, *NEXT, FIRST])) == 1, "a late copy"


def test_a_count_or_a_schedule_that_is_where_it_was_begins_another_run() -> None:
    steps = [line(n) for n in (1, 2, 3, 10)]
    again = line(1).replace("5.760191E+00", "5.760200E+00")
    assert counts([*steps, again, *steps[1:]]) == [4, 4]


def test_steps_behind_a_checkpoint_go_on() -> None:
    first, last = line(1), line(10).replace("learning rate: 0.0", "learning rate: 1.0")
    loaded = " successfully loaded checkpoint from /save at iteration 0"
    assert counts([first, line(2), line(5), last, loaded, line(1).replace("5.7", "5.8")]) == [5]


def test_epochs_are_no_trainings() -> None:
    lines = [
        f"Epoch {epoch} Step {step} | loss {4 - epoch - step / 1000:.4f} | lr {step * 1e-6:.1e}"
        for epoch in (1, 2)
        for step in (1, 100, 200, 300)
    ]
    assert len(counts(lines)) <= 1


def test_a_log_that_has_grown_by_another_start_is_read_alike(folder: Path) -> None:
    again = FIRST.replace("10.9600", "10.9312")
    log = folder / "run.log"
    for part in ([FIRST, *NEXT], [again, NEXT[0]], NEXT[1:]):
        with log.open("a") as stream:
            stream.write("\n".join(part) + "\n")
        assert quick(folder, "ingest", ".").code == 0
    query = "SELECT r.line, count(*) AS n FROM runs r JOIN iterations USING (run_id) GROUP BY ALL"
    assert sorted((row["line"], row["n"]) for row in selected(folder, query)) == [(1, 4), (5, 4)]


def test_the_length_of_an_epoch_is_no_plan() -> None:
    bars = [
        f"Epoch 1/5:   1%|     | {n}/154 [00:{n:02}<20:13,  7.93s/it, loss: 2.6, lr: 2.00e-05]"
        for n in (1, 2, 3, 4)
    ]
    [run] = rows(read(*bars), "runs")
    assert run["train_iters"] is None
