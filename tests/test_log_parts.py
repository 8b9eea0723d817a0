# ruff: noqa: E501
"""Lines that speak of a step without its number, or with the number of another engine's."""

import pytest

from tests.log_lines import line, read
from tests.logs import rows

STEP_TIME = "Step Time : {s:.2f}s GPU utilization: {tflops}MODEL_TFLOP/s/GPU"
# microsoft/DeepSpeedExamples 0eaa79617531, step3_rlhf_finetuning/training_log_output
CHAT = """\
|E2E latency=3.95s |Gather latency=0.00s (0.00%) |Generate time=2.63s (66.75%) |Training time=1.08s (27.43%) |Others=0.23 (5.82%)|CurSamplesPerSec=16.21 |AvgSamplesPerSec=14.91
[2023-04-18 08:48:36,035] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=4, lr=[5.79e-07, 5.79e-07], mom=[(0.9, 0.95), (0.9, 0.95)]
[2023-04-18 08:48:36,058] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=86.76512302357848, CurrSamplesPerSec=78.87912870644737, MemAllocated=10.77GB, MaxMemAllocated=20.55GB
[2023-04-18 08:48:36,251] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=3, lr=[3.5000000000000004e-07, 3.5000000000000004e-07], mom=[(0.9, 0.95), (0.9, 0.95)]
epoch: 0|step: 9|ppo_ep: 1|act_loss: 0.2998046875|cri_loss: 0.1658935546875|unsuper_loss: 0.0
average reward score: -0.07635498046875
-------------------------------------------------------------------------------------
|E2E latency=3.88s |Gather latency=0.00s (0.00%) |Generate time=2.54s (65.36%) |Training time=1.12s (28.88%) |Others=0.22 (5.75%)|CurSamplesPerSec=16.50 |AvgSamplesPerSec=15.06
epoch: 0|step: 10|ppo_ep: 1|act_loss: inf|cri_loss: -0.0870361328125|unsuper_loss: 0.0
average reward score: 0.135986328125
"""


def test_a_line_above_its_step_belongs_to_it() -> None:
    """Megatron-Bridge: rank 0's line, then the last rank's; also where every step is as fast."""
    for front in ("", "ain_fp8_mx/0 "):
        pairs = [(10, 2000.0), (20, 1500.0), (30, 1500.0)]
        texts = [
            text
            for n, ms in pairs
            for text in (STEP_TIME.format(s=ms / 1000, tflops=n * 10.0), line(n, ms))
        ]
        log = read(*(front + text for text in texts))
        found = [(r["iteration"], r["step_time_s"], r["tflops"]) for r in rows(log)]
        assert found == [(10, 2.0, 100.0), (20, 1.5, 200.0), (30, 1.5, 300.0)]
        assert not rows(log, "warnings")


def test_a_line_that_comes_late_belongs_to_the_step_it_agrees_with() -> None:
    late = STEP_TIME.format(s=2.004, tflops=100.0)
    log = read(line(10, 2004.1), late, STEP_TIME.format(s=1.5, tflops=200.0), line(20, 1500.0))
    assert [r["tflops"] for r in rows(log)] == [100.0, 200.0]


def test_two_engines_of_one_program_speak_of_one_step() -> None:
    """DeepSpeed-Chat trains an actor and a critic, each with an engine that counts its steps."""
    log = read(*CHAT.splitlines())
    first, second = rows(log)
    assert (first["iteration"], first["segment"], second["iteration"]) == (10, 1, 11)
    assert (first["lr"], first["loss"], first["step_time_s"]) == (5.79e-07, 0.2998046875, 3.95)
    more = first["more"]
    assert isinstance(more, dict) and more["average reward score"] == "-0.07635498046875"
    assert second.get("loss") is None and second["losses"] == {
        "cri_loss": -0.0870361328125, "unsuper_loss": 0.0,
    }  # fmt: skip
    assert log.lines_unread == 0


def test_an_engine_that_starts_again_does_its_steps_again() -> None:
    again = "[Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.95)]"
    log = read(again, "torch.OutOfMemoryError: CUDA out of memory.", again)
    assert [(r["iteration"], r["segment"]) for r in rows(log)] == [(10, 1), (10, 2)]


