"""Time to ingest and audit a repository of 5,000 run records, compared with parsing its JSON.

    python benchmarks/records.py [RECORDS]

Measured with rows of a published table, and with runs of logs, whose headers are longer: records
are exported from one of each, and copied with other ids and lines. The limit is 10 s for 5,000.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.records.export import export_records
from bench.records.layout import content, file_name
from bench.records.scrub import Scrubber
from bench.schema.opening import open_read

ROOT = Path(__file__).resolve().parent.parent
KNOWN_TABLE = "{}-{}"
RECORDS, ROUNDS, LIMIT_S = 5000, 3, 10.0
SAMPLES = {
    "rows of a table": "tables/001_1.3b_benchmarking.md",
    "runs of logs": "logs/fugaku_dp2.log",
}


def main(count: int) -> None:
    """Measure in temporary folders and print a table in markdown."""
    print(
        "| records | parse, s | ingest and audit, s | ratio | CPU, s | of it audit | at most, s |"
    )
    print("| :-- | --: | --: | --: | --: | --: | --: |")
    for name, file in SAMPLES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = make(Path(scratch), ROOT / "data" / file, count)
            parse = statistics.median(timed(partial(read, folder)) for _ in range(ROUNDS))
            spent = [Spent.of(folder, folder.parent / f"{n}.duckdb") for n in range(ROUNDS)]
            with open_read(folder.parent / "0.duckdb") as warehouse:
                [(runs,)] = warehouse.rows("SELECT count(*) FROM configurations")
            assert runs == count, runs
            whole, cpu, audit = (statistics.median(one) for one in zip(*spent, strict=True))
            missed = " (missed)" if whole > LIMIT_S else ""
            print(f"| {count:,} {name} | {parse:.2f} | {whole:.2f} | {whole / parse:.1f} | "
                  f"{cpu:.2f} | {audit:.2f} | {LIMIT_S:g}{missed} |")  # fmt: skip
    print(f"\n{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; median of {ROUNDS}")


class Spent(NamedTuple):
    """Wall and processor seconds, and the audit's processor seconds."""

    whole: float
    cpu: float
    audit: float

    @classmethod
    def of(cls, folder: Path, db: Path) -> Spent:
        """Measure the steps of `bench ingest`."""
        clock, began = time.perf_counter(), time.process_time()
        ingest([folder], db)
        read = time.process_time()
        after_ingest_into(db, 5.0)
        done = time.process_time()
        return cls(time.perf_counter() - clock, done - began, done - read)


def make(scratch: Path, source: Path, count: int) -> Path:
    """Write `count` records, each of another run of the same source."""
    (scratch / "one").mkdir(parents=True)
    shutil.copy(source, scratch / "one")
    ingest([scratch / "one"], scratch / "one.duckdb")
    with open_read(scratch / "one.duckdb") as warehouse:
        export_records(warehouse, scratch / "records", Scrubber())
    [folder] = {path.parent for path in (scratch / "records").rglob("*.json")}
    known = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]
    for path in folder.glob("*.json"):
        path.unlink()
    for number in range(count):
        record = known[number % len(known)]
        if "table" in record:  # copies of a document have their own tables
            table = KNOWN_TABLE.format(record["table"]["id"], number // len(known))
            record = record | {"table": record["table"] | {"id": table}}
        record["run"] |= {"id": f"{number:012x}", "line": number + 1}
        for fact in record.get("facts", {}).get("step", ()):
            fact[2] = f"{number:012x}"  # the first step of another run
        data = content(record)
        (folder / file_name(data)).write_bytes(data)
    return scratch / "records"


def read(folder: Path) -> None:
    """The lower bound: read and parse every file."""
    for path in folder.rglob("*.json"):
        json.loads(path.read_bytes())


def timed(work: Callable[[], object]) -> float:
    """The seconds of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RECORDS)
