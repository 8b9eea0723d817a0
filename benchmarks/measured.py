"""What a process takes, and the machine that it runs on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BENCH = (sys.executable, "-m", "bench")


class Spent(NamedTuple):
    """What a process and its children took; several are ordered by processor time."""

    processor: float  # seconds on all cores
    wall: float  # seconds
    mib: int  # the peak of the largest one
    output: bytes = b""


def spent(
    words: Sequence[str],
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> Spent:
    """Run a process in a folder; exits if it ends with another code than these."""
    # Output goes to a file: grep stops at the first match if its output is /dev/null.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        # With bytecode, as an installed program.
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
        child = subprocess.Popen(words, cwd=folder, env=variables, stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode not in codes:
            why = f"exit {child.returncode}: {errors.read(300)!r}"
            raise SystemExit(f"not measured: {' '.join(words)[:80]}: {why}")
        processor = usage.ru_utime + usage.ru_stime
        return Spent(processor, wall, usage.ru_maxrss >> 10, output.read())


def machine() -> str:
    """The description of this machine."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or "?"
    versions = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "jinja2", "typer"))
    return f"{os.cpu_count()} cores, {cpu}; Python {platform.python_version()}, {versions}"


def load() -> str:
    """The load of the machine."""
    return f"load average {os.getloadavg()[0]:.1f}"
