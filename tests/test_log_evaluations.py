"""Evaluations belong to the step that they tell; losses of a training that is over, to theirs."""

from __future__ import annotations

from bench.ingest.cast import inverse, inverse_rounded
from bench.ingest.logs.consistency import left_out, quantities
from bench.ingest.logs.equations import FirstSteps, Sizes
from bench.ingest.logs.unnumbered_steps import COUNTED
from tests.log_lines import read
from tests.logs import rows

SWIFT = (
    "{{'loss': {loss}, 'learning_rate': 1e-05, 'epoch': 0.05, 'global_step/max_steps': '{n}/90'}}"
)
LOSS = "{{'loss': {loss}, 'learning_rate': {lr}, 'epoch': 0.0}}"
BAR = "{share:3d}%|#         | {n}/4 [00:0{n}<00:01,  1.50s/it]"
END = "{'train_runtime': 6.0, 'train_samples_per_second': 4.0, 'train_loss': 2.0, 'epoch': 0.0}"


def test_an_evaluation_behind_losses_of_other_steps_keeps_its_own() -> None:
    """ms-swift: losses wait for the bar, the evaluation prints its step."""
    evaluation = "{'eval_loss': 1.5, 'epoch': 0.5, 'global_step/max_steps': '50/90'}"
    log = read(SWIFT.format(loss=2.0, n=5), SWIFT.format(loss=1.9, n=50), evaluation)
    assert [(row["iteration"], row["value"]) for row in rows(log, "evaluations")] == [(50, 1.5)]
    assert [row["train_iters"] for row in rows(log, "runs")] == [90]


def test_an_evaluation_before_the_first_step_is_of_the_model_as_it_was_made() -> None:
    log = read("step 0: train loss 4.2874, val loss 4.2823", "iter 0: loss 4.2638, time 19.76ms")
    (row,) = rows(log, "evaluations")
    assert (row["iteration"], row["value"]) == (0, 4.2823)
    assert log.lines_unread == 0


def test_as_many_losses_as_steps_are_those_of_the_steps() -> None:
    """Epochs of 0.0 give no steps; a finished training that printed a line a step does."""
    losses = [LOSS.format(loss=4.0 - n / 2, lr=f"{n}e-06") for n in range(1, 5)]
    bars = [BAR.format(share=25 * n, n=n) for n in (1, 2, 3, 4)]
    log = read(*bars, *losses, END)
    assert [(r["iteration"], r["loss"]) for r in rows(log)] == [
        (1, 3.5), (2, 3.0), (3, 2.5), (4, 2.0),
    ]  # fmt: skip
    missing = read(*bars, *losses[1:], END)
    assert not any("loss" in row for row in rows(missing)), "a line is missing, but which?"


def test_a_summary_gives_the_steps_of_losses_without_bars() -> None:
    """240 steps of 3 epochs, a line in 10: 60.1 seconds at 3.993 steps a second."""
    loss = "{{'loss': {n}.0, 'learning_rate': 1e-05, 'epoch': {epoch}}}"
    printed = [loss.format(n=n, epoch=round(n / 80, 2)) for n in range(10, 241, 10)]
    end = (
        "{{'train_runtime': 60.1, 'train_steps_per_second': {rate}, 'train_loss': 1, 'epoch': 3.0}}"
    )
    log = read(*printed, end.format(rate=3.993))
    assert [(r["iteration"], r["loss"]) for r in rows(log)] == [(n, n) for n in range(10, 241, 10)]
    assert rows(log)[0]["more"] == {"epoch": "0.12", "step": "10, derived from the epoch"}
    output = "TrainOutput(global_step=240, training_loss=1, metrics={'train_runtime': 60.0})"
    assert rows(read(*printed, end.format(rate=4.0), output)) == rows(log)
    open_rate = rows(read(*printed, end.format(rate=4.0)))  # 238 to 243 steps
    assert [(r["iteration"], r["loss"]) for r in open_rate[:2]] == [(1, 10.0), (2, 20.0)]
    assert open_rate[1]["more"] == {"epoch": "0.25", "step": f"2, {COUNTED}"}


def test_epochs_of_two_trainings_count_no_steps() -> None:
    loss = "{{'loss': 2.0{n}, 'learning_rate': 1e-05, 'epoch': {epoch}}}"
    first = [loss.format(n=n, epoch=n / 10) for n in range(1, 4)]
    assert [row["iteration"] for row in rows(read(*first))] == [1, 2, 3]
    assert not rows(read(*first, loss.format(n=9, epoch=0.1)))


def test_a_rate_that_says_too_little_is_no_time() -> None:
    assert inverse("0.281") == 1 / 0.281
    assert inverse("0.0027") is inverse("12") is inverse("1e2") is inverse("0.5") is None
    assert inverse("0.0091") == 1 / 0.0091
    assert inverse("0.50") == inverse("0.500") == inverse_rounded("0.5") == 2
    assert inverse("99") == 1 / 99
    assert inverse_rounded("0.007") is None
    log = read("[batch=5/5]:", "         Train throughput/batches_per_sec: 0.0027")
    (row,) = rows(log)
    assert row.get("step_time_s") is None and row["more"] == {"batches_per_s": "0.0027"}
    assert not rows(log, "warnings")


def test_tflops_that_no_device_reaches_are_no_part_of_statistics() -> None:
    """Megatron-Bridge 0.1 printed 59892.5 TFLOP/s of a device."""
    first = FirstSteps()
    first.add(1, 10, {"step_time_s": 4.65, "tflops": 59892.5})
    (sentence,) = left_out(quantities(first, Sizes()))
    assert sentence.startswith("TFLOP/s is left out of statistics")
    first.add(1, 10, {"tflops": 938.0})
    assert not list(left_out(quantities(first, Sizes())))
