"""The runs of a plan, in turns: started, watched, judged, ingested, one after the other."""

from __future__ import annotations

import fcntl
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from ..ingest.pipeline import ingest
from ..schema.errors import Locked
from . import record
from .cases import Case, Expansion
from .environment import belied, chosen, require, whole
from .folder import RUNNING, RunFolder, State, run_folder
from .outcome import CANCELLED, OK, Outcome, judge, kernel_kills, read_log
from .plan import Plan
from .processes import Processes
from .trainers import Trainer
from .watch import Watch, Watched

Told = Callable[["Turn", State], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """One run to make: a case, which of its repeats, where."""

    case: Case
    repeat: int
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class Where:
    """Where a plan's runs lie, where they run, and the warehouse that they go into (None: none)."""

    root: Path
    cwd: Path
    db: Path | None
    lock_timeout: float
    formats: Path | None = None


def turns(plan: Plan, cases: Sequence[Case], root: Path) -> list[Turn]:
    """Every run, repeats in turns and each round in the other direction: drift hits all alike."""
    made = []
    for repeat in range(1, plan.repeats + 1):
        for case in cases if repeat % 2 else reversed(cases):
            made.append(Turn(case, repeat, run_folder(root, case, repeat)))
    return made


def left_to_do(every: Sequence[Turn], retry: bool) -> list[Turn]:
    """The runs that are missing: never begun, broken off, cancelled; with `retry` failed ones."""

    def done(turn: Turn) -> bool:
        state = turn.folder.state()
        if state is None or state.status in (RUNNING, CANCELLED):
            return False
        return state.status == OK or not retry

    return [turn for turn in every if not done(turn)]


@dataclass(slots=True)
class Sweep:
    """A plan under way; `begun` and `ended` are told of every run, `tick` lets a display move."""

    plan: Plan
    expansion: Expansion
    trainer: Trainer
    where: Where
    begun: Told = lambda turn, state: None
    ended: Told = lambda turn, state: None
    tick: Callable[[], None] = lambda: None
    stopped_by: int | None = None  # the signal that asked us to stop
    _inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def check(self) -> None:
        """Raises BenchError when what the plan needs is not here."""
        for preload in {case.env.get("LD_PRELOAD"): case for case in self.expansion.cases}.values():
            require(preload)

    def run(self, todo: Sequence[Turn]) -> list[State]:
        """Make the runs; a signal ends the one under way, and no other is begun."""
        states = []
        self.where.root.mkdir(parents=True, exist_ok=True)
        with self._alone(), self._signals():
            for turn in todo:
                if self.stopped_by is None:
                    states.append(self._one(turn))
        return states

    def _one(self, turn: Turn) -> State:
        words = self.trainer.command(turn.case.asked, turn.case.facts)
        env = chosen(turn.case, self._inherited)
        broken_off = turn.folder.state()
        if broken_off is not None and broken_off.status == RUNNING:
            Processes(broken_off.token).end()  # what a launcher that was killed left behind
        turn.folder.begin(words, env, self.where.cwd)
        state = State(
            plan=str(self.plan.name), case=turn.case.id, label=turn.case.label, repeat=turn.repeat,
            status=RUNNING, token=uuid.uuid4().hex, settings=turn.case.settings, env=env,
            command=words,
        )  # fmt: skip
        turn.folder.save(state)
        self.begun(turn, state)
        state = self._watched(turn, state)
        turn.folder.save(state)
        if self.where.db is not None:
            ingest(
                [turn.folder.log],
                self.where.db,
                lock_timeout=self.where.lock_timeout,
                formats=self.where.formats,
            )
        self.ended(turn, state)
        return state

    def _watched(self, turn: Turn, state: State) -> State:
        log, kills = turn.folder.log, kernel_kills()
        processes = Processes(state.token)
        with log.open("ab", buffering=0) as output:
            output.write(self._head(turn, state).encode("utf-8", "backslashreplace"))
            try:
                processes.start(
                    state.command, whole(turn.case, self._inherited), self.where.cwd, output
                )
                seen = self._watch(processes, log).wait()
            except OSError as error:
                why = f"it cannot be started: {error.strerror or error}"
                seen = Watched(None, 0.0, 0, 0, ("fail", why))
            finally:
                processes.end()
            if log.read_bytes()[-1:] != b"\n":
                output.write(b"\n")
            outcome = self._outcome(turn.case, log, seen, kernel_kills() - kills)
            output.write(_tail(seen, outcome).encode("utf-8", "backslashreplace"))
        return replace(
            state,
            status=outcome.status,
            evidence=outcome.evidence,
            exit_code=seen.exit_code,
            wall_s=round(seen.wall_s, 3),
            peak_memory_mb=seen.peak_memory >> 20,
            step_time_s=outcome.step_time_s,
        )

    def _watch(self, processes: Processes, log: Path) -> Watch:
        return Watch(processes, self.plan.limits, log, self._stop, self.tick)

    def _head(self, turn: Turn, state: State) -> str:
        plan, device = self.plan, self.expansion.device
        told = record.begins(state.plan, turn.case, plan.trainer, turn.repeat, plan.repeats, device)
        command = record.command(state.command, state.env)
        return f"{told}\n{command}\n{record.sets(turn.case.values)}"

    def _outcome(self, case: Case, log: Path, seen: Watched, kills: int) -> Outcome:
        told = read_log(log, self.where.formats)
        if seen.ended is not None:
            return Outcome(*seen.ended, told.step_time_s)
        outcome = judge(log, told, seen.exit_code, kills)
        wrong = belied(case, log) if outcome.status == OK else None
        return replace(outcome, status="fail", evidence=wrong) if wrong else outcome

    def _stop(self) -> str | None:
        if self.stopped_by is None:
            return None
        return f"stopped by {signal.Signals(self.stopped_by).name}"

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two launches of one plan would run everything twice, side by side."""
        with (self.where.root / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Locked(
                    "this plan is being launched already",
                    where=str(self.where.root),
                    hint="wait for it, or choose another folder with -o",
                ) from error
            yield

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def ask(number: int, frame: FrameType | None) -> None:
            self.stopped_by = number

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _tail(seen: Watched, outcome: Outcome) -> str:
    facts = {
        "wall_s": round(seen.wall_s, 3),
        "exit_code": seen.exit_code,
        "peak_memory_mb": seen.peak_memory >> 20,
        "left_behind": seen.left_behind or None,
    }
    return f"{record.measured(facts)}\n{record.ends(outcome.status, outcome.evidence)}\n"
