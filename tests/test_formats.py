"""Every log of `shared/logs`: counts by plain expressions, endings by reading, numbers by hand."""

import re
from collections import Counter
from pathlib import Path

import pytest

from bench.schema.rows import Row
from tests.logs import read, rows
from tests.real_logs import ENDS, LOGS, steps_by_hand


@pytest.mark.parametrize("path", LOGS)
def test_steps_and_endings(shared: Path, path: str) -> None:
    pattern, steps, endings = LOGS[path]
    data = (shared / "logs" / path).read_bytes()
    log = read(data)
    assert [run["status"] for run in rows(log, "runs")] == endings
    found = rows(log, "iterations")
    print(f"{path}: {len(found)} steps, {steps_by_hand(data, pattern)} by hand")
    assert len(found) == steps == steps_by_hand(data, pattern)
    assert log.lines == log.lines_read + log.lines_known + log.lines_unread
    if endings:
        assert all(run["status_line"] for run in rows(log, "runs"))


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


@pytest.mark.parametrize(("pattern", "first", "last"), ENDS, ids=[end[0] for end in ENDS])
def test_first_and_last_step(
    shared: Path, pattern: str, first: dict[str, object], last: dict[str, object]
) -> None:
    found = rows(read(one(shared, pattern)), "iterations")
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
    (topology,) = rows(read(data), "topology")
    for column, argument in TOPOLOGY.items():
        if said.get(argument, "None") != "None":
            assert str(topology[column]) == said[argument], column


def kinds(rows: list[Row], name: str) -> Counter[object]:
    return Counter(row[name] for row in rows)


def test_timers_memory_and_flags(shared: Path) -> None:
    log = read(one(shared, "msft_megatron_deepspeed/MoE*"))
    timers = [row for row in rows(log, "timers") if row["iteration"] == 20]
    assert {row["name"]: row["max_ms"] for row in timers}["backward-embedding-all-reduce"] == 0.01
    memory = [row for row in rows(log, "memory") if row["rank"] == 0]
    assert {row["kind"]: row["value"] for row in memory}["max_reserved"] == 6098.0
    assert kinds(memory, "unit") == {"MiB": 4}
    flags = {row["name"]: row["value"] for row in rows(log, "env_flags")}
    assert flags["NCCL_IB_TIMEOUT"] == "20" and flags["NCCL_NET_GDR_LEVEL"] == "SYS"
    facts = {row["field"]: str(row["raw"]) for row in rows(log, "facts")}
    assert facts["deepspeed_version"].startswith("0.7.3") and facts["nccl_version"].startswith("2.")
    assert facts["megatron_commit"] == "7188d07"


def test_min_and_max_timers_and_the_host_memory(shared: Path) -> None:
    log = read(one(shared, "megatron_cpu/megatron_lm_dp2.log"))
    timer = next(r for r in rows(log, "timers") if r["name"] == "startup-program-setup")
    assert (timer["min_ms"], timer["max_ms"], timer["iteration"]) == (1403.28, 1541.08, None)
    theory = {row["kind"]: row["value"] for row in rows(log, "memory")}
    assert theory["theory_total"] == 15.87
    fugaku = read(one(shared, "megatron_cpu/fugaku_dp2.log"))
    assert kinds(rows(fugaku, "memory"), "kind")["host"] == 1
    bridge = rows(read(one(shared, "nvidia_dgxc/*")), "memory")
    found = {row["kind"]: (row["value"], row["unit"]) for row in bridge}
    assert found["max_allocated"] == (194.41, "GB")


def test_a_benchmark_of_mlperf(shared: Path) -> None:
    log = read(one(shared, "mlperf/NVIDIA*"))
    (run,), (topology,) = rows(log, "runs"), rows(log, "topology")
    assert (run["device"], run["framework"]) == ("NVIDIA H100-SXM5-80GB", "MLPerf")
    assert (topology["nodes"], topology["devices_per_node"], topology["gbs"]) == (8, 8, 8)
    assert rows(log, "evaluations")[-1]["metric"] == "eval_accuracy"
    assert rows(log, "iterations")[0]["samples_per_s"] == 11.996044018102383
    [took] = rows(log, "measurements")
    assert (took["metric"], took["value"], took["unit"]) == ("time_to_train", 343.842, "s")
