"""A program that prints a Megatron log and ends as it is told: `python acting.py hang`."""

import os
import signal
import subprocess
import sys
import time

WORLD = (
    "using world size: 1, data-parallel-size: 1, tensor-model-parallel size: 1, "
    "pipeline-model-parallel size: 1 "
)
LINE = (
    " iteration {n:8d}/       3 | consumed samples: {samples:12d} | "
    "elapsed time per iteration (ms): 70.1 | learning rate: 1.000E-03 | "
    "global batch size:     8 | {loss}loss scale: 1.0 | "
    "number of skipped iterations:   0 | number of nan iterations:   {nan} |"
)


ALLOCATE = (
    "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 4000000000000 bytes. Error code 12 (Cannot allocate memory)"
)
TORCHRUN = "failed (exitcode: -9) local_rank: 3 (pid: 953) of binary: /usr/bin/python"


def step(n: int, nan: bool = False) -> None:
    loss = "" if nan else "lm loss: 5.5E+00 | "
    print(LINE.format(n=n, samples=8 * n, loss=loss, nan=int(nan)), flush=True)


def act(part: str) -> None:
    match part:
        case "hang":
            time.sleep(300)
        case "pause":
            time.sleep(10)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(300)
        case "slow":
            while True:
                print("still here", flush=True)
                time.sleep(0.2)
        case "greedy":
            held = []
            while True:
                held.append(bytearray(b"x" * (32 << 20)))
                print(f"{len(held)} pieces", flush=True)
                time.sleep(0.1)
        case "raise":
            raise RuntimeError("this case fails")
        case "memory":
            raise MemoryError
        case "allocate":
            raise RuntimeError(ALLOCATE)
        case "torchrun":
            print(TORCHRUN, flush=True)
            sys.exit(1)
        case "clean":
            clean()
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "escape":
            escape()


def clean() -> None:
    """A program of a clean environment that holds more than we do, as a wrapper may start it."""
    code = "import time; held = b'x' * (96 << 20); time.sleep(5)"
    kept = {name: os.environ[name] for name in ("BENCH_LAUNCH_RUN",) if name in os.environ}
    subprocess.run([sys.executable, "-c", code], env=kept, check=True)


def escape() -> None:
    """A grandchild with another session, another parent, no environment and a deaf ear."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
            os.execve(sys.executable, [sys.executable, "-c", code, "escaped"], {})
        os._exit(0)
    time.sleep(1.5)


if __name__ == "__main__":
    told = sys.argv[1]
    if told == "mute":
        act("hang")
    print(WORLD, flush=True)
    step(1)
    act(told)
    step(2, told == "nan")
    step(3, told == "nan")
    print("[after training is done] datetime: 2026-11-20 16:21:55 ", flush=True)
    if told in ("linger", "deaf"):
        act("hang" if told == "linger" else "stubborn")
    if told == "abort":
        os.abort()
    sys.exit(3 if told == "late" else 0)
