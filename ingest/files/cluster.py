"""Clusters that read new files, by Dask: local, at an address, or as jobs of Slurm or PBS."""

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

from ...schema import own_process
from ...schema.errors import BenchError
from ...vocabulary.format import counted
from .batches import Batch, read_batch, staging
from .prefetch import no_interrupts

SPECS = "local[:N], tcp://HOST:PORT, slurm[:JOBS] or pbs[:JOBS]"
_SPEC = re.compile(r"(?P<kind>local|slurm|pbs)(?::(?P<count>[1-9]\d{0,4}))?|(?:tcp|tls)://\S+")
_SUBMITS = {"slurm": "sbatch", "pbs": "qsub"}
_JOB = {"cores": 1, "memory": "4GB"}  # where Dask's own jobqueue.yaml has no value
_PATIENCE_S, _POLL_THREADS_S, _TIMEOUT_S = 60.0, 2.0, 10
_POLL_S, _START_S = 0.2, 1.0
# `elsewhere` tries again, one file at a time.
_CONFIG = {"distributed.scheduler.allowed-failures": 0}


@contextmanager
def opened(spec: str, base: Path | None, notify: Callable[[str], None]) -> Iterator[Cluster]:
    """The cluster of one of `SPECS`, which starts when there is something to read.

    `notify` gets its messages. Rows are staged below `base`, which the workers can read. Raises
    BenchError for any other spec, and without Dask.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise BenchError(f"no such cluster: {spec}", hint=SPECS)
    for name in ("distributed", "dask_jobqueue", "cryptography"):
        if find_spec(name) is None:
            raise BenchError(
                "to read on a cluster needs Dask", why=f"{name} is not installed",
                hint="pip install 'bench-warehouse[cluster]'",
            )  # fmt: skip
    with ExitStack() as stack:
        count = int(match["count"]) if match["count"] else None
        cluster = Cluster(match["kind"] or spec, count, base, notify, stack)
        yield cluster
        if cluster.unseen:
            notify(f"read by this machine, as no worker could: {counted(cluster.unseen, 'file')}")


@dataclass(slots=True)
class Cluster:
    """A cluster of Dask; `kind` may be the address of its scheduler. Methods raise BenchError."""

    kind: str
    count: int | None  # workers, or jobs
    base: Path | None
    notify: Callable[[str], None]
    stack: ExitStack
    folder: Path | None = None  # where rows are staged
    unseen: int = 0  # files that no worker could read
    _client: Any = None  # Any: Dask is an extra
    _threads: int = 0
    _polled_at: float = 0.0
    _seen: float = 0.0  # when there was a worker last
    _refused: str = ""  # why a job was refused

    def submit(self, batch: Batch) -> Any:  # Any: a future of Dask
        """Submits a batch, which may be read several times."""
        client = self._started()
        return client.submit(read_batch, replace(batch, staging=self.folder), pure=False)

    def cancel(self, futures: Sequence[Any]) -> None:
        """Cancels batches whose results are not needed."""
        self._started().cancel(list(futures), force=True)

    def threads(self) -> int:
        """How many batches are read at once."""
        now = time.monotonic()
        if self._polled_at and now - self._polled_at < _POLL_THREADS_S:
            return self._threads
        try:
            self._threads, self._polled_at = sum(self._started().nthreads().values()), now
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
        """Waits for a running worker: Dask does not replace one that dies while it starts."""
        self._polled_at = 0.0
        while not self.threads():
            time.sleep(_POLL_S)
            self._polled_at = 0.0
        time.sleep(_START_S)

    def wait(self, futures: Sequence[Any]) -> None:
        """Waits until they are done."""
        from distributed import wait

        while True:
            try:
                wait(list(futures), timeout=_POLL_THREADS_S)
                return
            except TimeoutError:
                self.threads()
            except (CancelledError, asyncio.CancelledError) as error:
                raise _lost("its scheduler has ended") from error

    def _started(self) -> Any:
        if self._client is None:
            # For as long as workers may start: no modules are imported from the working folder.
            self.stack.enter_context(own_process.safe_path())
            self.folder = self.stack.enter_context(staging(self.base))
            resource_tracker.ensure_running()  # its start would unblock interrupts again
            with no_interrupts():  # the threads that start processes inherit it
                self._client = self.stack.enter_context(self._connected())
            many = self.threads()
            workers = f"{many} workers" if many else "waiting for the first worker"
            self.notify(f"cluster: {workers}, dashboard at {self._client.dashboard_link}")
        return self._client

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A client, and the cluster that it starts, if any."""
        import dask
        from distributed import Client, LocalCluster
        from distributed.security import Security

        quiet = logging.CRITICAL  # the loss of workers is reported here
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
                address.loop.asyncio_loop.set_exception_handler(self._record_refusal)
                address.scale(jobs=self.count or 1)
            try:
                client = stack.enter_context(Client(address, timeout=_TIMEOUT_S))
            except (OSError, TimeoutError) as error:
                raise BenchError(
                    f"no scheduler of Dask answers at {self.kind}", why=str(error),
                    hint="check the address; `dask scheduler` prints it when it starts",
                ) from error  # fmt: skip
            yield client

    def _record_refusal(self, _: object, context: Mapping[str, Any]) -> None:
        """Records why a job was refused, which Dask does not report."""
        self._refused = str(context.get("exception") or context["message"])


@contextmanager
def environment_kept() -> Iterator[None]:
    """Restores the environment, in which Dask sets OMP_NUM_THREADS, ... for local workers."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _close(jobs: Any) -> None:
    """Ends all jobs. Dask raises for a refused one, after all others are closed."""
    with suppress(AssertionError):
        jobs.close()


def _lost(why: str) -> BenchError:
    hint = "the same command continues after the stored files"
    return BenchError("the cluster is lost", why=why, hint=hint)


def queued(kind: str, keys: Path) -> Any:  # Any: as above
    """Workers as jobs of Slurm or PBS, with the settings of Dask's jobqueue.yaml.

    The folder `keys`, which they can read, has the keys that authenticate workers and scheduler:
    else anybody on the network could run code on them.
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
