"""Every log of `shared/logs`: counts by plain expressions, endings by reading, numbers by hand."""

import io
import re
from collections import Counter
from pathlib import Path

import pytest

from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.lines import read_lines
from bench.ingest.logs.log import LogReader
from bench.ingest.logs.logread import LogRead
from bench.schema.rows import Row

MEGATRON = rb"iteration[ =]+(\d+) */ *\d+ *\|"
STATS = rb'"throughput":.*"step": (\d+)'
STEP = rb"\] step=(\d+), skipped="
NEMO = rb"Training epoch \d+, iteration \d+/\d+ \|[^\r\n]*?global_step: (\d+)"
NEMO_RUNS = ["ok", "ok", "fail", "ok", "cancelled"]
BAR = rb"\| (\d+)/16 \[\d\d:\d\d"
NONE = rb"(?!)"

# Path: the plain expression of a step, the number of distinct steps a rewind apart, and how each
# run ended, as a careful reader says.
LOGS: dict[str, tuple[bytes, int, list[str]]] = {
    # One line, broken over two by the page.
    "amd_primus/docs__04-technical-guides__hybrid-models__gdn-guide.md.excerpts.txt": (
        MEGATRON, 1, ["ended"]),
    "argonne/ALCF__README.md.excerpts.txt": (MEGATRON, 2, ["ended"]),
    # Seven lines of Megatron; of step 136011 the excerpt has the engine's line alone.
    "argonne/ALCF__notes__cooldown.md.excerpts.txt": (
        rb"(?:step=|iteration= *)(\d{6})\b(?!-)", 8, ["ended"]),
    "bigscience_excerpts/experiments__gpt2-16gb-nodes.md.excerpts.txt": (MEGATRON, 7, ["ended"]),
    # The first cause behind the last step: an uncorrectable ECC error; running out of memory is
    # another story of the same page.
    "bigscience_excerpts/train__tr1-13B-base__chronicles.md.excerpts.txt": (MEGATRON, 10, ["fail"]),
    "bigscience_excerpts/train__tr11-176B-ml__reshaping-log.md.excerpts.txt": (
        MEGATRON, 16, ["ended"]),
    "bigscience_excerpts/train__tr8b-104B__chronicles.md.excerpts.txt": (
        MEGATRON, 19, ["ended"]),
    "bigscience_megatron/meg_ds_3d_gpt2_perf_n16-ds-on.out": (MEGATRON, 49, ["ended"]),
    "bigscience_megatron/meg_ds_zero_gpt2_perf_n16-1999616.out": (MEGATRON, 4, ["timeout"]),
    "bigscience_megatron/meg_gpt2_base_n16_dp1_tp4_pp16-1809577.out": (MEGATRON, 9, ["cancelled"]),
    "bigscience_megatron/meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out": (MEGATRON, 20, ["cancelled"]),
    "bigscience_megatron/meg_gpt2_perf_n16.out": (MEGATRON, 3, ["ended"]),
    "deepspeed_chat/step1_supervised_finetuning__opt-1.3b-globalBatchSize128.log": (
        STEP, 736, ["ok"]),
    "deepspeed_chat/step2_reward_model_finetuning__opt-350m_globalBatchSize-64.log": (
        STEP, 184, ["ok"]),
    # Step 0 is printed before the first step: an event.
    "deepspeed_cpu/pipe2_2proc.log": (rb"\] step=([1-9]\d*), skipped=", 4, ["ended"]),
    "deepspeed_cpu/pipe2_2proc_breakdown_FAILS.log": (NONE, 0, ["fail"]),
    "deepspeed_cpu/zero0_1proc_info.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    # All four steps, then `terminate called without an active exception` and return code -6.
    "deepspeed_cpu/zero0_2proc_deepspeed_launcher.log": (rb"\] step=([1-9]\d*),", 4, ["fail"]),
    # The logger is at WARNING: timers and memory, but no line with the number of a step.
    "deepspeed_cpu/zero1_2proc_breakdown.log": (STEP, 0, ["ended"]),
    "deepspeed_cpu/zero1_2proc_flops_profiler.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    "deepspeed_cpu/zero2_2proc.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    # Sixteen ranks draw the same bar.
    "hf_trainer_deepspeed/hf_ds_gpt2_base_n4-1832555.out": (BAR, 16, ["ok"]),
    # Two attempts that the launcher stopped without a word, and one that ended.
    "hf_trainer_deepspeed/hf_ds_gpt2_perf_n16_bs4-mbs8.out": (NONE, 0, ["fail", "fail", "ok"]),
    "jubench/DESCRIPTION.md.excerpts.txt": (MEGATRON, 5, ["ended"]),
    "jubench/README.md.excerpts.txt": (MEGATRON, 5, ["ended"]),
    "megatron_cpu/fugaku_1proc.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2_ac.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2_timers_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/fugaku_pp2_ds_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/fugaku_tp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_1proc_bf16_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/megatron_lm_dp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_dp2_recompute.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_tp2.log": (MEGATRON, 5, ["ok"]),
    # MLPerf counts samples: a step is a batch of them.
    "mlperf/Dell_results_XE9680x8H100-SXM-80GB_llama2_70b_lora_result_3.txt": (STATS, 5, ["ok"]),
    "mlperf/Google_results_cloud-tpu-v5p-1024-maxtext_gpt3_result_0.txt": (NONE, 0, ["ok"]),
    "mlperf/NVIDIA_results_eos_n8_ngc24.04_nemo_llama2_70b_lora_result_4.txt": (STATS, 6, ["ok"]),
    "msft_megatron_deepspeed/MoE_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log": (
        MEGATRON, 12, ["ended"]),
    # Ctrl-C: every process ends with KeyboardInterrupt.
    "msft_megatron_deepspeed/random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log":
        (MEGATRON, 60, ["cancelled"]),
    "msft_megatron_deepspeed/"
    "random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4_origin.log":
        (MEGATRON, 16, ["cancelled"]),
    "nemo/resiliency-in-pretraining-demo.ipynb.out.txt": (NEMO, 85, NEMO_RUNS),
    "nvidia_dgxc/llama3.1__README.md.excerpts.txt": (MEGATRON, 1, ["ok"]),
    "slurm/gpt-dp2.18.out": (MEGATRON, 2, ["ok"]),
    # What Slurm says of jobs: no log of a training.
    "slurm/sacct.txt": (NONE, 0, []),
    "slurm/slurm-12.out": (NONE, 0, []),
    "slurm/slurm-31.out": (NONE, 0, []),
}  # fmt: skip


