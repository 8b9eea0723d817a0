"""Local execution of a plan: runs are started, watched and judged one after the other."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ..schema.errors import Locked
from .environment import full_environment
from .folder import RUNNING, State
from .outcome import kernel_kills
from .planned_runs import LiveIngest, PlannedRun, Recorder
from .process_probe import ProcessProbe
from .processes import Processes, RunObservations, Watch

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Listener = Callable[[PlannedRun, State], None]


@dataclass(slots=True)
class StopRequest:
    """The signal that requested a stop, if any."""

    number: int | None = None

    def reason(self) -> str | None:
        """`stopped by SIGINT`; None without a stop request."""
        return None if self.number is None else f"stopped by {signal.Signals(self.number).name}"


@contextmanager
def stop_on_signals(stop: StopRequest) -> Iterator[None]:
    """Handle SIGINT, SIGTERM and SIGHUP as requests to stop.

    Ignored signals stay ignored, such as SIGHUP under `nohup`.
    """

    def request_stop(number: int, frame: FrameType | None) -> None:
        stop.number = number

    handled = [number for number in STOPS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, request_stop) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def exclusive(root: Path) -> Iterator[None]:
    """Lock a plan, since two launches would run everything twice. Raises Locked."""
    root.mkdir(parents=True, exist_ok=True)
    # O_NOFOLLOW: the folder's creator may have placed a link there.
    opened = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    with open(opened, "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked(
                "another launch of this plan is running",
                where=str(root),
                hint="wait for it, or choose another directory with -o",
            ) from error
        yield


@dataclass(frozen=True, slots=True)
class Sweep:
    """The local execution of a plan: callbacks at the begin and end of runs, and for a display."""

    recorder: Recorder
    stop: StopRequest
    on_begin: Listener = lambda planned, state: None
    on_end: Listener = lambda planned, state: None
    tick: Callable[[], None] = lambda: None

    def run(self, todo: Sequence[PlannedRun]) -> None:
        """Execute the runs; a signal ends the active one and skips the rest."""
        with stop_on_signals(self.stop):
            for planned in todo:
                if self.stop.number is None:
                    self._one(planned)

    def _one(self, planned: PlannedRun) -> None:
        broken_off = planned.folder.state()
        if broken_off is not None and broken_off.status == RUNNING:
            Processes(broken_off.token).end()  # left behind by a killed launcher
        state = self.recorder.begin(planned)
        self.on_begin(planned, state)
        kills = kernel_kills()
        seen = self._watched(planned, state)
        self.on_end(planned, self.recorder.end(planned, state, seen, kernel_kills() - kills))

    def _watched(self, planned: PlannedRun, state: State) -> RunObservations:
        recorder, log = self.recorder, planned.folder.log
        processes, live = Processes(state.token), LiveIngest(recorder)

        def tick() -> None:
            self.tick()
            live.update([planned])

        env, words = (
            full_environment(planned.case, recorder.inherited),
            recorder.program.command(planned.case),
        )
        try:
            with log.open("ab", buffering=0) as output:
                processes.start(words, env, recorder.where.cwd, output)
        except OSError as error:
            why = f"{os.fsdecode(error.filename or words[0])}: {error.strerror or error}"
            return RunObservations(None, 0.0, 0, 0, ("fail", f"cannot start: {why}"))
        limits, over, probe = recorder.plan.limits, recorder.is_over, ProcessProbe(planned.case.env)
        try:
            return Watch(processes, limits, log, self.stop.reason, tick, over, probe).wait()
        finally:
            processes.end()