def test_a_bar_before_a_traceback_on_its_line_repeats_the_step() -> None:
    """tqdm draws the bar again when the program fails: the line holds both, the bar first."""
    bar = "  0%|          | {n}/1218 [00:22<3:39:21, 10.82s/it]"
    start = ["***** Running training *****", "  Total optimization steps = 1,218"]
    text = [*start, bar.format(n=1), bar.format(n=2)]
    log = read(*text, bar.format(n=2) + "Traceback (most recent call last):", "ValueError: x")
    assert [(r["iteration"], r["segment"]) for r in rows(log)] == [(1, 1), (2, 1)]
    assert rows(log, "runs")[0]["status_reason"] == "ValueError: x"


TRAINING = """***** Running training *****
  Num examples = 32,000
  Num Epochs = 3
  Total optimization steps = 3,000
"""
LOSS = "{{'loss': {loss}, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': {epoch}}}\n"


def test_rounded_epochs_of_lines_at_even_distances_tell_the_steps() -> None:
    steps = range(1, 41)
    log = read(
        TRAINING + "".join(LOSS.format(loss=10 - n / 10, epoch=round(n / 1000, 2)) for n in steps)
    )
    found = rows(log, "iterations")
    assert [(row["iteration"], row["loss"]) for row in found] == [(n, 10 - n / 10) for n in steps]
    assert found[6]["more"] == {"epoch": "0.01", "step": "7, derived from the epoch"}
    assert not rows(log, "warnings")


def test_epochs_that_are_too_coarse_tell_no_steps() -> None:
    log = read(TRAINING + "".join(LOSS.format(loss=10 - n, epoch=0.01) for n in range(4)))
    assert not rows(log, "iterations")
    (warning,) = rows(log, "warnings")
    assert warning["code"] == "no_step" and "4 losses" in str(warning["message"])


BAR = " 10%|#         | {n}/600 [00:30<01:10,  1.00s/it]\n"
END = "{{'train_runtime': 600.0, 'train_samples_per_second': 4.0, 'epoch': {epoch}}}\n"


def buffered(*, header: str, every: int = 10, end: str = "") -> str:
    """600 steps of 3 epochs: bars as they are drawn, losses in gos of 25, as a buffer lets them."""
    text, held = header, []
    for n in range(1, 601):
        text += BAR.format(n=n)
        if n % every == 0:
            held.append(LOSS.format(loss=float(n), epoch=round(n / 200, 2)))
        if len(held) == 25 or n == 600:
            text, held = text + "".join(held), []
    return text + end


@pytest.mark.parametrize(
    ("header", "end"),
    [
        (TRAINING.replace("3,000", "600"), ""),
        (TRAINING.replace("3,000", "600"), "Traceback (most recent call last):\nValueError: x\n"),
        ("", END.format(epoch=3.0)),
    ],
)
@pytest.mark.parametrize("every", [1, 5, 10])
def test_losses_that_a_buffer_held_back(header: str, end: str, every: int) -> None:
    found = rows(read(buffered(header=header, every=every, end=end)), "iterations")
    assert [row["iteration"] for row in found] == list(range(1, 601))
    losses = {row["iteration"]: row["loss"] for row in found if row.get("loss") is not None}
    assert losses == {n: float(n) for n in range(every, 601, every)}


def test_the_first_step_is_printed_beside_those_at_even_distances() -> None:
    steps = [1, *range(25, 3001, 25)]
    text = "".join(LOSS.format(loss=float(n), epoch=round(n / 1000, 2)) for n in steps)
    found = rows(read(TRAINING + text), "iterations")
    assert [row["iteration"] for row in found] == steps


def test_losses_that_a_buffer_held_back_and_nothing_numbers() -> None:
    log = read(buffered(header=""))
    assert not [row for row in rows(log, "iterations") if row.get("loss") is not None]
    assert "no_step" in {row["code"] for row in rows(log, "warnings")}


def test_losses_that_print_their_step_and_come_late() -> None:
    """ms-swift's."""
    line = "{{'loss': {n}.5, 'learning_rate': 1e-05, 'epoch': 0.01, 'global_step/max_steps': '{n}/600'}}\n"
    bars = "".join(BAR.format(n=n) for n in range(1, 31))
    found = rows(read(bars + "".join(line.format(n=n) for n in (10, 20, 30))), "iterations")
    assert [row["iteration"] for row in found] == list(range(1, 31))
    losses = {row["iteration"]: row["loss"] for row in found if row.get("loss")}
    assert losses == {10: 10.5, 20: 20.5, 30: 30.5}


