"""Logs of unknown trainers are read where their own lines prove what their numbers are."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

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


def stored(folder: Path, text: str) -> tuple[list[tuple[object, ...]], list[str]]:
    (folder / "run.log").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder / "run.log"], folder)
        query = "SELECT iteration, round(step_time_s, 3), loss FROM iterations ORDER BY line"
        messages = warehouse.rows("SELECT message FROM warnings WHERE code = 'drafted_format'")
        return warehouse.rows(query), [message for (message,) in messages]


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


@pytest.mark.parametrize(
    "text",
    [
        TENSORFLOW,
        # Neither a clock nor a rate.
        "\n".join(f"step {n} loss {3 - n / 9:.4f} time {s}" for n, s in enumerate(SECONDS)),
        # Times of a server, not of steps: the same batch in none.
        "\n".join(f"step {n} took {s} s, {100 + 7 * n} tokens/s" for n, s in enumerate(SECONDS)),
        # A rate that hangs on nothing, since all times are alike.
        "\n".join(f"step {n} took 2.0 s, 100 tokens/s" for n in range(9)),
        # Too few lines.
        "\n".join(HOROVOD.splitlines()[:3]),
    ],
)
def test_what_proves_nothing_is_not_read(tmp_path: Path, text: str) -> None:
    assert stored(tmp_path, text) == ([], [])
