"""Clusters that read new files, by Dask: of this machine, of a scheduler, of Slurm or PBS."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from ..schema import own_process
from ..schema.errors import BenchError
from ..vocabulary.format import counted
from .batches import Batch, read_batch
from .prefetch import no_interrupts
from .staging import staging

WORDS = "local[:N], tcp://HOST:PORT, slurm[:JOBS] or pbs[:JOBS]"
_WORD = re.compile(r"(?P<kind>local|slurm|pbs)(?::(?P<count>[1-9]\d{0,4}))?|(?:tcp|tls)://\S+")
_SUBMITS = {"slurm": "sbatch", "pbs": "qsub"}
_JOB = {"cores": 1, "memory": "4GB"}  # where Dask's own jobqueue.yaml does not say
_PATIENCE_S, _ASKED_S, _TIMEOUT_S = 60.0, 2.0, 10
_POLL_S, _START_S = 0.2, 1.0
# `elsewhere` tries again, one file at a time.
_CONFIG = {"distributed.scheduler.allowed-failures": 0}


@contextmanager
def opened(word: str, base: Path | None, told: Callable[[str], None]) -> Iterator[Cluster]:
    """The cluster that a word of `WORDS` names, which starts when there is something to read.

    What it says goes to `told`. Below `base`, which the workers see, rows are staged. Raises
    BenchError for another word, and without Dask.
    """
    found = _WORD.fullmatch(word)
    if found is None:
        raise BenchError(f"no such cluster: {word}", hint=WORDS)
    for name in ("distributed", "dask_jobqueue", "cryptography"):
        if find_spec(name) is None:
            raise BenchError(
                "to read on a cluster needs Dask", why=f"{name} is not installed",
                hint="pip install 'bench-warehouse[cluster]'",
            )  # fmt: skip
    with ExitStack() as stack:
        count = int(found["count"]) if found["count"] else None
        cluster = Cluster(found["kind"] or word, count, base, told, stack)
        yield cluster
        if cluster.unseen:
            told(f"read by this machine, as no worker could: {counted(cluster.unseen, 'file')}")


@dataclass(slots=True)
class Cluster:
    """A cluster of Dask; `kind` may be the address of its scheduler. Methods raise BenchError."""

    kind: str
    count: int | None  # workers, or jobs
    base: Path | None
    told: Callable[[str], None]
    stack: ExitStack
    folder: Path | None = None  # where rows are staged
    unseen: int = 0  # files that no worker could read
    _client: Any = None  # Any: Dask is not there without its extra
    _threads: int = 0
    _asked: float = 0.0
    _seen: float = 0.0  # when there was a worker
    _refused: str = ""  # why a job was not taken

    def submit(self, batch: Batch) -> Any:  # Any: a future of Dask
        """Have a batch read, which may happen several times."""
        client = self._started()
        return client.submit(read_batch, replace(batch, staging=self.folder), pure=False)

    def cancel(self, futures: Sequence[Any]) -> None:
        """Nobody wants them."""
        self._started().cancel(list(futures), force=True)

    def threads(self) -> int:
        """How many batches are read at once."""
        now = time.monotonic()
        if self._asked and now - self._asked < _ASKED_S:
            return self._threads
        try:
            self._threads, self._asked = sum(self._started().nthreads().values()), now
        except OSError as error:
            raise _lost(str(error)) from error
        if self._threads:
            self._seen = now
        elif self._refused and not self._seen:
            raise BenchError("no worker has started", why=self._refused, hint="mend jobqueue.yaml")
        elif self._seen and now - self._seen > _PATIENCE_S:
            raise _lost(f"no worker for {_PATIENCE_S:.0f} s")
        return self._threads

    def settle(self) -> None:
        """Wait for a worker that has started: of one that dies before, Dask starts no other."""
        self._asked = 0.0
        while not self.threads():
            time.sleep(_POLL_S)
            self._asked = 0.0
        time.sleep(_START_S)

    def wait(self, futures: Sequence[Any]) -> None:
        """Until they are done."""
        from distributed import wait

        while True:
            try:
                wait(list(futures), timeout=_ASKED_S)
                return
            except TimeoutError:
                self.threads()
            except (CancelledError, asyncio.CancelledError) as error:
                raise _lost("its scheduler has ended") from error

    def _started(self) -> Any:
        if self._client is None:
            # As long as workers may start: they look for no modules in the working folder.
            self.stack.enter_context(own_process.safe_path())
            self.folder = self.stack.enter_context(staging(self.base))
            resource_tracker.ensure_running()  # its start would let interrupts through again
            with no_interrupts():  # the threads that start processes inherit it
                self._client = self.stack.enter_context(self._connected())
            many = self.threads()
            workers = f"{many} workers" if many else "waiting for the first worker"
            self.told(f"cluster: {workers}, dashboard at {self._client.dashboard_link}")
        return self._client

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A client, and the cluster that it starts, if any."""
        import dask
        from distributed import Client, LocalCluster
        from distributed.security import Security

        quiet = logging.CRITICAL  # what it means that a worker is lost, we tell
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(quiet)
        with ExitStack() as stack:
            stack.enter_context(dask.config.set(_CONFIG))
            address: Any = self.kind
            if self.kind == "local":
                stack.enter_context(environment_kept())
                address = LocalCluster(
                    n_workers=self.count, threads_per_worker=1, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", silence_logs=quiet,
                    security=Security.temporary(),
                )  # fmt: skip
                stack.enter_context(address)
            elif self.kind in _SUBMITS:
                address = queued(self.kind, self.folder or Path.home())
                stack.callback(_close, address)
                address.loop.asyncio_loop.set_exception_handler(self._hear)
                address.scale(jobs=self.count or 1)
            try:
                client = stack.enter_context(Client(address, timeout=_TIMEOUT_S))
            except (OSError, TimeoutError) as error:
                raise BenchError(
                    f"no scheduler of Dask answers at {self.kind}", why=str(error),
                    hint="check the address; `dask scheduler` prints it when it starts",
                ) from error  # fmt: skip
            yield client

    def _hear(self, _: object, context: Mapping[str, Any]) -> None:
        """What Dask tells nobody: why a job was not taken."""
        self._refused = str(context.get("exception") or context["message"])


