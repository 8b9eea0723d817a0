"""Time of the audit: the documents of data/ as a process, and generated rows by their number.

    python benchmarks/audit.py [ROWS]

Generated documents have ten tables of 200 rows, with time and TFLOPs by F2, memory and topology;
one row in 50 is wrong. Reading and auditing are timed separately, and the whole process is compared
with a minimal one: a loop that splits the rows into numbers.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from making import HEADER, SETUPS, row
from measured import BENCH, load, spent

from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

ROWS, A_TABLE, TABLES = 100_000, 200, 10
AUDIT = [*BENCH, "audit", "--fail-on", "never", "-q"]
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
MODEL = ("6.7B", 4096, 32, 6.7e9)  # label, hidden size, layers, parameters
LIMIT_DOCUMENTS_S, LIMIT_ROWS_S = 2.0, 30.0


def main(rows: int) -> None:
    """Print both measurements as a table."""
    documents = statistics.median(spent([*AUDIT, "data/tables"]).wall for _ in range(5))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        number = write(folder, rows)
        least = spent([*LEAST, str(folder)]).processor
        whole, wall, *_ = spent([*AUDIT, "--format", "json", str(folder)])
        read, audited, findings = made(folder)
    print(f"{os.cpu_count()} cores, {load()}\n")
    print("| what | s | ratio | at most |\n| :-- | --: | --: | --: |")
    print(f"| `bench audit data/tables`, whole process, median of 5 | {documents:.2f} | | "
          f"{LIMIT_DOCUMENTS_S:.0f} |")  # fmt: skip
    print(f"| a loop that splits {number:,} made rows, whole process, CPU | {least:.2f} | 1 | |")
    print(f"| `bench audit` of them, whole process, CPU: {findings:,} findings | {whole:.1f} | "
          f"{whole / least:.0f} | |")  # fmt: skip
    print(f"| the same by the clock | {wall:.1f} | | {LIMIT_ROWS_S * number / ROWS:.0f} |")
    print(f"| of it reading, in one process, CPU | {read:.1f} | | |")
    print(f"| of it the rules, CPU | {audited:.1f} | | |")


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
            text += [
                f"\n## Table {number}\n\n",
                HEADER,
                *(row(rng, MODEL, *one, noise=0.01) for one in setups),
            ]
            written += A_TABLE
        (folder / f"sweep-{written}.md").write_text("".join(text))
    return written


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else ROWS)
