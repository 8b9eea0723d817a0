"""kill -9 at random moments of a command: the warehouse is whole, and doing it again ends it.

`python -m tests.campaigns.kills --kills 100 --seconds 600`
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.schema.check import check
from bench.schema.opening import open_read
from tests.making import folder, log
from tests.released import RELEASES, unpacked

BENCH = [sys.executable, "-P", "-m", "bench"]
LIMIT_S = 120.0
COMMANDS = {
    "ingest, many small": ["ingest", "-q", "logs"],
    "ingest, one long": ["ingest", "-q", "long.log"],
    "forget": ["forget", "-q", "logs/run000.log"],
    "forget --purge": ["forget", "-q", "--purge", "logs/run001.log"],
    "backup": ["db", "backup", "-q", "copy.duckdb"],
    "restore": ["db", "restore", "-q", "kept.duckdb"],
    "report --update": ["report", "--update", "PAGE.md"],
    "merge": ["merge", "-q", "other.duckdb"],
    "merge of records": ["merge", "-q", "records"],
    "compact": ["db", "compact", "-q"],
    "rebuild": ["db", "rebuild", "-q"],
    "site": ["site", "-q", "-o", "site"],
    "migration": ["runs", "-q", "--db", "old.duckdb"],
    "launch": ["launch", "-q", "plan.toml", "-o", "launches"],
}
PLAN = 'trainer = "command"\ncommand = "echo {ends}"\n[values]\nends = ["a", "b", "c"]\n'
PAGE = "# Page\n\n<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"


def run(top: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """A command in a group of processes of its own."""
    return subprocess.Popen(
        [*BENCH, *words], cwd=top, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def campaign(kills: int, seconds: float, seed: int) -> tuple[Counter[str], list[str]]:
    """Kills by command, and what was wrong after one; as long as `seconds` last."""
    chance, killed, wrong, began = random.Random(seed), Counter[str](), [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder_:
        top = Path(folder_)
        folder(top / "logs", logs=20, tables=3, iterations=20)
        (top / "long.log").write_text(log(20_000))
        (top / "plan.toml").write_text(PLAN)
        run(top, ["ingest", "-q", "logs"]).wait(LIMIT_S)
        run(top, ["db", "backup", "-q", "kept.duckdb"]).wait(LIMIT_S)
        run(top, ["ingest", "-q", "long.log", "--db", "other.duckdb"]).wait(LIMIT_S)
        run(top, ["export", "--records", "records", "--db", "other.duckdb"]).wait(LIMIT_S)
        started = time.monotonic()
        run(top, ["--version"]).wait(LIMIT_S)
        start_s = time.monotonic() - started
        names = list(COMMANDS)
        while killed.total() < kills and time.monotonic() - began < seconds:
            name = names[killed.total() % len(names)]
            (top / "PAGE.md").write_text(PAGE)
            (top / "copy.duckdb").unlink(missing_ok=True)
            Path(f"{unpacked(RELEASES[0], top / 'old.duckdb')}.wal").unlink(missing_ok=True)
            two = [run(top, COMMANDS[name]) for _ in range(chance.choice((1, 2)))]
            time.sleep(chance.uniform(0.2, 6) * start_s)
            for process in two:
                os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
                process.wait(LIMIT_S)
            killed[name] += 1
            wrong += [f"{name}: {problem}" for problem in problems(top)]
    return killed, wrong


def problems(top: Path) -> list[str]:
    """What is half, lost or doubled after a kill."""
    found = []
    db = top / "bench.duckdb"
    if not db.exists():
        return ["the warehouse is gone"]
    for file in (db, top / "old.duckdb"):
        with open_read(file) as warehouse:
            found += [problem for one in check(warehouse) for problem in one.problems]
    page = (top / "PAGE.md").read_text()
    if not page.startswith("# Page\n") or not page.rstrip().endswith("-->"):
        found.append("the page is half")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=20261124)
    given = parser.parse_args()
    killed, wrong = campaign(given.kills, given.seconds, given.seed)
    print(f"{killed.total()} kills: " + ", ".join(f"{n} {name}" for name, n in killed.items()))
    print("\n".join(wrong) or "nothing lost, doubled or half")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
