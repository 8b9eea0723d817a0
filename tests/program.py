"""`bench` as people run it: a whole process, or quickly inside this one."""

from __future__ import annotations

import inspect
import io
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import typer
from typer.main import get_command

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


def selected(folder: Path, query: str, *paths: str) -> list[dict[str, Any]]:
    """The rows that `bench sql` gives of a query."""
    done = quick(folder, "sql", query, *paths, "--format", "json")
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def runs_programs(function: object) -> bool:
    """Whether a test calls `bench` or `quick`, itself or by helpers of the tests."""
    seen: set[object] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        one = inspect.unwrap(one) if callable(one) else one
        if one is quick or one is bench:
            return True
        if not isinstance(one, FunctionType) or one in seen:
            continue
        if one.__module__.startswith("tests."):
            seen.add(one)
            waiting += [one.__globals__.get(name) for name in _names(one.__code__)]
    return False


def _names(code: CodeType) -> Iterator[str]:
    """Names that a function uses, those in its lambdas and comprehensions too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def commands() -> dict[str, Any]:  # Any: typer has its own copy of click
    """Every command of the program by its name, imported."""
    program: Any = get_command(app)
    context = typer.Context(program)
    return {name: program.get_command(context, name) for name in program.list_commands(context)}


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
