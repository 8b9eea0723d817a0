"""Logs that miss their first lines, or whose lines are broken or dressed up on their way."""

import pytest

from tests.logs import header, iteration, only_run, read, rows

MLLOG = (
    ':::MLLOG {{"namespace": "", "time_ms": {at}, "event_type": "{kind}", "key": "{key}", '
    '"value": {value}, "metadata": {{"file": "a.py", "lineno": 1, "status": "success"}}}}'
)


def test_a_line_of_memory_broken_within_a_word() -> None:
    text = "[Rank 0] (after 1 iterations) memory (MB) | allocated: 517.77 | max alloca"
    rest = "ted: 619.57 | reserved: 817.77 | max reserved: 917.57"
    log = read("\n".join([header(), iteration(1), text, rest, iteration(2)]))
    found = {row["kind"]: (row["value"], row["iteration"]) for row in rows(log, "memory")}
    assert found == {
        "allocated": (517.77, 1), "max_allocated": (619.57, 1), "reserved": (817.77, 1),
        "max_reserved": (917.57, 1),
    }  # fmt: skip


def test_mlperf_without_its_preparation() -> None:
    lines = [
        MLLOG.format(at=1714861417957, kind="INTERVAL_START", key="run_start", value="null"),
        MLLOG.format(at=1714861557323, kind="INTERVAL_END", key="block_stop", value="null"),
        MLLOG.format(at=1714861657323, kind="INTERVAL_END", key="run_stop", value="null"),
    ]
    log = read("\n".join(lines))
    run = only_run(log)
    assert (run["framework"], run["status"]) == ("MLPerf", "ok")
    assert str(run["date"]).startswith("2024-05-04 22:23:37")
    assert len(rows(log, "events")) == 3


@pytest.mark.parametrize("front", ["[2024-05-01 12:00:00] ", "[2024-05-01 12:00:00,123] ", ""])
def test_timers_with_a_time_in_brackets(front: str) -> None:
    timers = [
        "(min, max) time across ranks (ms):",
        "    forward-backward ...............................: (1.00, 2.00)",
        "    optimizer ......................................: (3.00, 4.00)",
    ]
    log = read("\n".join([header(), iteration(1), *(front + one for one in timers), iteration(2)]))
    found = [(row["name"], row["min_ms"], row["max_ms"]) for row in rows(log, "timers")]
    assert found == [("forward-backward", 1.0, 2.0), ("optimizer", 3.0, 4.0)]


def test_bars_of_epochs_with_a_loss() -> None:
    """ColossalAI's: a bar is drawn again with its loss, and begins again each epoch."""
    drawn = [
        f"Epoch {epoch}:  {n * 10}%|#         | {n}/10 [00:30<04:30,  3.00s/it, loss={loss}]"
        for epoch in (0, 1) for n in range(1, 11) for loss in (9.5, 9.25)
    ]  # fmt: skip
    found = rows(read("\r".join(drawn) + "\n"), "iterations")
    assert [(row["iteration"], row["segment"]) for row in found] == [(n, 1) for n in range(1, 21)]
    assert {row["step_time_s"] for row in found} == {3.0}


def test_litgpt_prints_the_time_of_a_micro_batch() -> None:
    line = "Epoch 1 | iter {} step {} | loss train: 2.846, val: n/a | iter time: 112.20 ms (step)"
    one = rows(read("\n".join(line.format(n, n) for n in (1, 2))), "iterations")
    assert [(row["iteration"], row["step_time_s"]) for row in one] == [(1, 0.1122), (2, 0.1122)]
    four = rows(read("\n".join(line.format(4 * n, n) for n in (1, 2))), "iterations")
    assert [row.get("step_time_s") for row in four] == [None, None]


def test_deepspeed_chat_prints_the_time_of_a_micro_batch() -> None:
    step = "[2023-08-18 10:00:0{0},000] [INFO] [logging.py:96:log_dist] [Rank 0] step={0}, "
    step += "skipped=0, lr=[9.65e-06], mom=[(0.9, 0.95)]"
    micro = "Model Parameters: 1.316 B, Latency: 0.75s, TFLOPs: 84.20, Samples/sec: 21.30, "
    micro += "Time/seq 0.05s, Batch Size: 16, Sequence Length: 512"
    log = read("\n".join([step.format(1), micro, micro, step.format(2), micro]))
    found = rows(log, "iterations")
    assert [(row["iteration"], row.get("step_time_s")) for row in found] == [(1, None), (2, None)]
    times = [(row["iteration"], row["name"], row["max_ms"]) for row in rows(log, "timers")]
    assert times == [(n, "micro-batch", 750.0) for n in (1, 1, 2)]
    assert only_run(log)["seq_len"] == 512 and rows(log, "topology")[0]["mbs"] == 16
    assert not rows(log, "warnings")


def test_levanter_rounds_steps_from_1000_on() -> None:
    steps = ["998it", "999it", "1.00kit", "1.00kit", "1.01kit", "12.3kit"]
    line = "Progress on:train {}/20.0kit rate:1.25it/s remaining:47:36 elapsed:16:00 postfix:loss=3"
    found = rows(read("\n".join(line.format(step) for step in steps)), "iterations")
    printed = [(row["iteration"], row["segment"], row.get("more")) for row in found]
    assert [one[:2] for one in printed] == [(n, 1) for n in (998, 999, 1000, 1010, 12300)]
    assert [one[2] is None for one in printed] == [True, True, False, False, False]
