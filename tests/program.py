"""`bench` as people run it: a whole process, or quickly inside this one."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from bench.cli import app
from bench.terminal.messages import exit_code

# A command line of each sort that reads the warehouse.
READING = ("report", "runs", "show 001:29", "sql 'FROM sources'", "export -o {tmp}")
# What a shell may set and a test must not depend on.
QUIET = ("BENCH_DB", "NO_COLOR", "PYTHONHASHSEED", "COLUMNS", "SOURCE_DATE_EPOCH")


@dataclass(frozen=True)
class Outcome:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams, for messages of assertions."""
        return f"exit {self.code}\n{self.out}\n{self.err}"


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: ours without what changes how `bench` speaks."""
    return {k: v for k, v in os.environ.items() if k not in QUIET} | dict(more or {})


def bench(
    folder: Path, *args: str, env: Mapping[str, str] | None = None, timeout: float = 120
) -> Outcome:
    """The whole program in a folder: exit code and both streams, not a byte changed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *args],
        cwd=folder,
        env=environment(env),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def quick(folder: Path, *args: str) -> Outcome:
    """The same inside this process: no traceback can hide, since only BenchError is caught."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True)
    err = io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = exit_code(app, args)
    data = out.buffer
    assert isinstance(data, io.BytesIO)
    return Outcome(code, data.getvalue().decode(), err.getvalue())


def words(text: str) -> list[str]:
    """A command line as a shell would split it."""
    return shlex.split(text)


def told(outcome: Outcome, code: int, *parts: str) -> None:
    """An error in words: the code, nothing on stdout, no traceback, every part said."""
    assert outcome.code == code, outcome.text
    assert outcome.out == "", outcome.text
    assert "Traceback" not in outcome.err and 'File "' not in outcome.err
    for part in parts:
        assert part in outcome.err, f"{part!r} is not in:\n{outcome.err}"
    if outcome.err.startswith("error:"):  # ours, not typer's usage
        assert "\n  try: " in outcome.err or "\n  why: " in outcome.err, outcome.err
