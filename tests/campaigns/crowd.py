"""Four writers and eight readers on one warehouse: every row is there once, and nobody starves.

`python -m tests.campaigns.crowd --writers 4 --readers 8 --seconds 600`
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from bench.schema.check import check
from bench.schema.errors import Locked
from bench.schema.opening import open_read, open_write
from tests.making import log
from tests.warm import Child

PATIENCE_S = 120.0  # to wait for the file before one gives up
ITERATIONS = 20  # of each log
_PAUSE_S = 0.01


def write(ready: Connection, top: Path, number: int, until: float) -> None:
    """Logs of its own, one after the other, until then; notes how many, and its longest wait."""
    from bench.ingest.files.pipeline import ingest

    ready.send("ready")
    written, longest = 0, 0.0
    while time.time() < until:
        file = top / f"logs/{number}-{written}.log"
        file.write_text(log(ITERATIONS, 100 + 10_000 * number + written))
        began = time.monotonic()
        done = ingest([file], top / "bench.duckdb", lock_timeout=PATIENCE_S)
        longest = max(longest, time.monotonic() - began)
        written += done.new
    _note(top, "writer", written, longest)


def read(ready: Connection, top: Path, until: float) -> None:
    """Counts until then: whole logs alone, and never fewer than before."""
    ready.send("ready")
    reads, longest, before = 0, 0.0, 0
    while time.time() < until:
        began = time.monotonic()
        with open_read(top / "bench.duckdb", PATIENCE_S) as warehouse:
            longest = max(longest, time.monotonic() - began)
            query = """SELECT count(*), count(DISTINCT load_id), (SELECT count(*) FROM raw.loads)
                       FROM raw.iterations"""
            [(rows, loads, noted)] = warehouse.rows(query)
        if rows != loads * ITERATIONS or loads != noted or rows < before:
            raise AssertionError(f"{rows} rows of {loads} logs, {noted} noted, {before} before")
        reads, before = reads + 1, rows
        time.sleep(_PAUSE_S)
    _note(top, "reader", reads, longest)


def _note(top: Path, who: str, times: int, longest: float) -> None:
    (top / f"{who}-{os.getpid()}").write_text(f"{times} {longest}")


def campaign(writers: int, readers: int, seconds: float) -> tuple[str, list[str]]:
    """What was done, in a line; what was wrong."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "logs").mkdir()
        open_write(top / "bench.duckdb").close()
        until = time.time() + seconds
        children = [Child(write, top, number, until) for number in range(writers)]
        children += [Child(read, top, until) for _ in range(readers)]
        for child in children:
            child.process.join(seconds + 2 * PATIENCE_S)
        codes = [child.process.exitcode for child in children]
        wrong = [f"a process ended with {code}" for code in codes if code != 0]
        told = {who: [one.read_text().split() for one in top.glob(f"{who}-*")]
                for who in ("writer", "reader")}  # fmt: skip
        logs = sum(int(times) for times, _ in told["writer"])
        with open_read(top / "bench.duckdb", PATIENCE_S) as warehouse:
            [(rows,)] = warehouse.rows("SELECT count(*) FROM iterations")
            wrong += [problem for one in check(warehouse) for problem in one.problems]
    if rows != logs * ITERATIONS:
        wrong.append(f"{rows} rows of {logs} logs of {ITERATIONS}")
    waits = {who: max((float(wait) for _, wait in notes), default=0) for who, notes in told.items()}
    return (
        f"{writers} writers, {readers} readers, {seconds:g} s: {logs} logs, {rows} rows exactly; "
        f"longest write {waits['writer']:.1f} s, longest wait to read {waits['reader']:.1f} s"
    ), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    try:
        told, wrong = campaign(given.writers, given.readers, given.seconds)
    except Locked as error:
        told, wrong = "", [str(error)]
    print(told)
    print("\n".join(wrong) or "nothing lost or doubled")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