def test_a_loss_behind_the_last_bar_may_be_of_a_later_step() -> None:
    """A buffer may have held it back, or the bars may come late."""
    log = read(BAR.format(n=16) + BAR.format(n=17) + LOSS.format(loss=0.5, epoch=0.01))
    assert [(row["iteration"], row.get("loss")) for row in rows(log, "iterations")] == [
        (16, None), (17, None),
    ]  # fmt: skip
    assert [row["code"] for row in rows(log, "warnings")] == ["no_step"]


def test_losses_above_the_first_bar_are_of_its_step() -> None:
    """huggingface/open-r1 issue 161; two of them may be of any steps."""
    above, bar = LOSS.format(loss=0.5, epoch=0.0), BAR.format(n=1)
    found = rows(read(above + bar), "iterations")
    assert [(row["iteration"], row["loss"], row["step_time_s"]) for row in found] == [(1, 0.5, 1.0)]
    log = read(TRAINING + above + LOSS.format(loss=0.4, epoch=0.0) + bar.replace("600", "3000"))
    assert [row.get("loss") for row in rows(log, "iterations")] == [None]


def test_losses_that_a_callback_restates_count_once() -> None:
    """LLaMA-Factory's, behind the bar of the step, and the trainer's below it."""
    text = "".join(
        BAR.format(n=n).rstrip()
        + "[INFO|2025-04-30 23:19:39] llamafactory.train.callbacks:143 >> "
        + f"{{'loss': 0.{n}10, 'learning_rate': 3.5010e-07, 'epoch': {n / 200:.2f}, "
        + "'throughput': 1839.71}\n"
        + f"{{'loss': 0.{n}1, 'grad_norm': 1.73, 'learning_rate': 3.50099e-07, "
        + f"'epoch': {n / 200:.4f}}}\n"
        for n in (285, 290, 295)
    )
    found = rows(read(TRAINING.replace("3,000", "600") + text), "iterations")
    assert [(row["iteration"], row["loss"], row["lr"], row["grad_norm"]) for row in found] == [
        (n, float(f"0.{n}1"), 3.50099e-07, 1.73) for n in (285, 290, 295)
    ]
    assert all("1839.71" in str(row["more"]) for row in found)


VERL = "(TaskRunner pid=7) Training Progress:   6%|6     | {n}/435 [24:26<6:14:04, 54.74s/it]\n"


def test_bars_of_verl_alone_are_steps() -> None:
    """Its metrics may go elsewhere; a bar that has only a total and no name is no training's."""
    log = read(VERL.format(n=25) + VERL.format(n=26))
    assert [row["iteration"] for row in rows(log, "iterations")] == [25, 26]
    assert rows(log, "runs")[0]["train_iters"] == 435 and not rows(log, "runs")[0]["framework"]
    assert not rows(read(BAR.format(n=25) + BAR.format(n=26)), "runs")


def test_losses_behind_a_failure_do_not_undo_it() -> None:
    lines = [BAR.format(n=n) for n in range(1, 31)]
    late = [LOSS.format(loss=float(n), epoch=round(n / 200, 2)) for n in (10, 20, 30)]
    failed = "Traceback (most recent call last):\nValueError: x\n"
    log = read(TRAINING.replace("3,000", "600") + "".join(lines) + failed + "".join(late))
    assert rows(log, "runs")[0]["status"] == "fail"


def test_losses_beside_their_bars() -> None:
    text = "".join(
        BAR.format(n=n) + (LOSS.format(loss=float(n), epoch=0.9) if n % 5 == 0 else "")
        for n in range(281, 292)
    )
    found = rows(read(" 67%|##   | 2/3 [00:01<00:00,  1.68it/s]\n" + text), "iterations")
    assert [row["iteration"] for row in found] == list(range(281, 292))
    assert [row.get("loss") for row in found if row.get("loss")] == [285.0, 290.0]


def test_losses_of_a_log_without_any_step_are_counted() -> None:
    log = read(LOSS.format(loss=2.3, epoch=0.01) + LOSS.format(loss=2.2, epoch=0.02))
    first, second = rows(log, "iterations")
    assert (first["iteration"], second["iteration"], second["loss"]) == (1, 2, 2.2)
    assert second["more"] == {"epoch": "0.02", "step": "2, counted: no line numbers the steps"}
    assert second["interval_length"] is None and not rows(log, "warnings")


