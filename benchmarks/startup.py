"""Time of `bench --help` and of a page as processes, compared with importing dependencies.

    python benchmarks/startup.py [ROUNDS]

Every round starts each command once, in turn, so that other load affects all alike; prints the
median of the rounds, and its ratio to `python -c "import duckdb, jinja2, typer"`.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 15
BASE = "import duckdb, jinja2, typer"
COMMANDS = {
    f'python -c "{BASE}"': (["-c", BASE], None),
    "bench --help": (["-m", "bench", "--help"], 1.2),
    "bench report --model 1.3B --format md": (
        ["-m", "bench", "report", "--model", "1.3B", "--format", "md"],
        2.5,
    ),
}


def main(rounds: int) -> None:
    """Measure with a temporary warehouse of data/, and print two markdown tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "data", folder / "data")
        run(folder, ["-m", "bench", "-q", "ingest", "data"])
        times: dict[str, list[float]] = {command: [] for command in COMMANDS}
        for number in range(rounds + 1):
            for command, (args, _) in COMMANDS.items():
                took = run(folder, args)
                if number:  # the first round fills caches
                    times[command].append(took)
    print(f"{rounds} rounds, {load()}")
    print(table(times))
    print()
    print(machine())


def run(folder: Path, args: list[str]) -> float:
    """Seconds of a process, without output."""
    environment = {key: value for key, value in os.environ.items() if key != "BENCH_DB"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # like an installed program, with bytecode
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *args], cwd=folder, env=environment, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - began


def table(times: dict[str, list[float]]) -> str:
    """Median, minimum, ratio to the base and limit of each command."""
    base = statistics.median(next(iter(times.values())))
    lines = [
        "",
        "| process | median, ms | least, ms | ratio | at most |",
        "| :-- | --: | --: | --: | --: |",
    ]
    for command, taken in times.items():
        limit = COMMANDS[command][1]
        median = statistics.median(taken)
        lines.append(
            f"| `{command}` | {median * 1e3:.0f} | {min(taken) * 1e3:.0f} | {median / base:.2f} | "
            f"{limit or ''}{' (missed)' if limit and median / base > limit else ''} |"
        )
    return "\n".join(lines)


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
        main(max(9, int(sys.argv[1])) if sys.argv[1:] else ROUNDS)
    except subprocess.CalledProcessError as error:
        print(f"not measured: {error}")
