"""Time of the audit: the documents of data/ as a process, and generated rows by their number.

    python benchmarks/audit.py [ROWS]

Generated documents have ten tables of 200 rows, with time and TFLOPs by F2, memory and topology;
one row in 50 is wrong. Reading and auditing are timed separately, and the whole process is compared
with a minimal one: a loop that splits the rows into numbers.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

ROOT = Path(__file__).resolve().parent.parent
ROWS, A_TABLE, TABLES = 100_000, 200, 10
AUDIT = [sys.executable, "-m", "bench", "audit", "--fail-on", "never", "-q", "--format", "json"]
LEAST = [
    sys.executable,
    "-c",
    """
import pathlib, sys
for path in pathlib.Path(sys.argv[1]).glob("*.md"):
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = [float(cell) for cell in cells if cell.replace(".", "", 1).isdigit()]
""",
]
LIMIT_DOCUMENTS_S, LIMIT_ROWS_S = 2.0, 30.0
HEADER = (
    "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs | Notes |\n"
    "| ----: | ---: | -: | -: | -: | --: | --: | --: | -----: | -----: | ----: |\n"
)
# Configurations of a sweep: TP, PP, DP, MBS, GBS; unique within a table.
SETUPS = list(product((1, 2, 4, 8), (1, 2, 4), (8, 16, 32), (1, 2, 4), (1024, 2048, 4096)))


def main(rows: int) -> None:
    """Print both measurements as a table."""
    documents = statistics.median(process() for _ in range(5))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number = write(folder, rows)
        least, _ = spent(LEAST, folder)
        whole, wall = spent(AUDIT, folder)
        read, audited, findings = made(folder)
    load = f"load average {os.getloadavg()[0]:.1f}"
    print(f"{os.cpu_count()} cores, {load}\n")
    print("| what | s | ratio | at most |\n| :-- | --: | --: | --: |")
    print(f"| `bench audit data/tables`, whole process, median of 5 | {documents:.2f} | | "
          f"{LIMIT_DOCUMENTS_S:.0f} |")  # fmt: skip
    print(f"| a loop that splits {number:,} made rows, whole process, CPU | {least:.2f} | 1 | |")
    print(f"| `bench audit` of them, whole process, CPU: {findings:,} findings | {whole:.1f} | "
          f"{whole / least:.0f} | |")  # fmt: skip
    print(f"| the same by the clock | {wall:.1f} | | {LIMIT_ROWS_S * number / ROWS:.0f} |")
    print(f"| of it reading, in one process, CPU | {read:.1f} | | |")
    print(f"| of it the rules, CPU | {audited:.1f} | | |")


def process() -> float:
    """Seconds of the audit of the published documents as a process."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "bench", "audit", "data/tables", "--fail-on", "never", "-q"]
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def spent(words: list[str], folder: Path) -> tuple[float, float]:
    """CPU seconds of a process with its children, and wall seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*words, str(folder)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - began


def made(folder: Path) -> tuple[float, float, int]:
    """CPU seconds to read and to audit a folder, and the number of findings."""
    with in_memory() as warehouse:
        began = time.process_time()
        ingest_into(warehouse, [folder], folder)
        read = time.process_time()
        found = audit(warehouse)
        return read - began, time.process_time() - read, len(found)


def write(folder: Path, rows: int) -> int:
    """Write documents with at least `rows` rows."""
    rng = random.Random(1)
    written = 0
    while written < rows:
        text = [f"# Sweep {written}\n\nSequence length 2048, NHIDDEN=4096 / NLAYERS=32\n"]
        for number in range(TABLES):
            setups = rng.sample(SETUPS, A_TABLE)
            text += [f"\n## Table {number}\n\n", HEADER, *(row(rng, *setup) for setup in setups)]
            written += A_TABLE
        (folder / f"sweep-{written}.md").write_text("".join(text))
    return written


def row(rng: random.Random, tp: int, pp: int, dp: int, mbs: int, gbs: int) -> str:
    """One row with 8 GPUs per node and full recompute; one in 50 has wrong TFLOPs."""
    world, s, h, layers = tp * pp * dp, 2048, 4096, 32
    vocab = -(-50257 // (128 * tp)) * 128 * tp
    flops = 96 * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))
    slots = gbs / (mbs * dp)  # pipeline bubbles; the rest is noise of a percent
    rate = (110 + 7 * mbs - 4 * tp) * slots / (slots + pp - 1) * rng.uniform(0.99, 1.01)
    seconds = round(flops / (rate * 1e12 * world), 2)
    shown = flops / (seconds * 1e12 * world) * (1.1 if rng.random() < 0.02 else 1)
    memory = 10 + 6.7e9 * 18 / (tp * pp) / 1e9 + 3 * mbs
    return (
        f"| {world // 8 or 1} | 6.7B | {dp} | {tp} | {pp} | {mbs} | {gbs} | {memory:.0f}GB | "
        f"{seconds} | {shown:.2f} | |\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else ROWS)