def test_losses_with_a_summary_whose_steps_do_not_fit_are_counted() -> None:
    end = "{'train_runtime': 364.4972, 'train_steps_per_second': 0.165, 'epoch': 0.01}\n"
    log = read(LOSS.format(loss=2.3, epoch=0.01) + LOSS.format(loss=2.2, epoch=0.01) + end)
    assert [row["iteration"] for row in rows(log, "iterations")] == [1, 2]
    assert not rows(log, "warnings")


def test_losses_of_two_trainings_without_any_step_are_reported() -> None:
    log = read(LOSS.format(loss=2.3, epoch=0.5) + LOSS.format(loss=2.2, epoch=0.1))
    assert not rows(log, "iterations")
    assert [row["code"] for row in rows(log, "warnings")] == ["no_step"]


def test_a_second_training_of_the_same_program_is_another_run() -> None:
    """Two models finetuned in turn: the first is over, and epochs begin again."""
    one = LOSS.format(loss=2.0, epoch=0.5) + LOSS.format(loss=1.5, epoch=1.0)
    end = END.format(epoch=1.0)
    evaluated = "{'eval_loss': 1.25, 'epoch': 1.0}\n"
    log = read(one + end + evaluated + one + end)
    first, second = rows(log, "runs")
    assert (first["last_line"], second["line"]) == (4, 5)
    assert [first["status"], second["status"]] == ["ok", "ok"]
    steps = [(row["run_id"], row["iteration"]) for row in rows(log, "iterations")]
    assert steps == [(run["run_id"], n) for run in (first, second) for n in (1, 2)]


def test_an_evaluation_behind_the_training_is_of_its_run() -> None:
    trained = "".join(BAR.format(n=n) for n in (599, 600)) + LOSS.format(loss=1.5, epoch=3.0)
    bars = "".join(f" {n}%|#   | {n}/4 [00:30<01:10,  1.00s/it]\n" for n in (1, 4))
    evaluated = "{'eval_loss': 1.25, 'eval_runtime': 2.0, 'epoch': 3.0}\n"
    log = read(TRAINING + trained + END.format(epoch=3.0) + bars + evaluated)
    (run,) = rows(log, "runs")
    assert [row["run_id"] for row in rows(log, "evaluations")] == [run["run_id"]]


def test_a_training_that_prints_its_end_alone_is_a_run() -> None:
    bars = "".join(BAR.format(n=n) for n in (1, 300, 600))
    log = read(bars + "{'eval_loss': 1.25, 'epoch': 1.0}\n" + END.format(epoch=3.0))
    (run,) = rows(log, "runs")
    assert run["status"] == "ok"
    found = {row["metric"]: row["value"] for row in rows(log, "measurements")}
    assert found == {"train_runtime": 600.0, "train_samples_per_second": 4.0}
    assert [row["value"] for row in rows(log, "evaluations")] == [1.25]


def test_a_bar_that_counts_records_is_none_of_a_training() -> None:
    map_bar = "Map: 100%|####| 5000/5000 [00:01<00:00,  4.00it/s]\n"
    log = read(
        map_bar + "".join(BAR.format(n=n) for n in (1, 2)) + LOSS.format(loss=2.0, epoch=1.0)
    )
    assert [row["iteration"] for row in rows(log, "iterations")] == [1, 2]


def test_a_dict_broken_by_a_terminal() -> None:
    whole = (
        "{'loss': 0.1, 'grad_norm': 0.2, 'learning_rate': 5e-05, 'epoch': 0.05, "
        "'global_step/max_steps': '600/22156', 'elapsed_time': '3h 14m'}"
    )
    cut = f"{whole[:100]}\n{whole[100:]}   \nBar\n"
    (row,) = rows(read(cut), "iterations")
    assert (row["iteration"], row["loss"], row["grad_norm"]) == (600, 0.1, 0.2)


def test_a_training_that_begins_anew_without_a_checkpoint_is_another_run() -> None:
    """Two commands of a page: no arguments are printed between them."""
    phase = "[before the start of training step] datetime: 2024-09-03 1{n}:00:00\n"
    steps = "\n".join(map(line, (10, 20, 30))) + "\n"
    log = read(phase.format(n=5) + steps + phase.format(n=6) + steps)
    assert [(run["line"], run["last_line"]) for run in rows(log, "runs")] == [(2, 4), (6, 8)]
    load = "  successfully loaded checkpoint from /ckpt [ t 1/1, p 1/1 ] at iteration 10\n"
    assert len(rows(read(steps + load + phase.format(n=6) + steps), "runs")) == 1
