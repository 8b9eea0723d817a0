"""The runs of a plan under a scheduler: those of equal resources are submitted as one job, polled,
and judged as they end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..schema.errors import BenchError
from . import scheduler_client
from .cases import Case
from .folder import COMMAND, RUNNING, RunFolder, State, write_private
from .launcher import Job, JobState, Scheduler
from .outcome import CANCELLED, OK, hung_exit, last_line
from .plan import Plan
from .planned_runs import LiveIngest, PlannedRun, Recorder
from .process_probe import SEEN, THREADS, largest, read_observations
from .processes import RunObservations
from .scheduler_client import ANSWER, find_submission, submitting
from .sweep import Listener, StopRequest, stop_on_signals

POLL_S = 2.0
_TICK_S = 0.1
_LOST_S = 120.0  # a job unknown to the scheduler for this long is lost
_GONE_S, _ASK_S = 20.0, 0.5  # until cancelled jobs are gone; between queries
_JUDGED = frozenset(("ok", "fail"))  # states for which log and exit code are better evidence


@dataclass(slots=True)
class OpenRun:
    """A pending or running run."""

    planned: PlannedRun
    state: State
    known_at: float = field(default_factory=time.monotonic)  # when the scheduler last knew it
    began: float | None = None  # when it was first seen running or printing
    size: int = 0  # of its log at the last poll
    output_at: float = 0.0
    read: int = -1  # size of the log at the last check for its end

    @property
    def job_id(self) -> str:
        """The scheduler's id of the job."""
        return self.state.job_id or ""


