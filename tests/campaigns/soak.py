"""`bench watch` beside many growing logs: its memory stays flat, and it misses nothing.

`python -m tests.campaigns.soak --logs 200 --seconds 3600`
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read
from tests.making import iteration

BENCH = [sys.executable, "-P", "-m", "bench"]
LIMIT_S = 600  # to store the rest
WARM = 0.4  # of the time: until then caches fill
FLAT = 1.15  # times the memory it had when warm
PARTS = 10  # of the time, for each its memory is told


def campaign(logs: int, seconds: float, interval: float, seed: int) -> tuple[str, list[str]]:
    """What was done, in a line; what was wrong."""
    chance, memory = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "logs").mkdir()
        files = [top / f"logs/run{number:03d}.log" for number in range(logs)]
        written = dict.fromkeys(files, 0)
        watch = subprocess.Popen(
            [*BENCH, "watch", "logs", "--interval", str(interval), "-q"], cwd=top,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        process, began = psutil.Process(watch.pid), time.monotonic()
        while time.monotonic() - began < seconds and watch.poll() is None:
            for file in chance.sample(files, max(1, logs // 10)):
                with file.open("a") as stream:
                    for _ in range(chance.randrange(1, 4)):
                        written[file] += 1
                        stream.write(iteration(written[file], 100 + files.index(file), 10**6))
            memory.append((time.monotonic() - began, process.memory_info().rss))
            time.sleep(interval / 4)
        watch.send_signal(signal.SIGINT)
        watch.wait(LIMIT_S)
        present = [file for file in files if file.exists()]
        ingest(present, top / "again.duckdb")
        watched, again = (steps(top / name) for name in ("bench.duckdb", "again.duckdb"))
    rows = sum(written.values())
    warm = max((rss for at, rss in memory if at < WARM * seconds), default=1)
    last = max((rss for at, rss in memory if at >= WARM * seconds), default=0)
    wrong = [f"{uri}: {watched.get(uri)}, an ingest at the end reads {found}"
             for uri, found in again.items() if watched.get(uri) != found]  # fmt: skip
    if last > FLAT * warm:
        wrong.append("memory grows")
    parts = [max((rss for at, rss in memory if part <= at * PARTS / seconds < part + 1), default=0)
             for part in range(PARTS)]  # fmt: skip
    return (
        f"{len(present)} logs, {seconds:g} s: {rows} steps; memory {warm >> 20} MiB while warming "
        f"up, {last >> 20} MiB at most afterwards; at most in each tenth of the time, in MiB: "
        f"{' '.join(str(part >> 20) for part in parts)}"
    ), wrong


def steps(db: Path) -> dict[str, tuple[int, int]]:
    """By source: how many steps, and their sum."""
    query = """SELECT uri, count(*), sum(iteration)::BIGINT
               FROM iterations JOIN runs USING (run_id) GROUP BY uri ORDER BY uri"""
    with open_read(db) as warehouse:
        return {uri: (number, total) for uri, number, total in warehouse.rows(query)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--interval", type=float, default=2)
    parser.add_argument("--seed", type=int, default=20261124)
    given = parser.parse_args()
    # A job in the background ignores Ctrl-C, and so would what it starts and ends by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    told, wrong = campaign(given.logs, given.seconds, given.interval, given.seed)
    print(told)
    print("\n".join(wrong) or "nothing missed")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
