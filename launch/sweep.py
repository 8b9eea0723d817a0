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
from .environment import whole
from .folder import RUNNING, State
from .growing import Growing
from .keeping import Keeper, Turn
from .outcome import kernel_kills
from .processes import Processes
from .watch import Watch, Watched
from .witness import Witness

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Told = Callable[[Turn, State], None]


@dataclass(slots=True)
class Stop:
    """Whether somebody has asked us to stop, and how."""

    number: int | None = None

    def told(self) -> str | None:
        """`stopped by SIGINT`; None: go on."""
        return None if self.number is None else f"stopped by {signal.Signals(self.number).name}"


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal ask to stop, instead of ending this process at once.

    Under `nohup`, which has the closed terminal ignored, that stays so.
    """

    def ask(number: int, frame: FrameType | None) -> None:
        stop.number = number

    heard = [number for number in STOPS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, ask) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Two launches of one plan would run everything twice. Raises Locked while another one runs."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked(
                "this plan is being launched already",
                where=str(root),
                hint="wait for it, or choose another folder with -o",
            ) from error
        yield


@dataclass(frozen=True, slots=True)
class Sweep:
    """A plan under way; `begun` and `ended` are told of every run, `tick` lets a display move."""

    keeper: Keeper
    stop: Stop
    begun: Told = lambda turn, state: None
    ended: Told = lambda turn, state: None
    tick: Callable[[], None] = lambda: None

    def run(self, todo: Sequence[Turn]) -> None:
        """Make the runs; a signal ends the one under way, and no other is begun."""
        with listening(self.stop):
            for turn in todo:
                if self.stop.number is None:
                    self._one(turn)

    def _one(self, turn: Turn) -> None:
        broken_off = turn.folder.state()
        if broken_off is not None and broken_off.status == RUNNING:
            Processes(broken_off.token).end()  # what a launcher that was killed left behind
        state = self.keeper.begin(turn)
        self.begun(turn, state)
        kills = kernel_kills()
        seen = self._watched(turn, state)
        self.ended(turn, self.keeper.end(turn, state, seen, kernel_kills() - kills))

    def _watched(self, turn: Turn, state: State) -> Watched:
        keeper, log = self.keeper, turn.folder.log
        processes, growing = Processes(state.token), Growing(keeper)

        def tick() -> None:
            self.tick()
            growing.look([turn])

        env, words = whole(turn.case, keeper.inherited), keeper.program.command(turn.case)
        try:
            with log.open("ab", buffering=0) as output:
                processes.start(words, env, keeper.where.cwd, output)
        except OSError as error:
            why = f"{os.fsdecode(error.filename or words[0])}: {error.strerror or error}"
            return Watched(None, 0.0, 0, 0, ("fail", f"it cannot be started: {why}"))
        limits, over, witness = keeper.plan.limits, keeper.is_over, Witness(turn.case.env)
        try:
            return Watch(processes, limits, log, self.stop.told, tick, over, witness).wait()
        finally:
            processes.end()