@contextmanager
def environment_kept() -> Iterator[None]:
    """What Dask sets for the workers that it starts here (OMP_NUM_THREADS, ...) ends with them."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _close(jobs: Any) -> None:
    """End all jobs. Of one that was not taken Dask complains when all else is closed."""
    with suppress(AssertionError):
        jobs.close()


def _lost(why: str) -> BenchError:
    hint = "the same command goes on from what is stored"
    return BenchError("the cluster is lost", why=why, hint=hint)


def queued(kind: str, keys: Path) -> Any:  # Any: as above
    """Jobs of Slurm or PBS that are workers, as Dask's jobqueue.yaml describes them.

    Below `keys`, which they see, are the keys by which they know the scheduler and it them: else
    anybody on the network could have them run what he likes.
    """
    if shutil.which(_SUBMITS[kind]) is None:
        raise BenchError(
            f"no {kind} here", why=f"{_SUBMITS[kind]} is not installed",
            hint="run it where jobs are submitted, or --cluster local",
        )  # fmt: skip
    import dask
    import dask_jobqueue
    from distributed.security import Security

    ours = {name: dask.config.get(f"jobqueue.{kind}.{name}", None) or _JOB[name] for name in _JOB}
    return {"slurm": dask_jobqueue.SLURMCluster, "pbs": dask_jobqueue.PBSCluster}[kind](
        processes=dask.config.get(f"jobqueue.{kind}.processes", None) or ours["cores"],
        job_script_prologue=[
            *(dask.config.get(f"jobqueue.{kind}.job-script-prologue", None) or ()),
            "export PYTHONSAFEPATH=1 OPENBLAS_NUM_THREADS=1",
        ],
        security=Security.temporary(),
        shared_temp_directory=str(keys),
        silence_logs=logging.CRITICAL,
        **ours,
    )
