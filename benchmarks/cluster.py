"""Ingest on a cluster compared with the plain command, and a model of up to 1,000 workers.

    python benchmarks/cluster.py [LOGS [ROUNDS]]

Generated logs of 1 MB are read by the plain command and by one and two local workers, in turn. The
processor times of one MB in workers and in the committer, and of a task in the scheduler, are
inputs of a model and a simulation with the real windows, batches and commits.
"""

from __future__ import annotations

import heapq
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

BATCH_MB, COMMIT_MB, AHEAD = 4.0, 256.0, 4  # as in prefetch.py, pipeline.py, remote_chunks.py
WORKERS = (1, 2, 10, 30, 100, 300, 1000)
ARCHIVE_MB = 100e6
TASKS = 400
Times = dict[str, float]


def main(logs: int, rounds: int) -> None:
    """Measure, and print tables in markdown."""
    groups: dict[str, list[Times]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-cluster-") as name:
        base = Path(name)
        made(base / "logs", logs)
        for number in range(rounds):
            for how in ("plain", "local:1", "local:2"):
                db = base / f"{how}.{number}.duckdb"
                words = [sys.executable, __file__, "--one", how, str(base / "logs"), str(db)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                groups.setdefault(how, []).append(json.loads(done.stdout))
    medians = {
        how: {key: statistics.median(one[key] for one in each) for key in each[0]}
        for how, each in groups.items()
    }
    print(f"{logs} logs of 1 MB, medians of {rounds}, load {os.getloadavg()[0]:.1f}\n")
    print("| how | wall, s | ratio | here, CPU s | others, CPU s | in all | ratio |")
    print("| :-- | --: | --: | --: | --: | --: | --: |")
    plain = medians["plain"]
    for how, one in medians.items():
        cpu, base_cpu = one["here"] + one["others"], plain["here"] + plain["others"]
        print(
            f"| {how} | {one['wall']:.1f} | {one['wall'] / plain['wall']:.2f} | {one['here']:.1f} |"
            f" {one['others']:.1f} | {cpu:.1f} | {cpu / base_cpu:.2f} |"
        )
    two = medians["local:2"]
    costs = Costs(two["others"] / logs, two["here"] / logs, two["task"], two["commit"])
    print(f"\n1 worker / (2 x 2 workers): {medians['local:1']['wall'] / two['wall'] / 2:.2f}\n")
    print(modelled(costs))


def made(folder: Path, logs: int) -> None:
    """Write distinct logs of 1 MB."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.making import iteration

    folder.mkdir()
    for number in range(logs):
        lines = (iteration(step, 100 + number + step % 7, 9999) for step in range(1, 2150))
        (folder / f"run{number:05d}.log").write_text("".join(lines))


def one(how: str, logs: Path, db: Path) -> Times:
    """Seconds: wall, processor here and in children, of a task, of an empty commit."""
    from bench.ingest.files.batches import Batch, read_batch
    from bench.ingest.files.cluster import opened
    from bench.ingest.files.pipeline import ingest
    from bench.ingest.version import parser_version
    from bench.schema import own_process

    own_process.begin()  # as the program does
    task = 0.0
    with ExitStack() as stack:
        cluster = None
        if how != "plain":  # excludes start and imports of workers
            cluster = stack.enter_context(opened(how, db.parent, lambda _: None))
            client = cluster._started()
            client.run(read_batch, Batch([], parser_version(None)))
        before, started = processor(), time.perf_counter()
        ingest([logs], db, processes=2, cluster=cluster)
        wall, after = time.perf_counter() - started, processor()
        if cluster:
            began = time.process_time()
            client.gather(client.map(abs, range(TASKS), pure=False))
            task = (time.process_time() - began) / TASKS
    (logs.parent / "small.log").write_text(next(logs.iterdir()).read_text()[:4000] + how)
    began = time.process_time()
    ingest([logs.parent / "small.log"], db)
    commit = time.process_time() - began
    here, others = (end - start for start, end in zip(before, after, strict=True))
    return {"wall": wall, "here": here, "others": others, "task": task, "commit": commit}


def processor() -> tuple[float, float]:
    """Seconds of this process, and of its children, including ended ones."""
    times = psutil.Process().cpu_times()
    alive = [one.cpu_times() for one in psutil.Process().children(recursive=True)]
    others = sum(one.user + one.system for one in alive)
    return times.user + times.system, others + times.children_user + times.children_system


@dataclass(frozen=True)
class Costs:
    """Processor seconds: of 1 MB in a worker and here, of a task, of an empty commit."""

    read: float
    store: float
    task: float
    commit: float

    @property
    def committer(self) -> float:
        """Seconds of 1 MB in the process that schedules and commits."""
        return self.store + self.task / BATCH_MB + self.commit / COMMIT_MB


def simulated(costs: Costs, workers: int, batches: int) -> tuple[float, float, float]:
    """MB per second, and utilisation of workers and committer, with the real window and order.

    A free worker takes the next batch if the window allows; the committer takes batches in order
    and stores whole commits.
    """
    free = [0.0] * workers
    taken: list[float] = []  # when the committer has taken each batch
    clock = batched = 0.0
    for number in range(batches):
        behind = number - max(2, workers) * AHEAD
        start = max(heapq.heappop(free), taken[behind] if behind >= 0 else 0.0)
        done = start + costs.read * BATCH_MB * (0.5 + (number * 0.618) % 1)  # logs vary
        heapq.heappush(free, done)
        clock = max(clock, done) + costs.task + costs.store * BATCH_MB
        batched += BATCH_MB
        if batched >= COMMIT_MB:
            clock, batched = clock + costs.commit, 0.0
        taken.append(clock)
    size = batches * BATCH_MB
    return size / clock, size * costs.read / clock / workers, size * costs.committer / clock


def modelled(costs: Costs) -> str:
    """One row per number of workers: the model and the simulation."""
    lines = [
        f"1 MB: {1000 * costs.read:.0f} ms in a worker, {1000 * costs.store:.1f} ms here; a task"
        f" {1000 * costs.task:.1f} ms; a commit {costs.commit:.2f} s. This process is busy with"
        f" {costs.read / costs.committer:.0f} workers.\n",
        "| workers | model, MB/s | simulated, MB/s | busy: workers | this one | 100 TB, days |",
        "| --: | --: | --: | --: | --: | --: |",
    ]
    for workers in WORKERS:
        model = min(workers / costs.read, 1 / costs.committer)
        speed, busy, committing = simulated(costs, workers, max(2000, 40 * workers))
        days = ARCHIVE_MB / speed / 86400
        lines.append(
            f"| {workers:,} | {model:.0f} | {speed:.0f} | {busy:.0%} | {committing:.0%} |"
            f" {days:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--one"]:
        print(json.dumps(one(given[1], Path(given[2]), Path(given[3]))))
    else:
        main(int(given[0]) if given else 2000, int(given[1]) if len(given) > 1 else 1)
