"""Logs to rows: real logs against counts made without our code, and small ones made for a rule."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from tests.logs import WORLD, codes, header, iteration, only_run, read, rows

WORLD += "pipeline-model-parallel size: 1 "


# Iteration lines as `shared/logs/INDEX.md` counts them; statuses as seen in the files.
REAL = [
    ("bigscience_megatron/meg_ds_3d_gpt2_perf_n16-ds-on.out", 49, "ended"),
    ("bigscience_megatron/meg_ds_zero_gpt2_perf_n16-1999616.out", 4, "timeout"),
    ("bigscience_megatron/meg_gpt2_base_n16_dp1_tp4_pp16-1809577.out", 9, "cancelled"),
    ("bigscience_megatron/meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out", 20, "cancelled"),
    ("bigscience_megatron/meg_gpt2_perf_n16.out", 3, "ended"),
    ("bigscience_excerpts/train__tr11-176B-ml__reshaping-log.md.excerpts.txt", 16, "ended"),
    ("bigscience_excerpts/train__tr8b-104B__chronicles.md.excerpts.txt", 19, "ended"),
    ("bigscience_excerpts/experiments__gpt2-16gb-nodes.md.excerpts.txt", 7, "ended"),
    ("bigscience_excerpts/train__tr1-13B-base__chronicles.md.excerpts.txt", 10, "fail"),
    ("jubench/README.md.excerpts.txt", 5, "ended"),
    ("jubench/DESCRIPTION.md.excerpts.txt", 5, "ended"),
    ("nvidia_dgxc/llama3.1__README.md.excerpts.txt", 1, "ok"),
    (
        "msft_megatron_deepspeed/MoE_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log",
        12,
        "ended",
    ),
    (
        "msft_megatron_deepspeed/"
        "random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log",
        60,
        "cancelled",
    ),
    (
        "msft_megatron_deepspeed/"
        "random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4_origin.log",
        16,
        "cancelled",
    ),
    ("megatron_cpu/fugaku_1proc.log", 5, "ok"),
    ("megatron_cpu/fugaku_dp2.log", 5, "ok"),
    ("megatron_cpu/fugaku_dp2_ac.log", 5, "ok"),
    ("megatron_cpu/fugaku_tp2.log", 5, "ok"),
    ("megatron_cpu/fugaku_pp2_ds_FAILS.log", 0, "fail"),
    ("megatron_cpu/megatron_lm_1proc_bf16_FAILS.log", 0, "fail"),
    ("megatron_cpu/megatron_lm_dp2.log", 5, "ok"),
    ("megatron_cpu/megatron_lm_dp2_recompute.log", 5, "ok"),
    ("megatron_cpu/megatron_lm_tp2.log", 5, "ok"),
]


@pytest.mark.parametrize(("path", "count", "status"), REAL)
def test_real_logs(shared: Path, path: str, count: int, status: str) -> None:
    data = (shared / "logs" / path).read_bytes()
    log = read(data)
    assert only_run(log)["status"] == status
    found = rows(log, "iterations")
    # Another way to the same numbers: a plain search over the bytes.
    pairs = re.findall(
        rb"iteration +(\d+)/ *\d+ \|.*?elapsed time per iteration \((m?s)\): ([\d.]+)", data
    )
    assert len(found) == count == len(pairs)
    for row, (number, unit, elapsed) in zip(found, pairs, strict=True):
        assert row["iteration"] == int(number)
        step = row["step_time_s"]
        assert isinstance(step, float)
        assert step == pytest.approx(float(elapsed) / (1000 if unit == b"ms" else 1), rel=1e-12)
    assert log.lines == data.count(b"\n") + (not data.endswith(b"\n"))
    assert log.lines == log.lines_read + log.lines_known + log.lines_unread


def test_a_fugaku_log_whole(data: Path) -> None:
    log = read((data / "logs" / "fugaku_dp2.log").read_bytes())
    run = only_run(log)
    shape = {k: run[k] for k in ("layers", "hidden", "heads", "ffn_hidden", "seq_len", "vocab")}
    assert shape == {
        "layers": 4,
        "hidden": 128,
        "heads": 4,
        "ffn_hidden": 512,
        "seq_len": 64,
        "vocab": 384,
    }
    assert (run["framework"], run["dtype"], run["recompute"]) == (
        "Megatron-DeepSpeed",
        "fp32",
        "none",
    )
    assert (run["line"], run["last_line"], run["status_line"]) == (49, 362, 357)
    assert (run["params_stated"], run["train_iters"]) == (850688, 5)
    (topology,) = rows(log, "topology")
    stated = {k: v for k, v in topology.items() if v is not None and k != "run_id"}
    assert stated == {
        "ranks": 2,
        "dp": 2,
        "tp": 1,
        "pp": 1,
        "ep": 1,
        "mbs": 1,
        "gbs": 8,
        "grad_accum": 4,
    }
    first = rows(log, "iterations")[0]
    assert first == {
        "run_id": run["run_id"],
        "segment": 1,
        "interval_length": None,
        "line": 348,
        "iteration": 1,
        "consumed_samples": 8,
        "consumed_tokens": 512,
        "step_time_s": 0.1431,
        "lr": 0.001,
        "gbs": 8,
        "loss_name": "lm loss",
        "loss": 5.760191,
        "loss_scale": 1.0,
        "grad_norm": 7.439,
        "seq_len": 64,
        "skipped": 0,
        "nan": 0,
        "samples_per_s": 55.899,
        "tflops": 0.01,
    }
    assert [row["interval_length"] for row in rows(log, "iterations")] == [None, 1, 1, 1, 1]
    evaluations = [(row["name"], row["metric"], row["value"]) for row in rows(log, "evaluations")]
    assert evaluations == [("val", "lm loss value", 4.709582), ("val", "lm loss PPL", 111.0057)]


def test_every_argument_is_a_fact(data: Path) -> None:
    text = (data / "logs" / "megatron_lm_dp2.log").read_text().splitlines()
    log = read("\n".join(text))
    facts = [row for row in rows(log, "facts") if row["scope"] == "arguments"]
    start, end = (i for i, line in enumerate(text) if "arguments ----" in line)
    assert len(facts) == end - start - 1 == 846
    assert [row["line"] for row in facts] == list(range(start + 2, end + 1))
    by_name = {row["field"]: row for row in facts}
    assert by_name["padded_vocab_size"]["value"] is None
    assert by_name["padded_vocab_size"]["raw"] == "None"
    assert by_name["ddp_param_name_patterns_for_fp32_local_accumulation"]["raw"] == "[]"
    run = only_run(log)
    assert run["framework"] == "Megatron-LM core 0.20.0"
    assert run["vocab"] == 512  # of the padding line: the argument says None
    assert rows(log, "iterations")[0]["printed_at"] == datetime(2026, 11, 20, 9, 8, 24, 442096)


def test_a_log_of_two_processes_gives_the_arguments_of_one(data: Path) -> None:
    logs = [
        read((data / "logs" / name).read_bytes()) for name in ("fugaku_1proc.log", "fugaku_dp2.log")
    ]
    one, two = ({row["field"] for row in rows(log, "facts")} for log in logs)
    # An argument whose line the other process printed into is left out, with a warning.
    garbled = {
        str(warning["message"]).split()[1]
        for warning in rows(logs[1], "warnings")
        if warning["code"] == "argument_garbled"
    }
    assert two < one and one - two == garbled


def test_tensor_parallel_log_glues_lines_together(data: Path, shared: Path) -> None:
    log = read((shared / "logs/megatron_cpu/megatron_lm_tp2.log").read_bytes())
    assert [row["line"] for row in rows(log, "iterations")] == [1107, 1192, 1261, 1326, 1391]
    assert only_run(log)["params_stated"] is None  # each rank holds half, and says so
    ranks = [row["raw"] for row in rows(log, "facts") if "on rank" in str(row["field"])]
    assert ranks == ["439296", "439296"]


def test_parameters_of_glued_lines_are_all_read(shared: Path) -> None:
    path = shared / "logs/bigscience_megatron/meg_ds_3d_gpt2_perf_n16-ds-on.out"
    log = read(path.read_bytes())
    on_rank = {row["field"] for row in rows(log, "facts") if "on rank" in str(row["field"])}
    assert len(on_rank) == 64  # TP 4 x PP 16
    (topology,) = rows(log, "topology")
    assert (topology["tp"], topology["pp"], topology["mbs"], topology["zero_stage"]) == (
        4,
        16,
        4,
        0,
    )


def test_a_traceback_names_its_exception(shared: Path) -> None:
    run = only_run(read((shared / "logs/megatron_cpu/fugaku_pp2_ds_FAILS.log").read_bytes()))
    assert run["status_line"] == 367
    assert run["status_reason"] == "AssertionError: bwd_microstep timer has already been started"


def test_a_secret_argument_is_not_stored() -> None:
    log = read(header() + "\n" + iteration(1, tail="wandb_key: mysecretvalue |"))
    assert "thisismysecret" not in repr(log) and "mysecretvalue" not in repr(log)
    (fact,) = (row for row in rows(log, "facts") if row["field"] == "hf_token")
    assert fact["raw"] == "[redacted]"


def test_carriage_returns_at_line_ends_change_nothing() -> None:
    text = "\n".join([header(), iteration(1), iteration(2)])
    assert rows(read(text.replace("\n", "\r\n")), "iterations") == rows(read(text), "iterations")


def test_a_line_behind_a_progress_bar_is_read() -> None:
    log = read("10%|#  | 1/10\r50%|## | 5/10\r" + iteration(1) + "\n")
    assert [row["line"] for row in rows(log, "iterations")] == [1]
    assert (log.lines, log.lines_read) == (1, 1)


def test_a_last_line_cut_off_keeps_what_is_whole() -> None:
    whole = iteration(2)
    log = read(iteration(1) + "\n" + whole[: whole.index("grad norm") + 12])
    last = rows(log, "iterations")[-1]
    assert last["loss"] == 5.760191 and "grad_norm" not in last
    assert codes(log) == ["truncated_line"]
    before = read(iteration(1) + "\n" + whole[: whole.index("elapsed") + 38])
    assert len(rows(before, "iterations")) == 1 and before.lines_unread == 1


def test_copies_of_several_ranks_are_stored_once() -> None:
    lines = [f"[default{rank}]:{iteration(n)}" for n in (1, 2) for rank in range(4)]
    lines.append(f"[default3]:{iteration(1)}")  # late, after the next iteration
    log = read("\n".join(lines))
    assert [(r["iteration"], r["segment"]) for r in rows(log, "iterations")] == [(1, 1), (2, 1)]
    (warning,) = rows(log, "warnings")
    assert warning["code"] == "copied_lines" and str(warning["message"]).startswith("7 ")


def test_a_rewind_is_a_new_segment_of_the_same_run() -> None:
    again = "lm loss: 5.760192E+00 | grad norm: 7.439 |"
    steps = [(2, 100.0, ""), (3, 101.0, ""), (3, 102.0, again), (4, 103.0, "")]
    lines = (iteration(n, step, tail=tail) for n, step, tail in steps)
    log = read(header() + "\n" + "\n".join(lines))
    found = [(r["iteration"], r["segment"], r["interval_length"]) for r in rows(log, "iterations")]
    assert found == [(2, 1, None), (3, 1, 1), (3, 2, None), (4, 2, 1)]
    assert only_run(log)["segment"] == 2 and only_run(log)["status"] == "ok"


def test_a_new_header_after_iterations_is_a_new_run() -> None:
    text = "\n".join([header(), iteration(1), header(), header(), iteration(1), iteration(4)])
    log = read(text)
    first, second = rows(log, "runs")
    assert first["run_id"] != second["run_id"]
    assert (first["line"], first["last_line"], first["status"]) == (1, 9, "fail")
    assert "line 10 begins the next run" in str(first["status_reason"])
    assert (second["line"], second["last_line"], second["status"]) == (10, 27, "ok")
    assert [r["run_id"] for r in rows(log, "iterations")] == [first["run_id"]] + 2 * [
        second["run_id"]
    ]


def test_run_ids_survive_growth_and_depend_on_the_source() -> None:
    text = "\n".join([header(), iteration(1), header(), iteration(1)])
    ids = [row["run_id"] for row in rows(read(text), "runs")]
    assert [row["run_id"] for row in rows(read(text + "\n" + iteration(2)), "runs")] == ids
    assert only_run(read(header()))["run_id"] == ids[0]
    assert only_run(read(header(), "other"))["run_id"] != ids[0]


def test_arguments_win_over_the_world_size_line() -> None:
    log = read(header().replace("data-parallel-size: 2", "data-parallel-size: 3"))
    assert rows(log, "topology")[0]["dp"] == 2
    (warning,) = rows(log, "warnings")
    assert (warning["code"], warning["line"]) == ("header_conflict", 1)
