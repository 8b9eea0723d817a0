"""Processor time of commands as processes, compared with importing dependencies.

    python benchmarks/startup.py [ROUNDS]

Every round starts each command once, in turn, so that other load affects all alike: first with
every answer computed, then again, where a kept one may be printed. Prints the least of the rounds,
and its ratio to `python -c "import duckdb, jinja2, typer"`. The warehouse is that of `data/`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from measured import BENCH, ROOT, load, machine, spent

ROUNDS = 9
BASE = "import duckdb, jinja2, typer"
DOCUMENT = "data/tables/004_tr3m-1B3.md"
COMMANDS: Mapping[str, float] = {  # and the ratio to reach
    "--help": 1.2,
    "report --model 1.3B --format md": 1.5,
    "runs": 1.4,
    "show 004:44": 1.4,
    "best --model 1.3B": 2.0,
    "days --model 1.3B": 2.0,
    "compare --model 1.3B --by tp": 2.0,
    f"audit {DOCUMENT} --fail-on never": 2.5,
    "explain 25.4": 4.0,
}


def main(rounds: int) -> None:
    """Measure with a temporary warehouse of data/, and print a markdown table."""
    base, first, again = list[float](), dict[str, list[float]](), dict[str, list[float]]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "data", folder / "data")
        spent([*BENCH, "-q", "ingest", "data"], folder)
        for command in COMMANDS:
            took(folder, command)  # fills caches
        for _ in range(rounds):
            base.append(spent([sys.executable, "-c", BASE], folder).processor)
            for command in COMMANDS:
                first.setdefault(command, []).append(took(folder, command, fresh="1"))
                again.setdefault(command, []).append(took(folder, command))
    print(f"least of {rounds} rounds, {load()}\n")
    print("| process | first, ms | ratio | again, ms | ratio | to reach |")
    print("| :-- | --: | --: | --: | --: | --: |")
    print(f'| `python -c "{BASE}"` | {min(base) * 1e3:.0f} | 1.00 | | | |')
    for command, limit in COMMANDS.items():
        cells = (f"{least * 1e3:.0f} | {least / min(base):.2f}"
                 for least in (min(first[command]), min(again[command])))  # fmt: skip
        print(f"| `bench {command}` | {' | '.join(cells)} | {limit} |")
    print(f"\n{machine()}")


def took(folder: Path, command: str, fresh: str = "") -> float:
    """Processor seconds of a command of bench; `fresh`: without an answer that was kept."""
    environment = {"BENCH_DB": "bench.duckdb", "BENCH_FRESH": fresh}
    return spent([*BENCH, *command.split()], folder, environment).processor


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
