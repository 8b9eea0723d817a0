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
from ..schema.errors import BenchError
from ..vocabulary.secrets import redact, redact_text
from . import environment, process_probe, record
from .cases import Case, Expansion
from .environment import UNBUFFERED, chosen
from .folder import RUNNING, RunFolder, State, as_script, run_folder
from .outcome import CANCELLED, OK, Outcome, cut_off, is_over, judge, last_line, read_log
from .plan import Plan
from .process_probe import PRELOAD, SEEN, allocators, preloaded, shell
from .processes import TOKEN
from .program import Program
from .watch import Watched


@dataclass(frozen=True, slots=True)
class PlannedRun:
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


def planned_runs(plan: Plan, cases: Sequence[Case], root: Path) -> list[PlannedRun]:
    """Every run, repeats in turns and each round in the other direction: drift hits all alike."""
    made = []
    for repeat in range(1, plan.repeats + 1):
        for case in cases if repeat % 2 else reversed(cases):
            made.append(PlannedRun(case, repeat, run_folder(root, case, repeat)))
    return made


def left_to_do(every: Sequence[PlannedRun], retry: bool) -> list[PlannedRun]:
    """The runs that are missing: never begun, broken off, cancelled; with `retry` failed ones."""

    def done(planned: PlannedRun) -> bool:
        state = planned.folder.state()
        if state is None or state.status in (RUNNING, CANCELLED):
            return False
        return state.status == OK or not retry

    return [planned for planned in every if not done(planned)]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Begins a run's log and state, and ends them."""

    plan: Plan
    expansion: Expansion
    program: Program
    where: Where
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def begin(self, planned: PlannedRun) -> State:
        """The folder, the head of the log, the state `running`."""
        words, token = self.program.command(planned.case), uuid.uuid4().hex
        self._close(planned)
        env = chosen(planned.case, self.inherited, self.program.launcher.is_local)
        attempt = planned.folder.begin(self._script(planned, words, env, token))
        state = State(
            plan=str(self.plan.name), case=planned.case.id, label=planned.case.label,
            repeat=planned.repeat, status=RUNNING, token=token, attempt=attempt,
            settings=planned.case.settings,
            env={name: redact(name, value) for name, value in env.items()},
            command=redact_text(shlex.join(words)),
        )  # fmt: skip
        start = record.begins(
            state.plan, planned.case, self.plan.trainer, planned.repeat, self.plan.repeats,
            attempt=attempt, command=state.command, framework=self.program.trainer.framework,
            **self._machine(),
        )  # fmt: skip
        head = f"{start}\n{record.command(words, env)}\n{record.sets(planned.case.values)}"
        head += record.sets(planned.case.job, "job")
        _append(planned.folder.log, head)
        planned.folder.save(state)
        return state

    def _close(self, planned: PlannedRun) -> None:
        """An attempt whose launcher was killed ends here: else it would be said to run for ever."""
        state, log = planned.folder.state(), planned.folder.log
        if state is None or state.status != RUNNING or not log.exists():
            return  # one that printed its end has been verified by nobody: it is no repeat either
        why = redact_text(f"launcher died before the run ended; {last_line(log)}")
        _append(log, f"{record.ends(CANCELLED, why)}\n")
        planned.folder.save(replace(state, status=CANCELLED, evidence=why))

    def _script(
        self, planned: PlannedRun, words: Sequence[str], env: Mapping[str, str], token: str
    ) -> str:
        """The run as a script; in a job it also tells what its processes are."""
        env = {UNBUFFERED: "1", **env}
        if self.program.launcher.is_local:
            return as_script(words, env, self.where.cwd)
        before = shell(token, planned.case, planned.folder.path / SEEN)
        return as_script(words, {**env, TOKEN: token}, self.where.cwd, before)

    def _machine(self) -> dict[str, object]:
        """What is known of the machine, if it is this one."""
        return (
            {"device": self.expansion.device, "nodes": 1} if self.program.launcher.is_local else {}
        )

    def end(
        self,
        planned: PlannedRun,
        state: State,
        seen: Watched,
        kills: int = 0,
        job: str | None = None,
    ) -> State:
        """The tail of the log, the outcome, and the run into the warehouse."""
        log = planned.folder.log
        outcome = self._outcome(planned.case, log, seen, kills)
        outcome = replace(outcome, evidence=redact_text(outcome.evidence))
        wall_s = None if seen.wall_s is None else round(seen.wall_s, 3)
        facts = {
            "wall_s": wall_s,
            "exit_code": seen.exit_code,
            "peak_memory_mb": seen.peak_memory >> 20 or None,
            "left_behind": seen.left_behind or None,
            "allocator_seen": allocators(seen.observations),
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
        planned.folder.save(state)
        with suppress(BenchError, OSError):  # `store` at the end of it all says so
            self.store([planned])
        return state

    def store(self, every: Sequence[PlannedRun], *, live: bool = False) -> None:
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
        parsed = read_log(log, self.where.formats)
        if seen.ended is None:
            outcome = judge(log, parsed, seen.exit_code, kills)
        else:
            outcome = cut_off(parsed, *seen.ended)
        if outcome.status != OK:
            return outcome
        wrong = environment.mismatch(case, log) or process_probe.mismatch(case, seen.observations)
        if wrong:
            return replace(outcome, status="fail", evidence=wrong)
        if preloaded(case) and not seen.observations:
            unseen = f"loaded libraries unknown: {PRELOAD} not verified"
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
        raise BenchError("cannot write the log of a run", why=why, where=str(log)) from error
