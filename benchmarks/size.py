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
import random
import shutil
import sys
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from making import HEADER, SETUPS, log, row
from measured import BENCH, ROOT, Spent, load, machine, spent
from multiplied import ROWS, multiply
from startup import BASE

FRESH = {"BENCH_FRESH": "1"}  # no answer that was kept
SIZES = (0, 1_000, 10_000, 100_000)
A_TABLE, TABLES = 200, 5  # rows of a table, tables of a document
# Label, hidden size, layers, parameters, share of the rows.
MODELS = (("1.3B", 2048, 24, 1.3e9, 3), ("6.7B", 4096, 32, 6.7e9, 3), ("13B", 5120, 40, 13e9, 2),
          ("30B", 7168, 48, 30e9, 2))  # fmt: skip
# Of data/: a run, a document and a computed number of a page.
OF_DATA = {"run": "004:44", "document": "data/tables/004_tr3m-1B3.md", "number": "25.4"}


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
            f"{of[command].processor:.2f} | {of[command].processor / of[BASE].processor:.2f} | "
            f"{of[command].mib}"
            for of in found.values()
        )
        growth = exponent({rows: took[command].processor for rows, took in found.items() if rows})
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
    took = spent([*BENCH, "-q", "ingest", "data" if not rows else "."], folder)
    print(f"{rows:,} rows: ingested in {took.processor:.1f} s of processor time, {took.mib} MiB, "
          f"{took.wall:.1f} s by the clock", file=sys.stderr)  # fmt: skip
    (folder / "new.md").write_text(document(random.Random(2), -1))
    (folder / "new.log").write_text(log(200))
    return folder


def measure(folder: Path, rows: int, rounds: int, only: str) -> dict[str, Spent]:
    """The round with the minimum of processor seconds of every command, by name."""
    of_made = {"run": "sweep-000.md:11", "document": "sweep-000.md", "number": "1234.5"}
    commands_by_name = {
        name: [*BENCH, *words]
        for name, words in commands(of_made if rows else OF_DATA).items()
        if any(part in name for part in only.split(","))
    }
    took: dict[str, list[Spent]] = {}
    for _ in range(rounds):
        took.setdefault(BASE, []).append(spent([sys.executable, "-c", BASE], folder))
        for name, words in commands_by_name.items():
            with tempfile.TemporaryDirectory(dir=folder.parent) as copied:
                here = folder
                if "ingest" in words:
                    here = Path(copied)
                    for file in ("bench.duckdb", "new.md", "new.log"):
                        shutil.copyfile(folder / file, here / file)
                    # The definitions of a warehouse are compared when it is first opened.
                    spent([*BENCH, "sql", "SELECT 1"], here)
                took.setdefault(name, []).append(spent(words, here, FRESH, (0, 1)))
    return {name: min(each) for name, each in took.items()}


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


if __name__ == "__main__":
    main()
