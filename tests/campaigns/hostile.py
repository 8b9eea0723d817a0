"""Every command over a thousand files that attack: it ends in time, in its memory, in words.

`python -m tests.campaigns.hostile --files 1000 --limit 240 --seconds 3600`
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.commands import names
from tests.hostile_commands import COMMANDS, walked
from tests.hostile_files import make


def campaign(files: int, limit: int, seconds: float, seed: int) -> tuple[str, list[str]]:
    """What was done, in a line; what was wrong. `limit`: seconds of processor time of a command."""
    failures: list[str] = []
    slowest, done, began = (0.0, ""), 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder_:
        folder = Path(folder_)
        (folder / ".git").mkdir()
        make(folder, files, seed)
        (folder / "deep.toml").write_text("x = " + "[" * 90_000)
        lines = [line for name in names() for line in COMMANDS[name]]
        for line in lines:
            if time.monotonic() - began > seconds:
                break
            at = time.monotonic()
            try:
                walked(folder, line, limit)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failures.append(str(error))
            slowest, done = max(slowest, (time.monotonic() - at, line)), done + 1
    return (
        f"{files} files, {done} of {len(lines)} command lines, {limit} s of processor time, 6 GiB "
        f"of addresses each: {len(failures)} failed; slowest {slowest[0]:.0f} s, {slowest[1]}"
    ), failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--limit", type=int, default=240)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    told, failures = campaign(given.files, given.limit, given.seconds, given.seed)
    print(told)
    print("\n\n".join(failures) or "all ended in words")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