def read_log(data: bytes) -> LogRead:
    reader = LogReader("source", dialects())
    for line in read_lines(io.BytesIO(data)):
        reader.feed(line)
    return reader.finish()


def rows_of(log: LogRead, table: str) -> list[Row]:
    return log.rows.by_table.get(table, [])


def steps_by_hand(data: bytes, pattern: bytes) -> int:
    """Lines that name a step; of an engine and a framework, the same number again is one step."""
    numbers = [int(found) for found in re.findall(pattern, data)]
    if pattern is BAR:
        return len(set(numbers) - {0})
    if b"step=" not in pattern:
        return len(numbers)
    return sum(a != b for a, b in zip([None, *numbers], numbers, strict=False))


@pytest.mark.parametrize("path", LOGS)
def test_steps_and_endings(shared: Path, path: str) -> None:
    pattern, steps, endings = LOGS[path]
    data = (shared / "logs" / path).read_bytes()
    log = read_log(data)
    assert [run["status"] for run in rows_of(log, "runs")] == endings
    found = rows_of(log, "iterations")
    print(f"{path}: {len(found)} steps, {steps_by_hand(data, pattern)} by hand")
    assert len(found) == steps == steps_by_hand(data, pattern)
    assert log.lines == log.lines_read + log.lines_known + log.lines_unread
    if endings:
        assert all(run["status_line"] for run in rows_of(log, "runs"))


def test_the_list_is_whole(shared: Path) -> None:
    there = {
        str(path.relative_to(shared / "logs"))
        for path in (shared / "logs").rglob("*")
        if path.is_file()
        and path.name != "INDEX.md"
        # `more` has readings of its own, and rows in other forms beside its logs.
        and path.relative_to(shared / "logs").parts[0] != "more"
    }
    assert there == set(LOGS)


# First and last step of a log: what its lines say, read by eye.
ENDS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    (
        "argonne/ALCF__notes__cooldown*",
        {"iteration": 136004, "step_time_s": 3.4153, "loss": 12.316531, "tflops": 53.66},
        {"iteration": 136011, "lr": 2.0117746079462598e-05, "samples_per_s": 2602.3285686919153},
    ),
    (
        "argonne/ALCF__README*",
        {"iteration": 199, "step_time_s": 14.2875, "samples_per_s": 53.753},
        {"iteration": 200, "step_time_s": 14.5414, "samples_per_s": 52.815, "lr": 2.407e-4},
    ),
    (
        "deepspeed_chat/step1*",
        {"iteration": 10, "lr": 9.649992967150629e-06, "samples_per_s": 171.97903593624417},
        {"iteration": 7360, "samples_per_s": 171.46295365969803},
    ),
    (
        "deepspeed_cpu/pipe2_2proc.log",
        {"iteration": 1, "loss": 6.2654, "step_time_s": 0.077, "samples_per_s": 103.341},
        {"iteration": 4, "loss": 6.2339, "step_time_s": 0.086, "samples_per_s": 92.788},
    ),
    (
        "hf_trainer_deepspeed/hf_ds_gpt2_base*",
        {"iteration": 1, "step_time_s": 58.76},
        {"iteration": 16, "step_time_s": 55.0},
    ),
    (
        "nemo/*",
        {"iteration": 1, "step_time_s": 10.31, "loss": 11.03, "gbs": 512},
        {"iteration": 3, "step_time_s": 7.599, "consumed_samples": 1536},
    ),
    (
        "bigscience_megatron/meg_ds_zero*",
        {"iteration": 1, "step_time_s": 123.7424, "loss": 12.52221, "tflops": 41.31},
        {"iteration": 4, "step_time_s": 127.766, "loss": 38.99556, "tflops": 40.01},
    ),
    (
        "amd_primus/*",
        {"iteration": 4700, "step_time_s": 1.4608, "tflops": 633.7},
        {"iteration": 4700, "tokens_per_s_per_device": 180743.2},
    ),
    (
        "msft_megatron_deepspeed/MoE*",
        {"iteration": 10, "step_time_s": 0.942, "lr": 5.308e-07, "gbs": 256},
        {"iteration": 120, "step_time_s": 0.5915, "loss": 8.958018},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "first", "last"), ENDS, ids=[end[0] for end in ENDS])
