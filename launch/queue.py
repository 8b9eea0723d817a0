"""The runs of a plan under a scheduler: submitted together, asked for, judged as they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..schema.errors import BenchError
from . import asking
from .folder import RUNNING, RunFolder, State, write_private
from .growing import Growing
from .jobs import alike, job_of
from .keeping import Keeper, Turn
from .launchers.scheduler import EXECUTING, JobState, Scheduler
from .outcome import CANCELLED, OK, hung_exit, last_line
from .submitted import ANSWER, answered, submitting
from .sweep import Stop, Told, listening
from .watch import Watched
from .witness import SEEN, largest, told

POLL_S = 2.0
_TICK_S = 0.1
_LOST_S = 120.0  # a job that the scheduler does not know for so long is lost
_GONE_S, _ASK_S = 20.0, 0.5  # until what was cancelled is gone, and between questions
_JUDGED = frozenset(("ok", "fail"))  # what the log and the exit code tell better


@dataclass(slots=True)
class Open:
    """A run that waits or runs."""

    turn: Turn
    state: State
    asked: float = field(default_factory=time.monotonic)  # when it was last known
    began: float | None = None  # when it was first seen to run, or to print
    size: int = 0  # of its log, when it was last looked at
    spoke: float = 0.0
    read: int = -1  # the size at which it was last asked whether it is over

    @property
    def job_id(self) -> str:
        """As the scheduler names it."""
        return self.state.job_id or ""


@dataclass(slots=True)
class Queue:
    """A plan in a scheduler's hands; told of every run as a sweep on this machine is."""

    keeper: Keeper
    scheduler: Scheduler
    stop: Stop
    begun: Told = lambda turn, state: None
    ended: Told = lambda turn, state: None
    tick: Callable[[], None] = lambda: None
    poll_s: float = POLL_S
    left: str = ""  # why runs may go on that were to be cancelled; they stay `running`
    _open: list[Open] = field(default_factory=list)

    def run(self, todo: Sequence[Turn]) -> None:
        """Submit what is not submitted yet, and wait for all; a signal cancels what is left.

        A job that the scheduler refuses fails with its words; the others are watched all the same.
        """
        with listening(self.stop):
            adopted = self._adopt(todo)
            fresh = [turn for turn in todo if turn.folder not in adopted]
            for number, group in enumerate(alike(fresh, asking.most(self.scheduler)), 1):
                if self.stop.number is None:
                    self._submit(group, number)
            self._wait()

    def _adopt(self, todo: Sequence[Turn]) -> set[RunFolder]:
        """Go on with jobs that an earlier launch has submitted, or with what they left."""
        submitted = []
        for turn in todo:
            state = turn.folder.state()
            if state is not None and state.status == RUNNING:
                job_id = state.job_id or self._found_again(state.token)
                submitted += [(turn, replace(state, job_id=job_id))] if job_id else []
        found = asking.states(self.scheduler, [str(state.job_id) for _, state in submitted])
        adopted = set()
        for turn, state in submitted:
            known = found[str(state.job_id)] is not None
            if known or self.keeper.is_over(turn.folder.log):
                adopted.add(turn.folder)
                turn.folder.save(state)
                self._take(turn, state, 0)
                if not known:
                    self._lose(self._open[-1])
        return adopted

    def _found_again(self, token: str) -> str | None:
        """The id of a job whose launcher was killed before it had noted it."""
        found = answered(self._jobs, token, asking.ANSWER_S)
        if found is None:
            return None
        ids = self.scheduler.job_ids(found.answer, found.tasks)
        return ids[found.place] if len(ids) == found.tasks else None

    @property
    def _jobs(self) -> Path:
        return self.keeper.where.root / "jobs"

    def _take(self, turn: Turn, state: State, size: int) -> None:
        self._open.append(Open(turn, state, size=size))
        self.begun(turn, state)

    def _submit(self, group: Sequence[Turn], number: int) -> None:
        states = [self.keeper.begin(turn) for turn in group]
        sizes = [turn.folder.log.stat().st_size for turn in group]
        folder = self._jobs / f"{states[0].token[:8]}-{number}"
        folder.mkdir(parents=True)
        for place, turn in enumerate(group):
            (folder / f"{place}.log").symlink_to(turn.folder.log)
        job = job_of(self.keeper.plan, group, number, folder)
        write_private(job.script, self.scheduler.script(job))
        try:
            with submitting(folder, [state.token for state in states]) as stream:
                asking.say(self.scheduler.submit(job), folder, stream)
            answer = (folder / ANSWER).read_text()
        except BenchError as error:
            said = error.why or (folder / ANSWER).read_text().strip()[-400:]
            return self._refuse(group, states, f"{error.what}: {said}")
        ids = self.scheduler.job_ids(answer, len(group))
        if len(ids) != len(group):
            return self._refuse(group, states, f"its answer has no job id: {answer.strip()[-200:]}")
        for turn, state, job_id, size in zip(group, states, ids, sizes, strict=True):
            submitted = replace(state, job_id=job_id)
            turn.folder.save(submitted)
            self._take(turn, submitted, size)

    def _refuse(self, group: Sequence[Turn], states: Sequence[State], why: str) -> None:
        """Runs that the scheduler did not take: each ends here, with the scheduler's words."""
        for turn, state in zip(group, states, strict=True):
            seen = Watched(None, None, 0, 0, ("fail", f"the scheduler did not take the job; {why}"))
            self.begun(turn, state)
            self.ended(turn, self.keeper.end(turn, state, seen))

    def _wait(self) -> None:
        asked, growing = 0.0, Growing(self.keeper)
        while self._open:
            if self.stop.number is not None:
                return self._stop()
            self.tick()
            time.sleep(_TICK_S)
            if time.monotonic() - asked >= self.poll_s:
                found = asking.states(self.scheduler, [one.job_id for one in self._open])
                for one in list(self._open):
                    self._look(one, found[one.job_id])
                growing.look([one.turn for one in self._open])
                asked = time.monotonic()

    def _stop(self) -> None:
        """Cancel everything. What the scheduler does not give up may run on: none ends here."""
        last = [last_line(one.turn.folder.log) for one in self._open]
        left, why = self._cancel([one.job_id for one in self._open])
        for one, line in zip(list(self._open), last, strict=True):
            if one.job_id not in left:
                self._end(one, JobState("", CANCELLED), str(self.stop.told()), line)
        self.left = why if left else ""

    def _look(self, one: Open, found: JobState | None) -> None:
        now = time.monotonic()
        if found is None:
            if now - one.asked > _LOST_S:
                self._lose(one)
            return
        one.asked = now
        size = one.turn.folder.log.stat().st_size
        if size != one.size:
            one.began, one.size, one.spoke = one.began or now, size, now
        if found.status is not None:
            why = "" if found.status in _JUDGED else f"the scheduler says {found.word}"
            self._end(one, found, why)
            return
        if one.began is None and found.word in EXECUTING:
            one.began = one.spoke = now  # a job that never prints hangs too
        if one.began is not None:
            self._end_if_silent(one, found, now - one.spoke)

    def _end_if_silent(self, one: Open, found: JobState, silent_s: float) -> None:
        """Cancel a job that hangs, or whose exit does."""
        limits, log = self.keeper.plan.limits, one.turn.folder.log
        idle = limits.idle_s is not None and silent_s > limits.idle_s
        if not idle and (silent_s <= limits.exit_s or one.read == one.size):
            return
        one.read = one.size
        over = self.keeper.is_over(log)
        if not idle and not over:
            return
        last = last_line(log)  # cancelling prints a line, which is no cause
        left, refused = self._cancel([one.job_id])
        why = f"no output for {limits.idle_s if idle else limits.exit_s:g} s"
        why += f"; it may still run: {refused}" if left else ""
        status, why = hung_exit(why) if over else ("hang", why)
        self._end(one, replace(found, status=status), why, last)

    def _lose(self, one: Open) -> None:
        """A job that the scheduler does not know any more: its log is all that tells."""
        over = self.keeper.is_over(one.turn.folder.log)
        state = JobState("", OK if over else "fail")
        self._end(one, state, "the scheduler does not know the job any more")

    def _end(self, one: Open, found: JobState, why: str, last: str = "") -> None:
        folder = one.turn.folder
        evidence = f"{why}; {last or last_line(folder.log)}"
        sights = told(folder.path / SEEN)
        peak = sum(sight.peak_kb for sight in largest(sights)) << 10
        ended = (str(found.status), evidence) if why else None
        seen = Watched(found.exit_code, found.elapsed_s, peak, 0, ended, sights)
        self._open.remove(one)
        self.ended(one.turn, self.keeper.end(one.turn, one.state, seen, job=found.word or None))

    def _cancel(self, job_ids: Sequence[str]) -> tuple[list[str], str]:
        """Cancel, and wait until the jobs are gone: they may print a last word.

        Those that may still run, and why.
        """
        why = f"not gone within {_GONE_S:g} s"
        try:
            asking.say(self.scheduler.cancel(job_ids))
        except BenchError as error:
            why = f"{error.what}: {error.why}"
        left, until = list(job_ids), time.monotonic() + _GONE_S
        while left and time.monotonic() < until:
            found = asking.states(self.scheduler, left)
            left = [one for one in left if (state := found[one]) and state.status is None]
            time.sleep(_ASK_S * bool(left))
        return left, why