@dataclass(slots=True)
class Queue:
    """The execution of a plan by a scheduler; same callbacks as `Sweep`."""

    recorder: Recorder
    scheduler: Scheduler
    stop: StopRequest
    on_begin: Listener = lambda planned, state: None
    on_end: Listener = lambda planned, state: None
    tick: Callable[[], None] = lambda: None
    poll_s: float = POLL_S
    left: str = ""  # why cancelled runs may still be active; they stay `running`
    _open: list[OpenRun] = field(default_factory=list)

    def run(self, todo: Sequence[PlannedRun]) -> None:
        """Submit the runs not yet submitted and wait for all; a signal cancels the open ones.

        A job rejected by the scheduler fails with its message; the others continue.
        """
        with stop_on_signals(self.stop):
            adopted = self._adopt(todo)
            fresh = [planned for planned in todo if planned.folder not in adopted]
            for number, group in enumerate(
                group_by_resources(fresh, scheduler_client.array_limit(self.scheduler)), 1
            ):
                if self.stop.number is None:
                    self._submit(group, number)
            self._wait()

    def _adopt(self, todo: Sequence[PlannedRun]) -> set[RunFolder]:
        """Resume jobs of an earlier launch, or collect their results."""
        submitted = []
        for planned in todo:
            state = planned.folder.state()
            if state is not None and state.status == RUNNING:
                job_id = state.job_id or self._recover_job_id(state.token)
                submitted += [(planned, replace(state, job_id=job_id))] if job_id else []
        found = scheduler_client.states(
            self.scheduler, [str(state.job_id) for _, state in submitted]
        )
        adopted = set()
        for planned, state in submitted:
            known = found[str(state.job_id)] is not None
            if known or self.recorder.is_over(planned.folder.log):
                adopted.add(planned.folder)
                planned.folder.save(state)
                self._take(planned, state, 0)
                if not known:
                    self._end_lost(self._open[-1])
        return adopted

    def _recover_job_id(self, token: str) -> str | None:
        """The id of a job whose launcher was killed before saving it."""
        submitted = find_submission(self._jobs, token, scheduler_client.ANSWER_S)
        if submitted is None:
            return None
        ids = self.scheduler.job_ids(submitted.answer, submitted.tasks)
        return ids[submitted.place] if len(ids) == submitted.tasks else None

    @property
    def _jobs(self) -> Path:
        return self.recorder.where.root / "jobs"

    def _take(self, planned: PlannedRun, state: State, size: int) -> None:
        self._open.append(OpenRun(planned, state, size=size))
        self.on_begin(planned, state)

    def _submit(self, group: Sequence[PlannedRun], number: int) -> None:
        states = [self.recorder.begin(planned) for planned in group]
        sizes = [planned.folder.log.stat().st_size for planned in group]
        folder = self._jobs / f"{states[0].token[:8]}-{number}"
        folder.mkdir(parents=True)
        for place, planned in enumerate(group):
            (folder / f"{place}.log").symlink_to(planned.folder.log)
        job = job_of(self.recorder.plan, group, number, folder)
        write_private(job.script, self.scheduler.script(job))
        try:
            with submitting(folder, [state.token for state in states]) as stream:
                scheduler_client.check_output(self.scheduler.submit(job), folder, stream)
            answer = (folder / ANSWER).read_text()
        except BenchError as error:
            message = error.why or (folder / ANSWER).read_text().strip()[-400:]
            return self._refuse(group, states, f"{error.what}: {message}")
        ids = self.scheduler.job_ids(answer, len(group))
        if len(ids) != len(group):
            return self._refuse(group, states, f"no job id in its answer: {answer.strip()[-200:]}")
        for planned, state, job_id, size in zip(group, states, ids, sizes, strict=True):
            submitted = replace(state, job_id=job_id)
            planned.folder.save(submitted)
            self._take(planned, submitted, size)

    def _refuse(self, group: Sequence[PlannedRun], states: Sequence[State], why: str) -> None:
        """End runs rejected by the scheduler, with its message as evidence."""
        for planned, state in zip(group, states, strict=True):
            seen = RunObservations(None, None, 0, 0, ("fail", f"job submission failed; {why}"))
            self.on_begin(planned, state)
            self.on_end(planned, self.recorder.end(planned, state, seen))

    def _wait(self) -> None:
        known_at, live = 0.0, LiveIngest(self.recorder)
        while self._open:
            if self.stop.number is not None:
                return self._stop()
            self.tick()
            time.sleep(_TICK_S)
            if time.monotonic() - known_at >= self.poll_s:
                found = scheduler_client.states(self.scheduler, [one.job_id for one in self._open])
                for one in list(self._open):
                    self._check(one, found[one.job_id])
                live.update([one.planned for one in self._open])
                known_at = time.monotonic()

    def _stop(self) -> None:
        """Cancel all jobs; one that the scheduler fails to cancel stays open."""
        last = [last_line(one.planned.folder.log) for one in self._open]
        left, why = self._cancel([one.job_id for one in self._open])
        for one, line in zip(list(self._open), last, strict=True):
            if one.job_id not in left:
                self._end(one, JobState("", CANCELLED), str(self.stop.reason()), line)
        self.left = why if left else ""

    def _check(self, open_run: OpenRun, job_state: JobState | None) -> None:
        now = time.monotonic()
        if job_state is None:
            if now - open_run.known_at > _LOST_S:
                self._end_lost(open_run)
            return
        open_run.known_at = now
        size = open_run.planned.folder.log.stat().st_size
        if size != open_run.size:
            open_run.began, open_run.size, open_run.output_at = open_run.began or now, size, now
        if job_state.status is not None:
            why = "" if job_state.status in _JUDGED else f"scheduler state {job_state.word}"
            self._end(open_run, job_state, why)
            return
        if open_run.began is None and job_state.word == self.scheduler.executing:
            open_run.began = open_run.output_at = now  # a job without any output hangs too
        if open_run.began is not None:
            self._end_if_silent(open_run, job_state, now - open_run.output_at)

    def _end_if_silent(self, open_run: OpenRun, job_state: JobState, silent_s: float) -> None:
        """Cancel a job that hangs, during training or at exit."""
        limits, log = self.recorder.plan.limits, open_run.planned.folder.log
        idle = limits.idle_s is not None and silent_s > limits.idle_s
        if not idle and (silent_s <= limits.exit_s or open_run.read == open_run.size):
            return
        open_run.read = open_run.size
        over = self.recorder.is_over(log)
        if not idle and not over:
            return
        last = last_line(log)  # read first: cancelling prints a line
        left, refused = self._cancel([open_run.job_id])
        why = f"no output for {limits.idle_s if idle else limits.exit_s:g} s"
        why += f"; possibly still running: {refused}" if left else ""
        status, why = hung_exit(why) if over else ("hang", why)
        self._end(open_run, replace(job_state, status=status), why, last)

    def _end_lost(self, open_run: OpenRun) -> None:
        """End a job that the scheduler no longer knows, by the evidence of its log."""
        over = self.recorder.is_over(open_run.planned.folder.log)
        state = JobState("", OK if over else "fail")
        self._end(open_run, state, "the scheduler no longer knows the job")

    def _end(self, open_run: OpenRun, job_state: JobState, why: str, last: str = "") -> None:
        folder = open_run.planned.folder
        evidence = f"{why}; {last or last_line(folder.log)}"
        observations = read_observations(folder.path / SEEN)
        peak = sum(sight.peak_kb for sight in largest(observations)) << 10
        ended = (str(job_state.status), evidence) if why else None
        seen = RunObservations(
            job_state.exit_code, job_state.elapsed_s, peak, 0, ended, observations
        )
        self._open.remove(open_run)
        self.on_end(
            open_run.planned,
            self.recorder.end(open_run.planned, open_run.state, seen, job=job_state.word or None),
        )

    def _cancel(self, job_ids: Sequence[str]) -> tuple[list[str], str]:
        """Cancel, and wait until the jobs are gone, since they may still print.

        Returns those that may still run, and why.
        """
        why = f"still present after {_GONE_S:g} s"
        try:
            scheduler_client.check_output(self.scheduler.cancel(job_ids))
        except BenchError as error:
            why = f"{error.what}: {error.why}"
        left, until = list(job_ids), time.monotonic() + _GONE_S
        while left and time.monotonic() < until:
            found = scheduler_client.states(self.scheduler, left)
            left = [one for one in left if (state := found[one]) and state.status is None]
            time.sleep(_ASK_S * bool(left))
        return left, why


SCRIPT = "job.sh"


def group_by_resources(planned_runs: Sequence[PlannedRun], most: int) -> list[list[PlannedRun]]:
    """Groups of at most `most` runs with the same resources, in order: each becomes a job."""
    groups: dict[str, list[PlannedRun]] = {}
    for planned in planned_runs:
        case = planned.case
        key = repr((case.nodes, case.ranks, _threads(case), sorted(case.job.items())))
        groups.setdefault(key, []).append(planned)
    return [
        group[start : start + most]
        for group in groups.values()
        for start in range(0, len(group), most)
    ]


def job_of(plan: Plan, group: Sequence[PlannedRun], number: int, folder: Path) -> Job:
    """The job of such a group, with its script in `folder`; writes nothing."""
    case, limits = group[0].case, plan.limits
    name = re.sub(r"[^A-Za-z0-9_]+", "-", str(plan.name))
    return Job(
        f"{name}-{number}", folder / SCRIPT, [planned.folder.path / COMMAND for planned in group],
        [planned.folder.log for planned in group], case.nodes, case.ranks, _threads(case),
        limits.time_s, limits.memory_gb, case.job,
    )  # fmt: skip


def _threads(case: Case) -> int | None:
    """Threads of each process; None if not stated: the cores of a node are unknown here."""
    threads = case.env.get(THREADS) or case.settings.get("threads")
    return int(str(threads).split(",")[0]) if threads else None
