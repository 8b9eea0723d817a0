"""Bookkeeping of a plan: the folder, log and state of each run, and its ingest."""

from __future__ import annotations

import os
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..ingest.files.pipeline import ingest
from ..schema.errors import BenchError
from ..vocabulary.secrets import redact, redact_text
from . import environment, process_probe
from .cases import Case, Expansion
from .environment import UNBUFFERED, run_variables
from .folder import (
    RUNNING,
    RunFolder,
    State,
    as_script,
    command_line,
    end_line,
    measurement_line,
    run_folder,
    setting_lines,
    start_line,
)
from .outcome import (
    CANCELLED,
    OK,
    Outcome,
    is_over,
    last_line,
    outcome_of_exit,
    outcome_of_stop,
    read_log,
)
from .plan import Plan
from .process_probe import PRELOAD, SEEN, allocators, preloaded, shell_probe
from .processes import TOKEN, RunObservations
from .program import Program


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to execute: a case, the number of its repeat, its folder."""

    case: Case
    repeat: int
    folder: RunFolder


@dataclass(frozen=True, slots=True)
class PlanPaths:
    """The folder of a plan's runs, their working folder, and the warehouse they go into."""

    root: Path
    cwd: Path
    db: Path
    lock_timeout: float
    formats: Path | None = None


def planned_runs(plan: Plan, cases: Sequence[Case], root: Path) -> list[PlannedRun]:
    """All runs, one round per repeat in alternating order: drift affects all cases alike."""
    made = []
    for repeat in range(1, plan.repeats + 1):
        for case in cases if repeat % 2 else reversed(cases):
            made.append(PlannedRun(case, repeat, run_folder(root, case, repeat)))
    return made


def pending_runs(every: Sequence[PlannedRun], retry: bool) -> list[PlannedRun]:
    """The runs not begun, interrupted or cancelled; with `retry` also failed ones."""

    def done(planned: PlannedRun) -> bool:
        state = planned.folder.state()
        if state is None or state.status in (RUNNING, CANCELLED):
            return False
        return state.status == OK or not retry

    return [planned for planned in every if not done(planned)]


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes a run's log and state at its begin and end."""

    plan: Plan
    expansion: Expansion
    program: Program
    where: PlanPaths
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def begin(self, planned: PlannedRun) -> State:
        """Create the folder, the head of the log, and the state `running`."""
        words, token = self.program.command(planned.case), uuid.uuid4().hex
        self._close(planned)
        env = run_variables(planned.case, self.inherited, self.program.launcher.is_local)
        attempt = planned.folder.begin(self._script(planned, words, env, token))
        state = State(
            plan=str(self.plan.name), case=planned.case.id, label=planned.case.label,
            repeat=planned.repeat, status=RUNNING, token=token, attempt=attempt,
            settings=planned.case.settings,
            env={name: redact(name, value) for name, value in env.items()},
            command=redact_text(shlex.join(words)),
        )  # fmt: skip
        start = start_line(
            state.plan, planned.case, self.plan.trainer, planned.repeat, self.plan.repeats,
            attempt=attempt, command=state.command, framework=self.program.trainer.framework,
            **self._machine(),
        )  # fmt: skip
        head = f"{start}\n{command_line(words, env)}\n"
        head += setting_lines(planned.case.values)
        head += setting_lines(planned.case.job, "job")
        _append(planned.folder.log, head)
        planned.folder.save(state)
        return state

    def _close(self, planned: PlannedRun) -> None:
        """End an attempt whose launcher was killed: else it would count as running for ever."""
        state, log = planned.folder.state(), planned.folder.log
        if state is None or state.status != RUNNING or not log.exists():
            return
        # Cancelled even if it completed: nobody has verified it, so it is not a repeat.
        why = redact_text(f"launcher died before the run ended; {last_line(log)}")
        _append(log, f"{end_line(CANCELLED, why)}\n")
        planned.folder.save(replace(state, status=CANCELLED, evidence=why))

    def _script(
        self, planned: PlannedRun, words: Sequence[str], env: Mapping[str, str], token: str
    ) -> str:
        """The command as a script; in a job it also records its processes."""
        env = {UNBUFFERED: "1", **env}
        if self.program.launcher.is_local:
            return as_script(words, env, self.where.cwd)
        before = shell_probe(token, planned.case, planned.folder.path / SEEN)
        return as_script(words, {**env, TOKEN: token}, self.where.cwd, before)

    def _machine(self) -> dict[str, object]:
        """Device and nodes, known only for this machine."""
        return (
            {"device": self.expansion.device, "nodes": 1} if self.program.launcher.is_local else {}
        )

    def end(
        self,
        planned: PlannedRun,
        state: State,
        seen: RunObservations,
        kills: int = 0,
        job: str | None = None,
    ) -> State:
        """Write the tail of the log and the outcome, and ingest the run."""
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
        end = end_line(outcome.status, outcome.evidence)
        _append(log, f"{measurement_line(facts)}\n{end}\n")
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
        with suppress(BenchError, OSError):  # raised again by the final `store`
            self.store([planned])
        return state

    def store(self, runs: Sequence[PlannedRun], *, live: bool = False) -> None:
        """Ingest the logs; unchanged ones add nothing. Raises Locked.

        For active runs (`live`) only complete lines are read, and a locked warehouse is skipped.
        """
        logs = [log for run in runs for log in (*run.folder.earlier(), run.folder.log)
                if log.exists()]  # fmt: skip
        where = self.where
        patience = 0.0 if live else where.lock_timeout
        ingest(logs, where.db, lock_timeout=patience, formats=where.formats, live=live)

    def is_over(self, log: Path) -> bool:
        """Whether a log states the end of the training: only the exit is left."""
        return is_over(log, self.where.formats)

    def _outcome(self, case: Case, log: Path, seen: RunObservations, kills: int) -> Outcome:
        parsed = read_log(log, self.where.formats)
        if seen.ended is None:
            outcome = outcome_of_exit(log, parsed, seen.exit_code, kills)
        else:
            outcome = outcome_of_stop(parsed, *seen.ended)
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
    """Append lines to a log whose last line may be incomplete. Raises BenchError."""
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


EVERY_S = 15.0
_SHARE = 50  # at most 1/50 of the time is spent on ingest: runs need the cores


@dataclass(slots=True)
class LiveIngest:
    """Ingests the logs of active runs; errors are reported only once a run has ended."""

    recorder: Recorder
    _due: float = field(default_factory=lambda: time.monotonic() + EVERY_S)
    _sizes: dict[str, int] = field(default_factory=dict)

    def update(self, active: Sequence[PlannedRun]) -> None:
        """Ingest complete new lines of the logs, if the interval is over."""
        began = time.monotonic()
        if began < self._due:
            return
        sizes = {planned.folder.path.name: planned.folder.size() for planned in active}
        grown = [planned for planned in active if self._grew(planned.folder.path.name, sizes)]
        if grown:
            with suppress(BenchError):
                self.recorder.store(grown, live=True)
        self._sizes = sizes
        now = time.monotonic()
        self._due = now + max(EVERY_S, _SHARE * (now - began))

    def _grew(self, name: str, sizes: dict[str, int]) -> bool:
        return sizes[name] != self._sizes.get(name)