def test_first_and_last_step(
    shared: Path, pattern: str, first: dict[str, object], last: dict[str, object]
) -> None:
    found = rows_of(read_log(one(shared, pattern)), "iterations")
    for row, said in ((found[0], first), (found[-1], last)):
        assert {name: row.get(name) for name in said} == said


def one(shared: Path, pattern: str) -> bytes:
    (path,) = (shared / "logs").glob(pattern)
    return path.read_bytes()


ARGUMENT = re.compile(rb"^  (\w+) \.* ?(.*?)(?: *-{20,})? *\r?$", re.M)
TOPOLOGY = {
    "dp": "data_parallel_size",
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "mbs": "micro_batch_size",
    "gbs": "global_batch_size",
    "ranks": "world_size",
    "cp": "context_parallel_size",
}


@pytest.mark.parametrize("path", [path for path in LOGS if "megatron" in path.split("/")[0]])
def test_topology_is_that_of_the_arguments(shared: Path, path: str) -> None:
    data = (shared / "logs" / path).read_bytes()
    begin, end = data.find(b" arguments ---"), data.find(b" end of arguments ---")
    if begin < 0:
        pytest.skip("prints no arguments")
    said = {k.decode(): v.decode() for k, v in ARGUMENT.findall(data[begin:end])}
    (topology,) = rows_of(read_log(data), "topology")
    for column, argument in TOPOLOGY.items():
        if said.get(argument, "None") != "None":
            assert str(topology[column]) == said[argument], column


def kinds(rows: list[Row], name: str) -> Counter[object]:
    return Counter(row[name] for row in rows)


def test_timers_memory_and_flags(shared: Path) -> None:
    log = read_log(one(shared, "msft_megatron_deepspeed/MoE*"))
    timers = [row for row in rows_of(log, "timers") if row["iteration"] == 20]
    assert {row["name"]: row["max_ms"] for row in timers}["backward-embedding-all-reduce"] == 0.01
    memory = [row for row in rows_of(log, "memory") if row["rank"] == 0]
    assert {row["kind"]: row["value"] for row in memory}["max_reserved"] == 6098.0
    assert kinds(memory, "unit") == {"MiB": 4}
    flags = {row["name"]: row["value"] for row in rows_of(log, "env_flags")}
    assert flags["NCCL_IB_TIMEOUT"] == "20" and flags["NCCL_NET_GDR_LEVEL"] == "SYS"
    facts = {row["field"]: str(row["raw"]) for row in rows_of(log, "facts")}
    assert facts["deepspeed_version"].startswith("0.7.3") and facts["nccl_version"].startswith("2.")
    assert facts["megatron_commit"] == "7188d07"


def test_min_and_max_timers_and_the_host_memory(shared: Path) -> None:
    log = read_log(one(shared, "megatron_cpu/megatron_lm_dp2.log"))
    timer = next(r for r in rows_of(log, "timers") if r["name"] == "startup-program-setup")
    assert (timer["min_ms"], timer["max_ms"], timer["iteration"]) == (1403.28, 1541.08, None)
    theory = {row["kind"]: row["value"] for row in rows_of(log, "memory")}
    assert theory["theory_total"] == 15.87
    fugaku = read_log(one(shared, "megatron_cpu/fugaku_dp2.log"))
    assert kinds(rows_of(fugaku, "memory"), "kind")["host"] == 1
    bridge = rows_of(read_log(one(shared, "nvidia_dgxc/*")), "memory")
    found = {row["kind"]: (row["value"], row["unit"]) for row in bridge}
    assert found["max_allocated"] == (194.41, "GB")


def test_a_benchmark_of_mlperf(shared: Path) -> None:
    log = read_log(one(shared, "mlperf/NVIDIA*"))
    (run,), (topology,) = rows_of(log, "runs"), rows_of(log, "topology")
    assert (run["device"], run["framework"]) == ("NVIDIA H100-SXM5-80GB", "MLPerf")
    assert (topology["nodes"], topology["devices_per_node"], topology["gbs"]) == (8, 8, 8)
    assert rows_of(log, "evaluations")[-1]["metric"] == "eval_accuracy"
    assert rows_of(log, "iterations")[0]["samples_per_s"] == 11.996044018102383
    [took] = rows_of(log, "measurements")
    assert (took["metric"], took["value"], took["unit"]) == ("time_to_train", 343.842, "s")
