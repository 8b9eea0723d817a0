"""Processes that begin with what `bench` imports already imported: forked, not started anew.

Each is a process of its own, to be killed or locked out; an interpreter that imports DuckDB and
PyArrow takes a second or two of processor time, a fork of one that did takes a hundredth.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

IMPORTED = ["bench.ingest.files.pipeline", "bench.schema.store", "bench.schema.opening",
            "bench.project.after_ingest", __name__]  # fmt: skip


def forked(*more: str) -> ForkServerContext:
    """The way to such processes; the server that is forked starts with the first of them.

    `more`: what it imports besides, if it has not started yet.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*IMPORTED, *more])
    return context


class Child:
    """A running process, told to go on where it said that it is ready."""

    def __init__(self, work: Callable[..., None], *args: object) -> None:
        here, there = forked().Pipe()
        self.process: ForkServerProcess = forked().Process(target=work, args=(there, *args))
        self.process.start()
        there.close()
        assert here.poll(60) and here.recv() == "ready"
        here.close()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> int | None:
        """Waits for it: its status, the number of a signal below zero."""
        self.process.join(60)
        return self.process.exitcode


def read(ready: Connection, files: Path, db: Path) -> None:
    """What `bench ingest` does, in small batches: there are many commits to be killed in."""
    from bench.ingest.files import pipeline
    from bench.project.after_ingest import after_ingest_into
    from bench.schema.arrow import shapes

    pipeline._BATCH_ROWS = 300
    shapes()
    ready.send("ready")
    summary = pipeline.ingest([files], db, lock_timeout=30)
    after_ingest_into(db, 30, summary.uris)


def hold(ready: Connection, opening: str, db: Path, seconds: float) -> None:
    """Have a warehouse open for a while."""
    from bench.schema import opening as ways

    held = getattr(ways, opening)(db)
    ready.send("ready")
    time.sleep(seconds)
    held.close()
