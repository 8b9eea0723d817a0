"""Locks, interrupts and closed pipes: other processes beside ours."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import duckdb
import pytest

from tests.program import READING, bench, environment, quick, told, words

HOLD = (
    "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(flush=True); time.sleep(60)"
)


def test_a_locked_warehouse_names_the_process(swept: Path, folder: Path) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    shutil.copytree(swept / "data", folder / "data")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "bench.duckdb")], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline()
        try:
            lines = [*(r.format(tmp="out") for r in READING), "ingest data", "forget 001"]
            for line in lines:
                done = quick(folder, *words(line), "--lock-timeout", "0.1")
                told(done, 4, "is locked", f"process {holder.pid} has it open", "--lock-timeout")
            began = time.monotonic()
            told(bench(folder, "--lock-timeout", "1.5", "report"), 4, str(holder.pid))
            assert 1.5 <= time.monotonic() - began < 12
            assert quick(folder, "report", "data/tables", "--model", "1.3B").code == 0
        finally:
            holder.kill()
    assert quick(folder, "report", "--model", "1.3B").code == 0


def test_a_lock_that_is_let_go_in_time(swept: Path, folder: Path) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    hold = HOLD.replace("60", "1")
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / "bench.duckdb")], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline()
        assert quick(folder, "runs", "--lock-timeout", "30").code == 0


LONG = "SELECT count(*) FROM range(10000000000) a, range(100000) b WHERE a.range = b.range + 1e9"


def is_open_elsewhere(db: Path) -> bool:
    try:
        duckdb.connect(str(db)).close()
    except duckdb.IOException:
        return True
    return False


def has_a_waiting_writer(db: Path) -> bool:
    folder = os.open(db.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(folder)
    return False


@pytest.mark.parametrize("doing", ["a query", "waiting for the lock"])
def test_interrupted(swept: Path, folder: Path, doing: str) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    line = ["sql", LONG] if doing == "a query" else ["forget", "001", "--lock-timeout", "60"]
    begun = is_open_elsewhere if doing == "a query" else has_a_waiting_writer
    hold = [sys.executable, "-c", HOLD, str(folder / "bench.duckdb")]
    with subprocess.Popen(hold, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline()
        if doing == "a query":
            holder.kill()
            holder.wait()
        with subprocess.Popen(
            [sys.executable, "-m", "bench", *line], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        ) as program:  # fmt: skip
            until = time.monotonic() + 60
            while not begun(folder / "bench.duckdb"):
                assert program.poll() is None and time.monotonic() < until, f"never began {doing}"
                time.sleep(0.05)
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=30)
        holder.kill()
    assert (program.returncode, out, err) == (130, b"", b"interrupted\n")
    assert quick(folder, "runs").code == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_quiet(swept: Path, unbuffered: str) -> None:
    query = "SELECT * FROM cells a, cells b LIMIT 30000"
    with subprocess.Popen(
        [sys.executable, "-m", "bench", "sql", query, "--format", "csv"], cwd=swept,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment({"PYTHONUNBUFFERED": unbuffered}),
    ) as program:  # fmt: skip
        assert program.stdout and program.stderr
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 141


@cache
def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    """A command line of a shell, run once; tests only read in the folder."""
    command = ["sh", "-c", f"{sys.executable} -m bench {line}"]
    return subprocess.run(command, cwd=folder, capture_output=True, env=environment())


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("line", ["runs", "watch --once nothing.log", "sql nonsense"])
def test_what_is_closed_before_the_start_is_said_to_nobody(
    swept: Path, closed: str, line: str
) -> None:
    plain, done = shell(swept, line), shell(swept, f"{line} {closed}")
    assert done.returncode == plain.returncode
    assert done.stdout == (b"" if closed != "2>&-" else plain.stdout)
    assert done.stderr == (b"" if closed != ">&-" else plain.stderr)


def test_where_the_warehouse_is(swept: Path, folder: Path) -> None:
    db = str(swept / "bench.duckdb")
    count = "SELECT count(*) AS n FROM sources"
    wanted = '[\n  {"n": 9}\n]\n'
    line = ["sql", count, "--format", "json"]
    assert quick(folder, *line, "--db", db).out == wanted
    assert bench(folder, *line, env={"BENCH_DB": db}).out == wanted
    shutil.copy(db, folder / "other.duckdb")
    (folder / "bench.toml").write_text('db = "other.duckdb"\n')
    assert quick(folder, *line).out == wanted
    (folder / "bench.toml").write_text("db = \n")
    told(quick(folder, *line), 2, "not valid TOML", "bench.toml:1")
