"""Writers, kills and tails of a shared warehouse: every row is there once.

`python -m tests.campaigns.shared --form folder --kills 40`; forms `sqlite` and `duckdb` need the
extra `lake`, `--at ducklake:postgres:...` takes an empty lake that is there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.schema.check import check_place
from bench.schema.location import place_of
from bench.schema.opening import open_read
from tests.making import folder
from tests.sharing import furnished, killed, made, raced, stored, tailed, take


def campaign(place: Path, top: Path, kills: int) -> None:
    """Prints a row for each part: what was done, rows expected and found, seconds."""
    same = folder(top / "same", logs=8, tables=2, iterations=4)
    others, beside = (
        [folder(top / f"of{n}", logs=4, tables=0, iterations=n) for n in range(least, least + 4)]
        for least in (5, 9)
    )
    logs = folder(top / "logs", logs=20, tables=0, iterations=20)
    parts: list[tuple[str, Callable[[], None], int]] = [
        ("4 writers, the same files", partial(raced, place, top, [same] * 4), 8 * 4),
        ("4 writers, other files", partial(raced, place, top, others), 4 * (5 + 6 + 7 + 8)),
        ("3 tails of one log, 4 writers, beside compact and gc",
         partial(tailed, place, top, tails=3, pieces=10, written=beside),
         50 + 4 * (9 + 10 + 11 + 12)),
        (f"{kills} kills of 2 writers", partial(killing, place, top, logs, kills), 20 * 20),
    ]  # fmt: skip
    print("| what | iterations expected | found | seconds |", "|---" * 4 + "|", sep="\n")
    expected = 0
    for what, work, more in parts:
        began, expected = time.monotonic(), expected + more
        work()
        stored(place)
        with open_read(place) as warehouse:
            [(found,)] = warehouse.rows("SELECT count(*) FROM iterations")
            took = time.monotonic() - began
            print(f"| {what} | {more} | {found - expected + more} | {took:.0f} |", flush=True)
            assert found == expected
            assert [problem for one in check_place(warehouse) for problem in one.problems] == []


def killing(place: Path, top: Path, logs: Path, kills: int) -> None:
    """Kills, then what the last of them left to do."""
    killed(place, top, logs, kills, longest_s=3.0)
    take(logs, place)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", default="folder", choices=("folder", "sqlite", "duckdb"))
    parser.add_argument("--at", type=Path)
    parser.add_argument("--kills", type=int, default=40)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = str(furnished(Path(name) / "here"))
        place = given.at or made(given.form, Path(name))
        print(f"{given.form if not given.at else given.at}, {place_of(place).latest()} commits")
        campaign(place, Path(name), given.kills)
        print(f"{place_of(place).latest()} commits; nothing lost or doubled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
