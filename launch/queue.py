"""The runs of a plan under a scheduler: submitted together, asked for, judged as they end."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..schema.errors import BenchError
from .cases import Case
from .environment import THREADS
from .folder import COMMAND, RUNNING, State
from .keeping import Keeper, Turn
from .launchers.scheduler import Job, JobState, Scheduler
from .outcome import CANCELLED, last_line
from .sweep import Stop, Told, alone, listening
from .watch import Watched

POLL_S = 2.0
_TICK_S = 0.1
_LOST_S = 120.0  # a job that the scheduler does not know for so long is lost
_GONE_S = 20.0
_JUDGED = frozenset(("ok", "fail"))  # what the log and the exit code tell better


@dataclass(slots=True)
class Open:
    """A run that waits or runs."""

    turn: Turn
    state: State
    asked: float = field(default_factory=time.monotonic)  # when it was last known
    began: float | None = None  # when it was first seen to print
    size: int = 0  # of its log, when it was last looked at
    spoke: float = 0.0


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
    _open: list[Open] = field(default_factory=list)

    def run(self, todo: Sequence[Turn]) -> None:
        """Submit what is not submitted yet, and wait for all; a signal cancels what is left."""
        with alone(self.keeper.where.root), listening(self.stop):
            fresh = [turn for turn in todo if not self._adopt(turn)]
            for number, group in enumerate(_alike(fresh), 1):
                self._submit(group, number)
            self._wait()

    def _adopt(self, turn: Turn) -> bool:
        """Go on with a job that an earlier launch has submitted."""
        state = turn.folder.state()
        if state is None or state.status != RUNNING or state.job_id is None:
            return False
        if self._state(state.job_id) is None:
            return False
        self._take(turn, state, 0)
        return True

    def _take(self, turn: Turn, state: State, size: int) -> None:
        self._open.append(Open(turn, state, size=size))
        self.begun(turn, state)

    def _submit(self, group: Sequence[Turn], number: int) -> None:
        states = [self.keeper.begin(turn) for turn in group]
        sizes = [turn.folder.log.stat().st_size for turn in group]
        job = self._job(group, states, number)
        job.script.write_text(self.scheduler.script(job), encoding="utf-8")
        answer = _run(self.scheduler.submit(job))
        ids = self.scheduler.job_ids(answer, len(group))
        if len(ids) != len(group):
            raise BenchError(
                "the scheduler did not take the job", why=answer.strip(), where=str(job.script)
            )
        for turn, state, job_id, size in zip(group, states, ids, sizes, strict=True):
            submitted = replace(state, job_id=job_id)
            turn.folder.save(submitted)
            self._take(turn, submitted, size)

    def _job(self, group: Sequence[Turn], states: Sequence[State], number: int) -> Job:
        """The job of runs with the same needs, in a folder with links to their logs."""
        case, limits = group[0].case, self.keeper.plan.limits
        folder = self.keeper.where.root / "jobs" / f"{states[0].token[:8]}-{number}"
        folder.mkdir(parents=True)
        for place, turn in enumerate(group):
            (folder / f"{place}.log").symlink_to(turn.folder.log)
        name = re.sub(r"\W+", "-", str(self.keeper.plan.name))
        asked = states[0].env.get(THREADS)
        threads = int(asked.split(",")[0]) if asked else None
        return Job(
            f"{name}-{number}", folder / "job.sh", [turn.folder.path / COMMAND for turn in group],
            [turn.folder.log for turn in group], case.nodes, case.ranks,
            threads, limits.time_s, limits.memory_gb, case.job,
        )  # fmt: skip

    def _wait(self) -> None:
        asked = 0.0
        while self._open:
            if self.stop.number is not None:
                self._cancel([one.state.job_id or "" for one in self._open])
                for one in list(self._open):
                    self._end(one, JobState("", CANCELLED), str(self.stop.told()))
                return
            self.tick()
            time.sleep(_TICK_S)
            if time.monotonic() - asked >= self.poll_s:
                for one in list(self._open):
                    self._look(one)
                asked = time.monotonic()

    def _look(self, one: Open) -> None:
        found = self._state(one.state.job_id or "")
        now = time.monotonic()
        if found is None:
            if now - one.asked > _LOST_S:
                self._end(one, JobState("", "fail"), "the scheduler does not know the job any more")
            return
        one.asked = now
        size = one.turn.folder.log.stat().st_size
        if size != one.size:
            one.began, one.size, one.spoke = one.began or now, size, now
        if found.status is not None:
            why = "" if found.status in _JUDGED else f"the scheduler says {found.word}"
            self._end(one, found, why)
            return
        idle = self.keeper.plan.limits.idle_s
        if one.began is not None and idle is not None and now - one.spoke > idle:
            self._cancel([one.state.job_id or ""])
            self._end(one, replace(found, status="hang"), f"no output for {idle:g} s")

    def _end(self, one: Open, found: JobState, why: str) -> None:
        log = one.turn.folder.log
        ended = (str(found.status), f"{why}; {last_line(log)}") if why else None
        seen = Watched(found.exit_code, found.elapsed_s, 0, 0, ended)
        self._open.remove(one)
        self.ended(one.turn, self.keeper.end(one.turn, one.state, seen, job=found.word or None))

    def _state(self, job_id: str) -> JobState | None:
        for words in self.scheduler.ask(job_id):
            try:
                answer = _run(words)
            except BenchError:
                continue  # no accounting, or a job that is not known there: the next may know
            found = self.scheduler.state(answer)
            if found is not None:
                return found
        return None

    def _cancel(self, job_ids: Sequence[str]) -> None:
        """Cancel, and wait until the jobs are gone: they may print a last word."""
        _run(self.scheduler.cancel(job_ids))
        until = time.monotonic() + _GONE_S
        left = list(job_ids)
        while left and time.monotonic() < until:
            states = {job_id: self._state(job_id) for job_id in left}
            left = [one for one, state in states.items() if state and state.status is None]
            time.sleep(_TICK_S * bool(left))


def _alike(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Runs with the same needs, in order: each group is one job."""
    groups: dict[str, list[Turn]] = {}
    for turn in turns:
        case = turn.case
        key = repr((case.nodes, case.ranks, _threads(case), sorted(case.job.items())))
        groups.setdefault(key, []).append(turn)
    return list(groups.values())


def _threads(case: Case) -> object:
    return case.env.get(THREADS, case.settings.get("threads"))


def _run(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError as error:
        raise BenchError(
            f"{words[0]} is not here", hint="launch on a machine that the scheduler runs on"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{words[0]} does not answer", why="no answer within 60 s") from error
    if done.returncode:
        raise BenchError(f"{words[0]} failed", why=(done.stderr or done.stdout).strip()[-400:])
    return done.stdout
