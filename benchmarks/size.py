"""Processor seconds and memory of commands as the warehouse grows, for whole processes.

    python benchmarks/size.py [ROWS ...] [--rounds N] [--keep FOLDER]

The warehouses are `data/` (rows 0) and generated sweeps of 1,000, 10,000 and 100,000 rows, 30% of
them of the queried model. Each is ingested once (`--keep` stores it for the next call), then every
command is started in turn, so that other load affects all alike. Prints the minimum of processor
seconds over the rounds, their ratio to importing the dependencies of `bench`, the peak of the
largest process, and how the seconds grow from each size to the next: the exponent of the rows, 1
where twice the rows take twice the time.
1,000,000 rows are made by SQL (`multiplied.py`): a tenth of them are logs, with 10^8 steps in all.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from multiplied import ROWS, multiply
from startup import BASE, ROOT, load, machine

SIZES = (0, 1_000, 10_000, 100_000)
LIMIT_S = 3600  # wall timeout; longer counts as infinite
A_TABLE, TABLES = 200, 5  # rows of a table, tables of a document
# Label, hidden size, layers, parameters, share of the rows.
MODELS = (("1.3B", 2048, 24, 1.3e9, 3), ("6.7B", 4096, 32, 6.7e9, 3), ("13B", 5120, 40, 13e9, 2),
          ("30B", 7168, 48, 30e9, 2))  # fmt: skip
HEADER = (
    "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs | Notes |\n"
    "| ----: | ---: | -: | -: | -: | --: | --: | --: | -----: | -----: | ----: |\n"
)
# Configurations of a sweep: TP, PP, DP, MBS, GBS; unique within a table.
SETUPS = list(product((1, 2, 4, 8), (1, 2, 4), (8, 16, 32), (1, 2, 4), (1024, 2048, 4096)))
LOG = "".join(
    f" iteration {at:8d}/    1000 | consumed samples: {at * 256:12d} | elapsed time per iteration "
    f"(ms): {9000 + at % 7 * 11:.1f} | learning rate: 1.000E-04 | global batch size:   256 | "
    f"lm loss: {8 - at / 400:.6E} | loss scale: 1.0 | grad norm: 1.000 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    for at in range(1, 201)
)
# Of data/: a run, a document and a computed number of a page.
OF_DATA = {"run": "004:44", "document": "data/tables/004_tr3m-1B3.md", "number": "25.4"}


class Spent(NamedTuple):
    """What a process takes with its children; of several, the least first."""

    seconds: float  # of processors
    mib: int  # the peak of the largest one


def commands(at: Mapping[str, str]) -> dict[str, list[str]]:
    """Command lines by name; names with the prefix `ingest` write, and run on a copy."""
    model = ["--model", "1.3B"]
    return {
        "report": ["report", *model, "--format", "md"],
        "runs --where": ["runs", "--where", "tp = 4 and nodes >= 4"],
        "show RUN": ["show", at["run"]],
        "best": ["best", *model],
        "days": ["days", *model],
        "compare --by": ["compare", *model, "--by", "tp"],
        "audit": ["audit", "--fail-on", "never"],
        "audit FILE": ["audit", at["document"], "--fail-on", "never"],
        "explain NUMBER": ["explain", at["number"]],
        "ingest LOG": ["-q", "ingest", "new.log"],
        "ingest DOCUMENT": ["-q", "ingest", "new.md"],
    }


def main() -> None:
    """Print a markdown table: one row per command, three columns per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="where warehouses are kept")
    parser.add_argument(
        "--only", default="", help="names of commands, or parts of them, with commas"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        kept = (options.keep or Path(name)).absolute()
        found = {
            rows: measure(made(kept / str(rows), rows), rows, options.rounds, options.only)
            for rows in options.rows
        }
    print(f"least of {options.rounds} rounds, {load()}\n")
    heads = [
        f"{rows:,} rows, s | ratio | MiB" if rows else "data/, s | ratio | MiB" for rows in found
    ]
    print(f"| command | {' | '.join(heads)} | growth |\n| :-- |{' --: |' * (3 * len(heads) + 1)}")
    for command in next(iter(found.values())):
        cells = (
            f"{took[command].seconds:.2f} | {took[command].seconds / took[BASE].seconds:.2f} | "
            f"{took[command].mib}"
            for took in found.values()
        )
        growth = exponent({rows: took[command].seconds for rows, took in found.items() if rows})
        print(f"| `{command}` | {' | '.join(cells)} | {growth} |")
    print(f"\n{machine()}")


def exponent(took: Mapping[int, float]) -> str:
    """The exponents of the rows by which a time grows from each size to the next."""
    return ", ".join(
        f"{math.log(last / first) / math.log(many / few):.2f}"
        for (few, first), (many, last) in pairwise(sorted(took.items()))
    )


def made(folder: Path, rows: int) -> Path:
    """A folder with a warehouse of `rows` rows, generated unless it exists."""
    if (folder / "bench.duckdb").exists():
        return folder
    if rows > ROWS:
        multiply(made(folder.parent / str(ROWS), ROWS), folder, rows)
        return folder
    folder.mkdir(parents=True)
    if rows:
        rng = random.Random(1)
        for number in range(rows // (A_TABLE * TABLES)):
            (folder / f"sweep-{number:03d}.md").write_text(document(rng, number))
    else:
        shutil.copytree(ROOT / "data", folder / "data")
    began = time.perf_counter()
    took = spent(folder, ["-m", "bench", "-q", "ingest", "data" if not rows else "."])
    print(f"{rows:,} rows: ingested in {took.seconds:.1f} s of processor time, {took.mib} MiB, "
          f"{time.perf_counter() - began:.1f} s by the clock", file=sys.stderr)  # fmt: skip
    (folder / "new.md").write_text(document(random.Random(2), -1))
    (folder / "new.log").write_text(LOG)
    return folder


def measure(folder: Path, rows: int, rounds: int, only: str) -> dict[str, Spent]:
    """The round with the minimum of processor seconds of every command, by name."""
    of_made = {"run": "sweep-000.md:11", "document": "sweep-000.md", "number": "1234.5"}
    commands_by_name = {
        name: ["-m", "bench", *words]
        for name, words in commands(of_made if rows else OF_DATA).items()
        if any(part in name for part in only.split(","))
    }
    took: dict[str, list[Spent]] = {}
    for _ in range(rounds):
        took.setdefault(BASE, []).append(spent(folder, ["-c", BASE]))
        for name, words in commands_by_name.items():
            with tempfile.TemporaryDirectory(dir=folder.parent) as copied:
                here = folder
                if "ingest" in words:
                    here = Path(copied)
                    for file in ("bench.duckdb", "new.md", "new.log"):
                        shutil.copyfile(folder / file, here / file)
                    # The definitions of a warehouse are compared when it is first opened.
                    spent(here, ["-m", "bench", "sql", "SELECT 1"])
                took.setdefault(name, []).append(spent(here, words))
    return {name: min(each) for name, each in took.items()}


def spent(folder: Path, words: list[str]) -> Spent:
    """What a process takes with its children, without output."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=errors,
            env=os.environ | {"BENCH_FRESH": "1"},  # no answer that was kept
        )  # fmt: skip
        limit = threading.Timer(LIMIT_S, child.kill)
        limit.start()
        _, status, usage = os.wait4(child.pid, 0)
        limit.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):
            errors.seek(0)
            print(f"{words[2:]}: exit {child.returncode}: {errors.read(300)!r}", file=sys.stderr)
    took = math.inf if child.returncode < 0 else usage.ru_utime + usage.ru_stime
    return Spent(took, usage.ru_maxrss >> 10)


def document(rng: random.Random, number: int) -> str:
    """A document of tables, each a sweep of one model; 8 devices per node, full recompute."""
    text = [f"# Sweep {number}\n\nSequence length 2048, A100 80GB\n"]
    for table in range(TABLES):
        label, hidden, layers, params, _ = rng.choices(MODELS, [model[-1] for model in MODELS])[0]
        text += [f"\n## {label}, table {table}\n\nNHIDDEN={hidden} / NLAYERS={layers}\n\n", HEADER]
        text += [
            row(rng, (label, hidden, layers, params), *one) for one in rng.sample(SETUPS, A_TABLE)
        ]
    return "".join(text)


def row(
    rng: random.Random,
    model: tuple[str, int, int, float],
    tp: int,
    pp: int,
    dp: int,
    mbs: int,
    gbs: int,
) -> str:
    """One row with TFLOPs by F2; one in 50 is wrong."""
    (label, h, layers, params), world, s = model, tp * pp * dp, 2048
    vocab = -(-50257 // (128 * tp)) * 128 * tp
    flops = 96 * gbs * s * layers * h * h * (1 + s / (6 * h) + vocab / (16 * layers * h))
    slots = gbs / (mbs * dp)  # pipeline bubbles; the rest is noise between jobs
    rate = (110 + 7 * mbs - 4 * tp) * slots / (slots + pp - 1) * rng.uniform(0.9, 1.1)
    seconds = round(flops / (rate * 1e12 * world), 3)
    shown = flops / (seconds * 1e12 * world) * (1.1 if rng.random() < 0.02 else 1)
    memory = min(10 + params * 18 / (tp * pp) / 1e9 + 3 * mbs, 70)
    return (
        f"| {world // 8 or 1} | {label} | {dp} | {tp} | {pp} | {mbs} | {gbs} | {memory:.0f}GB | "
        f"{seconds} | {shown:.2f} | |\n"
    )


if __name__ == "__main__":
    main()
