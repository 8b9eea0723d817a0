"""Enforcement of limits: wait for a run, or end it and report why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .outcome import CANCELLED, hung_exit, last_line
from .plan import Limits
from .process_probe import Observation, ProcessProbe
from .processes import Processes, memory

_POLL_S = 0.1
_PROBE_S = 0.5  # between observations of the processes
_GB = 1 << 30


@dataclass(frozen=True, slots=True)
class Watched:
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

    def wait(self) -> Watched:
        """Wait until the command ends or exceeds a limit, then end all of its processes."""
        ended = None
        while ended is None and self.processes.poll() is None:
            time.sleep(_POLL_S)
            self.tick()
            ended = self._exceeded_limit()
        wall_s = time.monotonic() - self._began
        code = self.processes.poll()
        left = self.processes.end()
        code = self.processes.poll() if code is None else code
        left = 0 if ended else left
        return Watched(code, wall_s, self._peak, left, ended, self.probe.observations())

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
