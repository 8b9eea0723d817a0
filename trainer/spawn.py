"""Local ranks as child processes, started and ended together."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO

from .grid import GridError
from .log import DONE

GRACE_S = 5.0
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 0.05
PORTS = range(20_000, 32_000)  # Linux's ephemeral ports start at 32768
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A free port on loopback, below the kernel's range of ephemeral ports.

    Rank 0 listens on it seconds later: meanwhile no connection of another program may get it.
    """
    for port in random.SystemRandom().sample(PORTS, min(100, len(PORTS))):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise GridError(f"no port from {PORTS[0]} to {PORTS[-1]} was found free")


def cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(rank: int, ranks: int, port: int, base: Mapping[str, str]) -> dict[str, str]:
    """Environment of a rank, as set by torchrun; threads are divided unless already set."""
    env = dict(base)
    env |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
    env |= {"LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    # Two threads for each of two ranks on two cores was 8 times slower than one each.
    env.setdefault("OMP_NUM_THREADS", str(max(1, cores() // ranks)))
    if sys.platform == "linux":
        env.setdefault("GLOO_SOCKET_IFNAME", "lo")
    env["PYTHONUNBUFFERED"] = "1"
    return env


def die_with_parent() -> None:
    """Called in a rank: end it if its launcher is killed without cleanup.

    The launcher is ours, or torchrun, whose workers would otherwise continue.
    """
    launcher = os.environ.get("BENCH_LAUNCHER")
    if sys.platform != "linux" or (launcher is None and "TORCHELASTIC_RUN_ID" not in os.environ):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if launcher not in (None, str(os.getppid())):  # it had ended already
        os._exit(1)


def leave() -> None:
    """End this process without interpreter shutdown, which gloo's threads may abort."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Ranks:
    """The processes of one run."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.done = threading.Event()
        self.stop_signal: int | None = None
        self._over = False
        self._readers: list[threading.Thread] = []
        self._printing = threading.Lock()

    def start(self, command: Sequence[str], ranks: int) -> None:
        """Start one child per rank, each in its own session, so that its group can be ended."""
        port = free_port()
        base = os.environ | {"BENCH_LAUNCHER": str(os.getpid())}
        for rank in range(ranks):
            child = subprocess.Popen(
                command,
                env=environment(rank, ranks, port, base),
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self.processes.append(child)
            assert child.stdout is not None
            reader = threading.Thread(target=self._forward, args=(child.stdout,), daemon=True)
            reader.start()
            self._readers.append(reader)

    def _forward(self, stream: IO[bytes]) -> None:
        """Forward whole lines, so that output of ranks is never mixed within a line."""
        for line in stream:
            with self._printing:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
            if line.startswith(DONE.encode()):
                self.done.set()

    def wait(self) -> int:
        """The exit status of the run: 0, or that of the first rank that failed."""
        running = dict(enumerate(self.processes))
        while running and self.stop_signal is None:
            ended = {rank: child.poll() for rank, child in running.items()}
            failed = {
                rank: code for rank, code in ended.items() if code and not self._aborted(code)
            }
            if failed:
                for rank, code in failed.items():
                    self._report_failure(rank, code)
                self.end()
                # Prefer signals: peers of a killed rank fail with a lost connection.
                code = min(failed.values())
                return code if code > 0 else 128 - code
            running = {rank: child for rank, child in running.items() if ended[rank] is None}
            time.sleep(POLL_S)
        self.end()
        return 0 if self.stop_signal is None else 128 + self.stop_signal

    def _report_failure(self, rank: int, code: int) -> None:
        pid = self.processes[rank].pid
        print(
            f"rank {rank} failed (exitcode: {code}) local_rank: {rank} (pid: {pid})",
            file=sys.stderr,
        )

    def _aborted(self, code: int) -> bool:
        """Whether gloo's threads aborted the interpreter's shutdown after the training."""
        self._drain()
        return code == -signal.SIGABRT and self.done.is_set()

    def _drain(self) -> None:
        for child, reader in zip(self.processes, self._readers, strict=True):
            if child.poll() is not None:
                reader.join(GRACE_S)

    def end(self) -> None:
        """Send TERM to every rank's group, and KILL to those that remain."""
        if self._over:
            return
        self._over = True
        self._signal(signal.SIGTERM)
        limit = time.monotonic() + GRACE_S
        while any(child.poll() is None for child in self.processes):
            if time.monotonic() > limit:
                break
            time.sleep(POLL_S)
        self._signal(signal.SIGKILL)
        for child in self.processes:
            child.wait()
        self._drain()

    def _signal(self, number: int) -> None:
        for child in self.processes:
            try:
                os.killpg(child.pid, number)
            except ProcessLookupError:
                continue  # the whole group has ended


def run(command: Sequence[str], ranks: int) -> int:
    """Run the command as `ranks` processes; SIGINT, SIGTERM and SIGHUP end them all."""
    started = Ranks()

    def ask(number: int, frame: FrameType | None) -> None:
        started.stop_signal = number

    handled = [
        number for number in STOPS if signal.getsignal(number) != signal.SIG_IGN
    ]  # ignored by nohup
    before = {number: signal.signal(number, ask) for number in handled}
    try:
        started.start(command, ranks)
        return started.wait()
    finally:
        started.end()
        for number, handler in before.items():
            signal.signal(number, handler)
