"""The books of a plan: each run's folder, log, state and place in the warehouse."""

from __future__ import annotations

import os
import shlex
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..ingest.pipeline import ingest
from ..ingest.secrets import redact, redact_text
from ..schema.errors import BenchError
from . import environment, record, witness
from .cases import Case, Expansion
from .environment import UNBUFFERED, chosen
from .folder import RUNNING, RunFolder, State, as_script, run_folder
from .outcome import CANCELLED, OK, Outcome, cut_off, is_over, judge, last_line, read_log
from .plan import Plan
from .processes import TOKEN
from .program import Program
from .watch import Watched
from .witness import PRELOAD, SEEN, allocators, asked, shell


@dataclass(frozen=True, slots=True)
class Turn:
    """One run to make: a case, which of its repeats, where."""

    case: Case
    repeat: int
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class Where:
    """Where a plan's runs lie, where they run, and the warehouse that they go into."""

    root: Path
    cwd: Path
    db: Path
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


@dataclass(frozen=True, slots=True)
class Keeper:
    """Begins a run's log and state, and ends them."""

    plan: Plan
    expansion: Expansion
    program: Program
    where: Where
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def begin(self, turn: Turn) -> State:
        """The folder, the head of the log, the state `running`."""
        words, token = self.program.command(turn.case), uuid.uuid4().hex
        self._close(turn)
        env = chosen(turn.case, self.inherited, self.program.launcher.here)
        attempt = turn.folder.begin(self._script(turn, words, env, token))
        state = State(
            plan=str(self.plan.name), case=turn.case.id, label=turn.case.label, repeat=turn.repeat,
            status=RUNNING, token=token, attempt=attempt, settings=turn.case.settings,
            env={name: redact(name, value) for name, value in env.items()},
            command=redact_text(shlex.join(words)),
        )  # fmt: skip
        told = record.begins(
            state.plan, turn.case, self.plan.trainer, turn.repeat, self.plan.repeats,
            attempt=attempt, command=state.command, framework=self.program.trainer.framework,
            **self._here(),
        )  # fmt: skip
        head = f"{told}\n{record.command(words, env)}\n{record.sets(turn.case.values)}"
        head += record.sets(turn.case.job, "job")
        _append(turn.folder.log, head)
        turn.folder.save(state)
        return state

    def _close(self, turn: Turn) -> None:
        """An attempt whose launcher was killed ends here: else it would be said to run for ever."""
        state, log = turn.folder.state(), turn.folder.log
        if state is None or state.status != RUNNING or not log.exists():
            return  # one that printed its end has been verified by nobody: it is no repeat either
        why = redact_text(f"its launcher was gone before it ended; {last_line(log)}")
        _append(log, f"{record.ends(CANCELLED, why)}\n")
        turn.folder.save(replace(state, status=CANCELLED, evidence=why))

    def _script(self, turn: Turn, words: Sequence[str], env: Mapping[str, str], token: str) -> str:
        """The run as a script; in a job it also tells what its processes are."""
        env = {UNBUFFERED: "1", **env}
        if self.program.launcher.here:
            return as_script(words, env, self.where.cwd)
        before = shell(token, turn.case, turn.folder.path / SEEN)
        return as_script(words, {**env, TOKEN: token}, self.where.cwd, before)

    def _here(self) -> dict[str, object]:
        """What is known of the machine, if it is this one."""
        return {"device": self.expansion.device, "nodes": 1} if self.program.launcher.here else {}

    def end(
        self, turn: Turn, state: State, seen: Watched, kills: int = 0, job: str | None = None
    ) -> State:
        """The tail of the log, the outcome, and the run into the warehouse."""
        log = turn.folder.log
        outcome = self._outcome(turn.case, log, seen, kills)
        outcome = replace(outcome, evidence=redact_text(outcome.evidence))
        wall_s = None if seen.wall_s is None else round(seen.wall_s, 3)
        facts = {
            "wall_s": wall_s,
            "exit_code": seen.exit_code,
            "peak_memory_mb": seen.peak_memory >> 20 or None,
            "left_behind": seen.left_behind or None,
            "allocator_seen": allocators(seen.sights),
            "job_id": state.job_id,
            "state": job,
        }
        _append(log, f"{record.measured(facts)}\n{record.ends(outcome.status, outcome.evidence)}\n")
        state = replace(
            state,
            status=outcome.status,
            evidence=outcome.evidence,
            exit_code=seen.exit_code,
            wall_s=wall_s,
            peak_memory_mb=seen.peak_memory >> 20 or None,
            step_time_s=outcome.step_time_s,
        )
        turn.folder.save(state)
        with suppress(BenchError, OSError):  # `store` at the end of it all says so
            self.store([turn])
        return state

    def store(self, every: Sequence[Turn], *, live: bool = False) -> None:
        """The logs into the warehouse; those that are known add nothing. Raises Locked.

        Of runs that go on (`live`) whole lines count, and nobody waits for the warehouse.
        """
        logs = [log for t in every for log in (*t.folder.earlier(), t.folder.log) if log.exists()]
        where = self.where
        patience = 0.0 if live else where.lock_timeout
        ingest(logs, where.db, lock_timeout=patience, formats=where.formats, live=live)

    def is_over(self, log: Path) -> bool:
        """Whether a log says that its training is done: nothing is left but the exit."""
        return is_over(log, self.where.formats)

    def _outcome(self, case: Case, log: Path, seen: Watched, kills: int) -> Outcome:
        told = read_log(log, self.where.formats)
        if seen.ended is None:
            outcome = judge(log, told, seen.exit_code, kills)
        else:
            outcome = cut_off(told, *seen.ended)
        if outcome.status != OK:
            return outcome
        wrong = environment.belied(case, log) or witness.belied(case, seen.sights)
        if wrong:
            return replace(outcome, status="fail", evidence=wrong)
        if asked(case) and not seen.sights:
            unseen = f"nobody saw which libraries were loaded: {PRELOAD} is not verified"
            return replace(outcome, evidence="; ".join(filter(None, (outcome.evidence, unseen))))
        return outcome


def _append(log: Path, text: str) -> None:
    """Whole lines behind what is there, which may end without a line end. Raises BenchError."""
    try:
        with log.open("a+b") as stream:
            if stream.tell():
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.write(b"\n")
            stream.write(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        why = error.strerror or str(error)
        raise BenchError("the log of a run cannot be written", why=why, where=str(log)) from error
