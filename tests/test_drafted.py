"""Logs of unknown trainers are read where their own lines prove what their numbers are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from tests.logs import stored

SECONDS = (2.0, 2.2, 1.9, 2.6, 2.1, 2.0, 1.8, 2.4)
# aws-samples/deep-learning-models issue 45.
HOROVOD = """\
[1,0]<stdout>:2020-12-23 23:07:21,094 __main__    : INFO     Train step 1040 -- Loss: 11.174, MLM: 10.479, SOP: 0.695 -- It/s: 1.69
[1,0]<stdout>:2020-12-23 23:07:26,961 __main__    : INFO     Train step 1050 -- Loss: 11.174, MLM: 10.478, SOP: 0.696 -- It/s: 1.70
[1,0]<stdout>:2020-12-23 23:07:32,810 __main__    : INFO     Train step 1060 -- Loss: 11.176, MLM: 10.483, SOP: 0.694 -- It/s: 1.71
[1,0]<stdout>:2020-12-23 23:07:38,801 __main__    : INFO     Train step 1070 -- Loss: 11.171, MLM: 10.475, SOP: 0.695 -- It/s: 1.67
[1,0]<stdout>:2020-12-23 23:07:44,775 __main__    : INFO     Train step 1080 -- Loss: 11.166, MLM: 10.477, SOP: 0.689 -- It/s: 1.67
"""  # noqa: E501 - a log
# NVIDIA/DeepLearningExamples issue 1262: the time is not that of a step.
TENSORFLOW = """\
I0302 02:18:34.095144 140737349982016 model_training_utils.py:539] Train Step: 83/90  / loss = 10.2 / time = 0.143 sec
I0302 02:18:39.059608 140737349982016 model_training_utils.py:539] Train Step: 84/90  / loss = 10.3 / time = 0.138 sec
I0302 02:18:44.168392 140737349982016 model_training_utils.py:539] Train Step: 85/90  / loss = 10.1 / time = 0.141 sec
I0302 02:18:49.268392 140737349982016 model_training_utils.py:539] Train Step: 86/90  / loss = 10.0 / time = 0.140 sec
"""  # noqa: E501 - a log


def test_clocks_prove_the_time_of_a_step(tmp_path: Path) -> None:
    found, [message] = stored(tmp_path, HOROVOD)
    assert found[0] == (1040, 0.592, 11.174)
    assert [step for step, _, _ in found] == [1040, 1050, 1060, 1070, 1080]
    assert message.endswith("drafted from its names and numbers (clock = step time)")


def test_one_batch_in_steps_of_other_times_proves_them(tmp_path: Path) -> None:
    lines = [f"[train] step {n} | nll {3 - n / 9:.4f} | {1000 * s:.1f} ms/step | "
             f"{65536 / s:.0f} tokens/s" for n, s in enumerate(SECONDS)]  # fmt: skip
    found, [message] = stored(tmp_path, "\n".join(lines))
    assert [(step, time) for step, time, _ in found] == list(enumerate(SECONDS))
    assert "tokens/s x step time is the same in every step" in message


# A public page on the prefetching of a nanochat.
ROUNDED = """\
[Step  1164] Speed: 1911.1K tok/s | MFU: 46.76% | Time: 0.27s
[Step  1165] Speed: 1514.8K tok/s | MFU: 37.06% | Time: 0.35s
[Step  1166] Speed: 1847.4K tok/s | MFU: 45.20% | Time: 0.28s
[Step  1167] Speed: 1895.5K tok/s | MFU: 46.38% | Time: 0.28s
[Step  1168] Speed: 1513.3K tok/s | MFU: 37.03% | Time: 0.35s
"""


def test_times_of_two_digits_prove_as_much_as_they_say(tmp_path: Path) -> None:
    found, [message] = stored(tmp_path, ROUNDED)
    assert [(step, time) for step, time, _ in found] == [
        (1164, 0.27), (1165, 0.35), (1166, 0.28), (1167, 0.28), (1168, 0.35),
    ]  # fmt: skip
    assert "tokens/s x step time is the same in every step" in message
    assert stored(tmp_path, ROUNDED.replace("1847.4K", "1690.4K")) == ([], [])
    assert stored(tmp_path, re.sub(r"(0\.\d)\ds", r"\1s", ROUNDED)) == ([], [])


def test_without_an_equation_steps_and_losses_are_read_by_their_names(tmp_path: Path) -> None:
    """Clocks contradict the time of a step, and nothing shows what a bare `time` is."""
    found, [message] = stored(tmp_path, TENSORFLOW)
    assert found == [(83, None, 10.2), (84, None, 10.3), (85, None, 10.1), (86, None, 10.0)]
    assert "no equation shows it" in message
    text = "\n".join(f"step {n} loss {3 - n / 8:.3f} time {s}" for n, s in enumerate(SECONDS))
    found, _ = stored(tmp_path, text)
    assert found == [(n, None, 3 - n / 8) for n in range(8)]


# Of public repositories: mlc-ai/pith-train pull request 7, ml-explore/mlx-examples issue 210, a
# template (nanoGPT's forks), and one line that only a training prints.
NAMED = {
    "| INFO | step 00000002/00000015 | step-time 28.823 sec | cross-entropy-loss 2.5949 | "
    "load-balance-loss 0.001803 | learning-rate 1.000000e-06 | gradient-norm 20.0672 | "
    "tokens-per-second 72,759 | peak-gpu-memory 63.84 GB": (2, 28.823, 2.5949, 72759.0),
    "Iter 10: Train loss 3.608, Learning Rate 1e-5, It/sec 2.50, grad norm 0.5, Tokens/sec 1.425": (
        10, 0.4, 3.608, 1.425),
    "{'step': 12, 'train/loss': 2.25, 'lr': 0.0003, 'gnorm': 1.5, 'dt': '512ms', 'eta': '1:02'}":
        (12, 0.512, 2.25, None),
    '{"global_step": 40, "loss": 2.25, "learning_rate": 1e-4, "grad_norm": 0.5}':
        (40, None, 2.25, None),
    "2026-01-01 10:00:00,000 - trainer - INFO - Epoch 1 Step 7 of 90: loss=2.25; lr=1e-4; gnorm=1; "
    "speed (tokens/s)=55; 93.44s/step": (7, 93.44, 2.25, 55.0),
}  # fmt: skip


@pytest.mark.parametrize("line", NAMED)
def test_a_line_that_only_a_training_prints(tmp_path: Path, line: str) -> None:
    (tmp_path / "run.log").write_text(f"reading data\n{line}\n")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "run.log"], tmp_path)
        query = "SELECT iteration, step_time_s, loss, tokens_per_s FROM iterations"
        assert warehouse.rows(query) == [NAMED[line]]


def test_counts_without_a_name(tmp_path: Path) -> None:
    """The name of a number may stand behind it: tinygrad/tinygrad pull request 13803."""
    lines = [f"{n:5} {s:.2f} s used, {3 - n / 8:.4f} loss, 0.00{n} LR, 642.43 GB used"
             for n, s in enumerate(SECONDS)]  # fmt: skip
    found, _ = stored(tmp_path, "\n".join(lines))
    assert found == [(n, None, 3 - n / 8) for n in range(8)]
    lines = [f"Epoch 1 [{n}/500] 1.2k tok/s loss={3 - n / 8} lr=1e-4" for n in range(4)]
    found, _ = stored(tmp_path, "\n".join(lines))
    assert found == [(n, None, 3 - n / 8) for n in range(4)]


def test_a_count_without_a_name_beside_a_pace_is_a_step(tmp_path: Path) -> None:
    line = "[{n}/300] loss 3.{n:02d} | 51{n}.3 ms/it{rate}\n"
    rated = "".join(line.format(n=n, rate=f" | 15{n:03d} tok/s") for n in range(1, 9))
    rows, _ = stored(tmp_path, rated)
    assert len(rows) == 8
    bare = "".join(line.format(n=n, rate="") for n in range(1, 9))
    assert stored(tmp_path, bare)[0] == []


def test_lines_of_one_trainer_need_not_have_one_shape(tmp_path: Path) -> None:
    """Times of other lengths, numbers that are nan, and values left out."""
    tails = ("eta 1 day, 2:03:04", "eta 23:59:01", "eta 9:01", "")
    lines = [f"Step {n}/90 | loss {'nan' if n == 5 else 3 - n / 8} | lr 1e-4 | {tails[n % 4]}"
             for n in range(1, 9)]  # fmt: skip
    found, _ = stored(tmp_path, "\n".join(lines))
    assert [(step, loss) for step, _, loss in found] == [
        (n, None if n == 5 else 3 - n / 8) for n in range(1, 9)
    ]


@pytest.mark.parametrize(
    "text",
    [
        # Times of a server, not of steps: the same batch in none.
        "\n".join(f"step {n} took {s} s, {100 + 7 * n} tokens/s" for n, s in enumerate(SECONDS)),
        # A rate that hangs on nothing, since all times are alike.
        "\n".join(f"step {n} took 2.0 s, 100 tokens/s" for n in range(9)),
        # Too few lines.
        "\n".join(HOROVOD.splitlines()[:2]),
        # Of other data, and no training.
        "\n".join(f"Validation step {n}: loss {3 - n / 9:.4f}" for n in range(9)),
        "\n".join(f"step {n}: val loss {3 - n / 9:.4f}" for n in range(9)),
        "\n".join(f"[eval] step {n} loss {3 - n / 9:.4f}, 100 samples/s" for n in range(9)),
        "\n".join(f"quantizing layer 3: iter {n} loss {3 - n / 9:.4f}" for n in range(9)),
        # Steps that do not grow, and losses that are none.
        "\n".join(f"step {7 * n % 5} loss {3 - n / 9:.4f}" for n in range(9)),
        "\n".join(f"step {n} loss nan" for n in range(9)),
    ],
)
def test_what_shows_nothing_is_not_read(tmp_path: Path, text: str) -> None:
    assert stored(tmp_path, text) == ([], [])


# Of one's own GRPO: chaoheng666/DeepRetrieval-GRPO eb6731d54d49, train_log.jsonl.
MEMBERS = (
    '{{"nonzero_reward_ratio": 0.5, "generated_sample_count_mean": 12.0, "valid_samples": 36.0, '
    '"loss": {loss}, "updated": 1.0, "phase": "{phase}", "epoch": 1, "step": {n}}}'
)


def test_names_of_other_numbers_say_nothing_of_an_object(tmp_path: Path) -> None:
    lines = [MEMBERS.format(loss=3 - n / 8, phase="train", n=n) for n in range(1, 4)]
    found, _ = stored(tmp_path, "\n".join(lines))
    assert found == [(n, None, 3 - n / 8) for n in range(1, 4)]


@pytest.mark.parametrize(
    "text", [MEMBERS.replace("{phase}", "eval"), '{{"eval": {{"loss": {loss}, "step": {n}}}}}']
)
def test_an_object_of_an_evaluation_is_no_step(tmp_path: Path, text: str) -> None:
    lines = [text.format(loss=3 - n / 8, n=n) for n in range(1, 9)]
    assert stored(tmp_path, "\n".join(lines)) == ([], [])


# FranxYao/Long-Context-Data-Engineering issue 13, and huggingface/peft pull request 2740.
BLOCKS = "".join(
    f"step {50 * n} token {250 * n}m\ntrain/loss {3 - n / 8}\ntrain/grad_norm 1.{n}\n"
    f"train/learning_rate 0.000{n}\n\n" for n in range(1, 4)
)  # fmt: skip
OBJECTS = "".join(
    f'  {{\n    "step": {50 * n},\n    "valid accuracy": 0.5,\n    "train loss": {3 - n / 8},\n'
    f'    "train time": 45.{n},\n    "tokens / sec": 4658.7,\n    "lr": 0.1\n  }},\n'
    for n in range(1, 4)
)  # fmt: skip


@pytest.mark.parametrize("text", [BLOCKS, OBJECTS, "    " + OBJECTS.split("{", 1)[1]])
def test_steps_of_several_lines(tmp_path: Path, text: str) -> None:
    found, _ = stored(tmp_path, text)
    assert found == [(50 * n, None, 3 - n / 8) for n in range(1, 4)]


@pytest.mark.parametrize(
    "text",
    [
        # The loss of an object stands above its step: it is not that of the object before.
        "".join(f'{{\n "loss": {3 - n / 8},\n "step": {n}\n}},\n' for n in range(1, 9)),
        "".join(f"loss 2.{n}\nstep {n}\n" for n in range(1, 9)),
        # Another quantity at some of the steps, and losses of other data.
        "".join(f"saving at step {n}\n" + "loss 2.5\n" * (n % 3) for n in range(1, 9)),
        "".join(f"step {n}\nval loss 2.{n}\nlr 0.1\n" for n in range(1, 9)),
    ],
)
def test_losses_that_no_step_is_above(tmp_path: Path, text: str) -> None:
    assert stored(tmp_path, text) == ([], [])


def test_losses_beside_the_steps_of_an_engine(tmp_path: Path) -> None:
    """liucongg/ChatGLM-Finetuning issue 12. If the trainer counts otherwise they are not read."""
    engine = "[2023-04-05 11:28:0{n},877] [INFO] [logging.py:75:log_dist] [Rank 0] step={n}, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]\n"  # noqa: E501 - a log
    for shift, losses in ((0, [3 - n / 8 for n in range(1, 7)]), (5, [None] * 6)):
        text = "".join(f"{engine.format(n=n)}loss:{3 - n / 8}, global_step:{n + shift}\n"
                       for n in range(1, 7))  # fmt: skip
        found, _ = stored(tmp_path, text)
        assert [(step, loss) for step, _, loss in found] == list(
            zip(range(1, 7), losses, strict=True)
        )


def test_a_summary_of_a_run_is_no_log(tmp_path: Path) -> None:
    text = (
        '{"train/loss": 2.25, "train/global_step": 40, "train/lr": 1e-4, "train/grad_norm": 0.5}\n'
    )
    for name, runs in (("summary.json", 0), ("run.log", 1), ("run.jsonl", 0)):
        (tmp_path / name).write_text(text)
        with in_memory() as warehouse:
            ingest_into(warehouse, [tmp_path / name], tmp_path)
            assert warehouse.rows("SELECT count(*) FROM runs") == [(runs,)]


def test_steps_that_begin_again_with_each_epoch_go_on(tmp_path: Path) -> None:
    line = "Epoch: [{epoch}]  [{n}/3]  eta: 0:00:05  loss: {loss:.4f}  lr: 0.001"
    text = "\n".join(
        line.format(epoch=e, n=n, loss=3 - e - n / 9) for e in range(2) for n in range(3)
    )
    found, _ = stored(tmp_path, text)
    assert [step for step, _, _ in found] == [0, 1, 2, 3, 4, 5]


def test_steps_of_all_epochs_stay_as_they_are(tmp_path: Path) -> None:
    line = "Epoch {epoch}/3 [Step {n}/1640]: loss={loss:.4f}"
    text = "\n".join(
        line.format(epoch=1 + n // 547, n=n, loss=3 - n / 999) for n in range(0, 1640, 90)
    )
    found, _ = stored(tmp_path, text)
    assert [step for step, _, _ in found] == [*range(0, 1640, 90)]


def test_steps_below_the_heading_of_an_epoch_are_read(tmp_path: Path) -> None:
    """Each epoch is a stretch of its own: no line tells how many steps the one before had."""
    epoch = "Epoch {n}/9:\n" + "".join(
        f"  [Step {step}/522] loss: {{n}}.{step}, lr: 1.2e-5\n" for step in (100, 200, 300)
    )
    found, _ = stored(tmp_path, epoch.format(n=1) + epoch.format(n=2))
    assert [step for step, _, _ in found] == [100, 200, 300] * 2


def test_the_losses_of_a_policy(tmp_path: Path) -> None:
    line = "step: {n} - actor/policy_loss: 0.0{n} - critic/vf_loss: 2.0 - timing_s/step: 9.5{n}"
    found, _ = stored(tmp_path, "\n".join(line.format(n=n) for n in range(1, 6)))
    assert found[0] == (1, 9.51, 0.01) and len(found) == 5


def test_names_behind_a_bracket_that_closes(tmp_path: Path) -> None:
    """timm: the mean of each value is in brackets."""
    line = (
        "Train: 0 [{n:4d}/1251 (  4%)]  Loss: 6.{n} (6.94)  Time: 0.5{n}s, 2043.91/s"
        "  (0.551s, 1858.43/s)  LR: 1.000e-06  Data: 0.011 (0.031)"
    )
    found, _ = stored(tmp_path, "\n".join(line.format(n=n) for n in range(0, 300, 50)))
    assert found[1] == (50, None, 6.5) and len(found) == 6


def test_a_mean_is_the_loss_of_lines_without_another(tmp_path: Path) -> None:
    lines = "step {0}, Avg_Loss: {1}, grad: 0.{2}, lr: 1e-4, val_loss: 9.9\n"
    text = "".join(lines.format(step, 4 - step / 100, step) for step in (10, 20, 30))
    assert _steps(tmp_path, text) == [(10, 3.9, 0.1), (20, 3.8, 0.2), (30, 3.7, 0.3)]
    assert _steps(tmp_path, text.replace("lr", "loss: 2.5, lr"))[0] == (10, 2.5, 0.1)


def _steps(tmp_path: Path, text: str) -> list[tuple[object, ...]]:
    (tmp_path / "train.log").write_text(text)
    query = "SELECT iteration, loss, grad_norm FROM iterations ORDER BY iteration"
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        return warehouse.rows(query)


def test_a_run_in_json_that_goes_on_from_a_checkpoint_twice(tmp_path: Path) -> None:
    line = '{{"step": {}, "of": 90, "loss_lm": 2.{}, "lr": 1e-4, "tok_s": 43176.5}}\n'
    text = "".join(line.format(step, place)
                   for place, step in enumerate((10, 20, 30, 20, 30, 40, 30, 40, 50)))  # fmt: skip
    assert len(_steps(tmp_path, text)) == 9
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        rows = warehouse.rows("SELECT segment, tokens_per_s FROM iterations ORDER BY line")
    assert [row[0] for row in rows] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert {row[1] for row in rows} == {43176.5}


def test_the_second_rate_of_a_pair_is_no_rate_of_the_step(tmp_path: Path) -> None:
    """OpenNMT: tokens of the source and of the target."""
    line = "Step {}/200000; acc:  31.18; ppl: 57.53; xent: {:.2f}; lr: 0.00028; 5092/261 tok/s;\n"
    text = "".join(line.format(n, 5 - n / 999) for n in range(50, 300, 50))
    assert len(_steps(tmp_path, text)) == 5
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        rates = warehouse.rows("SELECT DISTINCT tokens_per_s, lr FROM iterations")
    assert rates == [(None, 0.00028)]


def test_a_count_within_an_epoch_without_a_name_states_no_plan(tmp_path: Path) -> None:
    line = "Train: [29/300][{}/2859] eta 0:01:24 lr 0.000872 loss {:.4f} (1.9)\n"
    text = "".join(line.format(n, 2.1 - n / 1e4) for n in range(0, 60, 10))
    assert len(_steps(tmp_path, text)) == 6
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        assert warehouse.rows("SELECT train_iters FROM configurations") == [(None,)]
