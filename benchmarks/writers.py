"""Many writers of one shared warehouse: measured steps of a commit, simulated for up to 1,000.

    python benchmarks/writers.py [FORM ...]      # folder (default), sqlite, duckdb

Each writer stores one log of 1 MB. It opens its replica and takes in what others have committed,
writes into it, and publishes; if another commit came in between it pauses and begins anew, as
`schema/commits.py: repeated` does. The steps are measured alone, as the least of some processor
times. In the simulation all writers begin at once, each on a core of its own. In a folder files are
written first, and then the number of the commit is claimed in no time; a lake writes files under
the lock of its catalog.
"""

from __future__ import annotations

import heapq
import os
import random
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import machine

WRITERS = (1, 10, 30, 100, 300, 1000)
ROUNDS = 7
FORMS = {
    "folder": "folder:{}/shelf",
    "sqlite": "ducklake:sqlite:{}/lake.sqlite",
    "duckdb": "ducklake:{}/lake.ducklake",
}


@dataclass(frozen=True)
class Steps:
    """Seconds of the steps of a commit."""

    open: float  # a replica that is up to date
    take_in: float  # one commit of others
    write: float  # the rows into the replica
    publish: float  # them to the place
    look: float  # whether others have committed
    locks: bool  # whether they are published under a lock


class Clock:
    """Processor seconds by step, of functions in whose place it puts itself."""

    def __init__(self) -> None:
        self.took: dict[str, list[float]] = {}

    def call(self, step: str, work: Callable[..., Any], *args: Any, **more: Any) -> Any:
        began = time.process_time()
        try:
            return work(*args, **more)
        finally:
            self.took.setdefault(step, []).append(time.process_time() - began)

    def within(self, owner: object, name: str) -> None:
        work = getattr(owner, name)
        setattr(owner, name, lambda *args, **more: self.call(name, work, *args, **more))

    def least(self, step: str) -> float:
        """Without the first, which imports and makes the replica."""
        return min(self.took[step][1:])


def measured(form: str) -> Steps:
    """Measure the steps with logs of 1 MB, each a commit."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.ingest.files.pipeline import ingest
    from bench.schema import store
    from bench.schema.lake import Lake
    from bench.schema.location import place_of
    from bench.schema.opening import open_read, open_write
    from tests.making import log

    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="bench-writers-") as name:
        base = Path(name)
        place = Path(FORMS[form].format(base))
        shared = place_of(place)
        shared.create(None)
        clock.within(store, "store")
        clock.within(type(shared), "commit")
        for number in range(ROUNDS):
            file = base / f"run{number}.log"
            file.write_text(log(2150, 100 + number))
            os.environ["XDG_CACHE_HOME"] = str(base / "here")
            ingest([file], place)
            clock.call("open", lambda: open_write(place).close())
            clock.call("look", shared.latest)
            os.environ["XDG_CACHE_HOME"] = str(base / "there")
            clock.call("behind", lambda: open_read(place).close())
    publish, opening = clock.least("commit"), clock.least("open")
    return Steps(
        opening, max(clock.least("behind") - opening, 0.0), clock.least("store") - publish,
        publish, clock.least("look"), isinstance(shared, Lake),
    )  # fmt: skip


class Warehouse:
    """The commits of a simulated warehouse, and who waits for its lock."""

    def __init__(self) -> None:
        self.newest = 0
        self.busy = False
        self.waiting: deque[int] = deque()


def writer(steps: Steps, shared: Warehouse, dice: random.Random) -> Generator[Any, Any, int]:
    """The attempts that one writer needs; yields seconds to spend, or what to do with the lock."""
    own = 0
    for attempt in range(10**6):
        behind, own = shared.newest - own, shared.newest
        yield steps.open + steps.take_in * behind + steps.write
        if not steps.locks:
            yield steps.publish
        else:
            yield "lock"
            yield steps.look if shared.newest != own else steps.publish
        committed = shared.newest == own
        shared.newest += committed
        if steps.locks:
            yield "unlock"
        if committed:
            return attempt + 1
        yield dice.uniform(0, min(0.02 * 1.5**attempt, 1.0))
    raise AssertionError("no writer waits so long")


def simulated(steps: Steps, writers: int) -> tuple[list[float], list[int]]:
    """When each commit is stored, in s, and the attempts that each took."""
    shared, dice = Warehouse(), random.Random(24)
    running = [writer(steps, shared, dice) for _ in range(writers)]
    due = [(0.0, number) for number in range(writers)]
    ends, attempts = [], []
    while due:
        now, number = heapq.heappop(due)
        try:
            wanted = next(running[number])
        except StopIteration as end:
            ends.append(now)
            attempts.append(int(end.value))
            continue
        if wanted == "lock" and shared.busy:
            shared.waiting.append(number)
            continue
        if wanted == "lock":
            shared.busy = True
        elif wanted == "unlock":
            shared.busy = bool(shared.waiting)
            if shared.waiting:
                heapq.heappush(due, (now, shared.waiting.popleft()))
        heapq.heappush(due, (now + (0.0 if isinstance(wanted, str) else wanted), number))
    return ends, attempts


def main(forms: list[str]) -> None:
    """Print a table for each form in markdown."""
    for form in forms:
        steps = measured(form)
        print(
            f"{form}: {1000 * steps.open:.0f} ms to open a replica,"
            f" {1000 * steps.take_in:.0f} ms to take in a commit,"
            f" {1000 * steps.write:.0f} ms to write rows, {1000 * steps.publish:.0f} ms to publish"
            " them\n\n"
            "| writers at once | commits/s | all stored, s | attempts, median | most |\n"
            "| --: | --: | --: | --: | --: |"
        )
        for writers in WRITERS:
            ends, attempts = simulated(steps, writers)
            print(
                f"| {writers:,} | {writers / ends[-1]:.1f} | {ends[-1]:.0f} |"
                f" {statistics.median(attempts):.0f} | {max(attempts)} |"
            )
        print()
    print(machine())


if __name__ == "__main__":
    main(sys.argv[1:] or ["folder"])
