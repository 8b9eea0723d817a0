"""The runs of a plan on this machine, in turns: started, watched and judged one after the other."""

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
from .live_ingest import LiveIngest
from .outcome import kernel_kills
from .planned_runs import PlannedRun, Recorder
from .process_probe import ProcessProbe
from .processes import Processes
from .watch import Watch, Watched

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Listener = Callable[[PlannedRun, State], None]


@dataclass(slots=True)
class Stop:
    """Whether somebody has asked us to stop, and how."""

    number: int | None = None

    def reason(self) -> str | None:
        """`stopped by SIGINT`; None: go on."""
        return None if self.number is None else f"stopped by {signal.Signals(self.number).name}"


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal ask to stop, instead of ending this process at once.

    Under `nohup`, which has the closed terminal ignored, that stays so.
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
    """Two launches of one plan would run everything twice. Raises Locked while another one runs."""
    root.mkdir(parents=True, exist_ok=True)
    # Not through a link: who made the folder may have put one there.
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
    """A plan under way; `begun` and `ended` are told of every run, `tick` lets a display move."""

    recorder: Recorder
    stop: Stop
    begun: Listener = lambda planned, state: None
    ended: Listener = lambda planned, state: None
    tick: Callable[[], None] = lambda: None

    def run(self, todo: Sequence[PlannedRun]) -> None:
        """Make the runs; a signal ends the one under way, and no other is begun."""
        with listening(self.stop):
            for planned in todo:
                if self.stop.number is None:
                    self._one(planned)

    def _one(self, planned: PlannedRun) -> None:
        broken_off = planned.folder.state()
        if broken_off is not None and broken_off.status == RUNNING:
            Processes(broken_off.token).end()  # what a launcher that was killed left behind
        state = self.recorder.begin(planned)
        self.begun(planned, state)
        kills = kernel_kills()
        seen = self._watched(planned, state)
        self.ended(planned, self.recorder.end(planned, state, seen, kernel_kills() - kills))

    def _watched(self, planned: PlannedRun, state: State) -> Watched:
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
            return Watched(None, 0.0, 0, 0, ("fail", f"cannot start: {why}"))
        limits, over, probe = recorder.plan.limits, recorder.is_over, ProcessProbe(planned.case.env)
        try:
            return Watch(processes, limits, log, self.stop.reason, tick, over, probe).wait()
        finally:
            processes.end()
