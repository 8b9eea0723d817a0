"""The processes of one run: started in their own session, watched for limits, and all ended.

A process may leave its group, its session and its parent. So a run's processes are the
descendants of the command, earlier descendants, those reparented to us when their parents ended
(we are a subreaper), and those with the run's token in their environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import psutil

from .outcome import CANCELLED, hung_exit, last_line
from .plan import Limits
from .process_probe import Observation, ProcessProbe

TOKEN = "BENCH_LAUNCH_RUN"
GRACE_S = 5.0
_KILLING_S = 60.0
_POLL_S = 0.05
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None)  # before any fork: a forked child must not load libraries
_GONE = (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied)


class Processes:
    """All processes started by one command."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._seen: dict[int, psutil.Process] = {}
        self._before = set(psutil.Process().children())
        self._child: subprocess.Popen[bytes] | None = None

    def start(
        self, command: Sequence[str], env: Mapping[str, str], folder: Path, output: BinaryIO
    ) -> None:
        """Start the command with its output redirected to `output`. Raises OSError."""
        if sys.platform == "linux":
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._child = subprocess.Popen(
            command,
            env={**env, TOKEN: self.token},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )

    def poll(self) -> int | None:
        """The command's exit code, negative for a signal; None while it runs."""
        return None if self._child is None else self._child.poll()

    def alive(self) -> list[psutil.Process]:
        """The running descendants and reparented processes; they are remembered."""
        with suppress(*_GONE):
            for process in psutil.Process().children(recursive=True):
                if not self._is_older(process):
                    self._seen[process.pid] = process
        return [process for process in self._seen.values() if _runs(process)]

    def end(self, grace_s: float = GRACE_S) -> int:
        """Send TERM to all, after `grace_s` KILL until none is left; returns their number.

        A process that hangs in the kernel is given up after a minute.
        """
        found = self._all()
        _signal(found, signal.SIGTERM)
        self._wait(time.monotonic() + grace_s)
        given_up = time.monotonic() + _KILLING_S
        while (stubborn := self._all()) and time.monotonic() < given_up:
            _signal(stubborn, signal.SIGKILL)
            self._wait(time.monotonic() + 1.0)
        self._reap()
        return len(found)

    def _reap(self) -> None:
        """Reap ended processes reparented to us; the command itself is reaped by `poll`."""
        for process in psutil.Process().children():
            own = self._child is not None and process.pid == self._child.pid
            if process.pid in self._seen and not own and not _runs(process):
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)

    def _all(self) -> list[psutil.Process]:
        """All processes, including those known only by their environment."""
        found = {process.pid: process for process in self.alive()}
        for process in psutil.process_iter():
            if process.pid not in found and process.pid != os.getpid() and self._carries(process):
                found[process.pid] = self._seen[process.pid] = process
        return list(found.values())

    def _carries(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(TOKEN) == self.token and _runs(process)
        except (*_GONE, OSError):
            return False

    def _is_older(self, process: psutil.Process) -> bool:
        """Whether the process or an ancestor is older than the command."""
        if not self._before:
            return False
        return process in self._before or not self._before.isdisjoint(process.parents())

    def _wait(self, until: float) -> None:
        while time.monotonic() < until:
            if self._child is not None:
                self._child.poll()
            if not any(_runs(process) for process in self._seen.values()):
                return
            time.sleep(_POLL_S)


def _runs(process: psutil.Process) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        if process.status() != psutil.STATUS_ZOMBIE:
            return process.is_running()
    except _GONE:
        return False
    return False


def memory(processes: Iterable[psutil.Process]) -> int:
    """Resident bytes of all processes; shared pages count once per process."""
    return sum(_bytes(process) for process in processes)


def _bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except _GONE:
        return 0


def _groups(processes: Iterable[psutil.Process]) -> Iterator[int]:
    for process in processes:
        with suppress(ProcessLookupError):
            yield os.getpgid(process.pid)


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    for group in set(_groups(processes)) - {os.getpgrp()}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for process in processes:  # a process of our own group
        with suppress(*_GONE):
            process.send_signal(number)


def _prctl(option: int, value: int) -> None:
    _LIBC.prctl(option, value)


def _die_with_parent() -> None:
    """In the child: die with the launcher, even if that is killed without cleanup."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_LOOK_S = 0.1
_PROBE_S = 0.5  # between observations of the processes
_GB = 1 << 30


@dataclass(frozen=True, slots=True)
class RunObservations:
    """Observations of a run; `ended` is why we ended it, None if it ended by itself."""

    exit_code: int | None
    wall_s: float | None
    peak_memory: int  # bytes
    left_behind: int  # processes left when the command had ended
    ended: tuple[str, str] | None
    observations: tuple[Observation, ...] = ()  # of its processes


@dataclass(slots=True)
class Watch:
    """Monitors the output, memory and time of processes."""

    processes: Processes
    limits: Limits
    log: Path
    stop_reason: Callable[[], str | None]
    tick: Callable[[], None]
    is_over: Callable[[Path], bool]  # whether a log states the end of its training
    probe: ProcessProbe
    _began: float = field(default_factory=time.monotonic)
    _peak: int = 0
    _probed_at: float = 0.0
    _size: int = -1
    _checked_size: int = -1  # size of the log at the last check for its end
    _output_at: float = field(default_factory=time.monotonic)

    def wait(self) -> RunObservations:
        """Wait until the command ends or exceeds a limit, then end all of its processes."""
        ended = None
        while ended is None and self.processes.poll() is None:
            time.sleep(_LOOK_S)
            self.tick()
            ended = self._exceeded_limit()
        wall_s = time.monotonic() - self._began
        code = self.processes.poll()
        left = self.processes.end()
        code = self.processes.poll() if code is None else code
        left = 0 if ended else left
        return RunObservations(code, wall_s, self._peak, left, ended, self.probe.observations())

    def _exceeded_limit(self) -> tuple[str, str] | None:
        """Status and evidence of an exceeded limit."""
        now, limits = time.monotonic(), self.limits
        if stop := self.stop_reason():
            return CANCELLED, stop
        size = self.log.stat().st_size
        if size != self._size:
            self._size, self._output_at = size, now
        silent_s = now - self._output_at
        if limits.time_s is not None and now - self._began > limits.time_s:
            return self._limit_reached("timeout", f"time limit of {limits.time_s:g} s reached")
        if limits.idle_s is not None and silent_s > limits.idle_s:
            return self._limit_reached("hang", f"no output for {limits.idle_s:g} s")
        if silent_s > limits.exit_s and self._checked_size != size:
            self._checked_size = size
            if self.is_over(self.log):
                return hung_exit(f"no output for {limits.exit_s:g} s")
        return self._memory(now)

    def _limit_reached(self, status: str, why: str) -> tuple[str, str]:
        """Status and evidence of the limit, or of a hung exit if the training is done. Called
        before any signal is sent.
        """
        if self.is_over(self.log):
            return hung_exit(why)
        return status, f"{why}; {last_line(self.log)}"

    def _memory(self, now: float) -> tuple[str, str] | None:
        if now - self._probed_at < _PROBE_S:
            return None
        self._probed_at, limit = now, self.limits.memory_gb
        running = self.processes.alive()
        used = memory(running)
        for process in running:
            self.probe.observe(process.pid)
        self._peak = max(self._peak, used)
        if limit is None or used <= limit * _GB:
            return None
        return "oom", f"{used / _GB:.3f} GiB used, limit {limit:g} GiB; {last_line(self.log)}"
