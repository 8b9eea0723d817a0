"""Processor time of commands as processes, compared with importing dependencies.

    python benchmarks/startup.py [ROUNDS]

Every round starts each command once, in turn, so that other load affects all alike: first with
every answer computed, then again, where a kept one may be printed. Prints the least of the rounds,
and its ratio to `python -c "import duckdb, jinja2, typer"`. The warehouse is that of `data/`.
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
        spent(folder, ["-m", "bench", "-q", "ingest", "data"])
        for command in COMMANDS:
            spent(folder, ["-m", "bench", *command.split()])  # fills caches
        for _ in range(rounds):
            base.append(spent(folder, ["-c", BASE]))
            for command in COMMANDS:
                words = ["-m", "bench", *command.split()]
                first.setdefault(command, []).append(spent(folder, words, fresh=True))
                again.setdefault(command, []).append(spent(folder, words))
    print(f"least of {rounds} rounds, {load()}\n")
    print("| process | first, ms | ratio | again, ms | ratio | to reach |")
    print("| :-- | --: | --: | --: | --: | --: |")
    print(f'| `python -c "{BASE}"` | {min(base) * 1e3:.0f} | 1.00 | | | |')
    for command, limit in COMMANDS.items():
        cells = (f"{took * 1e3:.0f} | {took / min(base):.2f}"
                 for took in (min(first[command]), min(again[command])))  # fmt: skip
        print(f"| `bench {command}` | {' | '.join(cells)} | {limit} |")
    print(f"\n{machine()}")


def spent(folder: Path, words: list[str], *, fresh: bool = False) -> float:
    """Processor seconds of a process with its children, without output."""
    environment = {key: value for key, value in os.environ.items() if key != "BENCH_DB"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # like an installed program, with bytecode
    environment["BENCH_FRESH"] = "1" if fresh else ""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def machine() -> str:
    """The description of this machine."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        )
        if Path("/proc/cpuinfo").exists()
        else iter(()),
        platform.processor() or "?",
    )
    versions = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "jinja2", "typer"))
    return f"{os.cpu_count()} cores, {cpu}; Python {platform.python_version()}, {versions}"


def load() -> str:
    """The load of the machine."""
    return f"load average {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
    except subprocess.CalledProcessError as error:
        print(f"not measured: {error}")
