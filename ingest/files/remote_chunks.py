"""Chunks of files that a cluster reads ahead.

When a worker dies, its whole batch is suspect. So the files of a failed batch are read one by one,
with nothing else running: a failure is then due to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from ...schema.errors import BenchError
from .batches import Batch, FileRead, files_of
from .cluster import Cluster
from .prefetch import Chunk, Turn

_AHEAD = 4  # batches for each worker: one that takes long does not stop the others
_ATTEMPTS = 3
_SHOWN = 300  # characters of an error
Result = Sequence[FileRead | str | None]  # as read; why it cannot be; None: it is read here


@dataclass(slots=True)
class ClusterWorkers:
    """`prefetch.Workers` on a cluster, all reading by one `version` of the code."""

    cluster: Cluster
    version: int
    _reading: list[Any] = field(default_factory=list)  # Any: futures of Dask

    def start_if_worth(self, work: int) -> bool:
        """Never: the cluster starts with its first chunk, and no chunk waits until then."""
        return False

    def ahead(self) -> int:
        """How many chunks are read ahead."""
        return _AHEAD * max(2, self.cluster.threads()) if self._reading else 0

    def read(self, chunk: Chunk) -> None:
        """Submits a chunk; its files arrive when all of it is read."""
        turns = [turn for turn in chunk.turns if turn.task]
        if not turns:
            return
        batch = Batch([turn.task for turn in turns if turn.task], self.version)
        future = self.cluster.submit(batch)
        self._reading.append(future)
        result = cache(partial(self._result, future, batch))
        for place, turn in enumerate(turns):
            turn.arrive = partial(_arrive, turn, result, place)

    def end(self) -> None:
        """Cancels the remaining batches."""
        if self._reading:
            self.cluster.cancel(self._reading)

    def _result(self, future: Any, batch: Batch) -> Result:
        self.cluster.wait([future])
        if future.exception() is None:
            found = self._taken(future, batch)
        else:
            _refuse(future.exception())
            self.cluster.wait(self._reading)
            found = [
                one for task in batch.tasks for one in self._alone(replace(batch, tasks=[task]))
            ]
        self._reading.remove(future)
        self.cluster.unseen += sum(one is None for one in found)
        return found

    def _alone(self, batch: Batch) -> Result:
        """One file, a few times, while nothing else is read."""
        deaths = 0
        for _ in range(_ATTEMPTS):
            self.cluster.settle()
            future = self.cluster.submit(batch)
            self.cluster.wait([future])
            error = future.exception()
            if error is None:
                return self._taken(future, batch)
            _refuse(error)
            killed = _deaths(error)
            if not killed:
                return [f"{type(error).__name__}: {error}"[:_SHOWN]]
            deaths += killed
        return [f"reading it ended its process {deaths} times"]

    def _taken(self, future: Any, batch: Batch) -> Result:
        """The result of a batch; if its rows are lost, its files are read here."""
        try:
            return files_of(future.result(), self.cluster.folder)
        except OSError:
            return [None] * len(batch.tasks)


def _arrive(turn: Turn, result: Callable[[], Result], place: int) -> None:
    found = result()[place]
    turn.task = found.task if isinstance(found, FileRead) else None
    if isinstance(found, FileRead):
        parsed = found.parsed
        turn.take = lambda: parsed
    elif found is not None:
        turn.broke = found


def _refuse(error: BaseException) -> None:
    """Raises BenchError for an error that no file caused."""
    if isinstance(error, BenchError):
        raise error
    if isinstance(error, ImportError):
        hint = "install the same version of bench on every machine"
        raise BenchError("the workers cannot run bench", why=str(error), hint=hint)


def _deaths(error: BaseException) -> int:
    """How many workers died at a task; 0 if the task itself failed."""
    from distributed import KilledWorker

    return int(error.allowed_failures) + 1 if isinstance(error, KilledWorker) else 0
