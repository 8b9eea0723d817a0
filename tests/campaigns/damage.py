"""A cut or flipped warehouse or log of writes: opened whole, or refused with what to do.

`python -m tests.campaigns.damage --offsets 200 --seconds 300`
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.ingest.files.pipeline import ingest
from tests.making import folder

LIMIT_S = 60.0  # of one check; a damaged file may make no command hang
_WRITER = """
import os, sys, duckdb
con = duckdb.connect(sys.argv[1])
con.execute("INSERT INTO raw.hidden VALUES ('uri', 'logs/absent.log', true, now()::TIMESTAMP)")
os._exit(0)
"""


def made(top: Path) -> Path:
    """A warehouse with a log of writes beside it."""
    folder(top / "logs", logs=3, tables=1, iterations=20)
    db = top / "bench.duckdb"
    ingest([top / "logs"], db)
    subprocess.run([sys.executable, "-c", _WRITER, str(db)], check=True)
    return db


def damaged(db: Path, top: Path, chance: random.Random) -> Path:
    """A copy of it, its file or log of writes cut or with one bit of another value."""
    copy = top / "copy.duckdb"
    shutil.copy(db, copy)
    log = Path(f"{db}.wal")
    if log.exists():
        shutil.copy(log, f"{copy}.wal")
    chosen = Path(f"{copy}.wal") if log.exists() and chance.random() < 0.3 else copy
    size = chosen.stat().st_size
    at = chance.randrange(size)
    if chance.random() < 0.4:
        os.truncate(chosen, at)
    else:
        with chosen.open("rb+") as file:
            file.seek(at)
            byte = file.read(1)[0] ^ (1 << chance.randrange(8))
            file.seek(at)
            file.write(bytes([byte]))
    return copy


def outcome(copy: Path) -> str:
    """What `bench db check --deep` makes of it: whole, named, refused, or what must not be."""
    command = [sys.executable, "-P", "-m", "bench", "db", "check", "--deep", "--db", str(copy)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return "whole"
    if "Traceback" in done.stderr or done.returncode < 0:
        return f"crashes ({done.returncode}): {done.stderr.strip().splitlines()[-1:]}"
    if done.stderr.startswith("error:"):
        return "refused" if "\n  try: " in done.stderr else f"no remedy: {done.stderr.strip()}"
    return "named" if "warning:" in done.stderr else f"unexplained: {done.stderr.strip()}"


def campaign(offsets: int, seconds: float, seed: int) -> Counter[str]:
    """So many damages or so many seconds, what ends first; the outcomes with their numbers."""
    chance, found, began = random.Random(seed), Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder_:
        db = made(Path(folder_))
        while found.total() < offsets and time.monotonic() - began < seconds:
            found[outcome(damaged(db, Path(folder_), chance))] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offsets", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=20261124)
    given = parser.parse_args()
    found = campaign(given.offsets, given.seconds, given.seed)
    print(", ".join(f"{number} {name}" for name, number in found.most_common()))
    return int(bool(found.keys() - {"whole", "named", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
