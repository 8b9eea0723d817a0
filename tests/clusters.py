"""Clusters for tests: workers that die at some files, and commands that read on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from tests.warm import forked

# Run by each worker when it starts. Files end the process that opens them by their names, as bytes
# would that a library crashes at; and more rows are staged than those of large batches.
FATAL = """
import os, sys
from bench.ingest.files import batches

def look(event, arguments):
    name = str(arguments[0]) if event == "open" else ""
    if name.endswith("fatal.log"):
        os._exit(9)
    if name.endswith("broken.log"):
        raise RuntimeError("cannot read this")

sys.addaudithook(look)
batches._FEW = 5_000
"""
# Workers are forked from a process that has imported what they need, which takes seconds of
# processor time; so are those that follow one that died.
METHOD = "distributed.worker.multiprocessing-method"


@contextmanager
def running(folder: Path, workers: int = 2) -> Iterator[str]:
    """The address of a scheduler with so many workers of these."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    from bench.ingest.files.cluster import _CONFIG, environment_kept

    preload = folder / "fatal.py"
    preload.write_text(FATAL)
    with (
        environment_kept(),
        dask.config.set(
            {**_CONFIG, METHOD: "forkserver", "distributed.worker.preload": [str(preload)]}
        ),
    ):
        get_mp_context()  # it has a list of its own, which it sets once
        forked("distributed.nanny", "bench.ingest.files.batches")
        with LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=50,
        ) as cluster:  # fmt: skip
            yield str(cluster.scheduler_address)


def read(ready: Connection, files: Path, db: Path, address: str, seen: Path) -> None:
    """Ingest on a cluster in small batches, so that there are many commits to be killed in.

    A byte is added to `seen` when it is a file's turn.
    """
    from bench.ingest.files import pipeline, prefetch
    from bench.ingest.files.cluster import opened

    pipeline._BATCH_ROWS, prefetch._CHUNK_FILES = 300, 3
    ready.send("ready")
    with seen.open("ab", buffering=0) as turns, opened(address, db.parent, print) as cluster:

        def tell(_: str) -> None:
            turns.write(b".")

        pipeline.ingest([files], db, progress=tell, cluster=cluster, lock_timeout=30)
