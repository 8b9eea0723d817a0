"""The processes of the reference trainer: who they are, and that none outlives the others."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.trainer import log, spawn

# The launcher


def ranks(program: str, count: int = 2) -> int:
    return spawn.run([sys.executable, "-c", program], count)


def test_ranks_learn_who_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR"]
    assert ranks(f"import os; print(*(os.environ[n] for n in {names}))") == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["0 0 2 2 127.0.0.1", "1 1 2 2 127.0.0.1"]


def test_threads_are_shared_out_unless_somebody_chose() -> None:
    cores = spawn.cores()
    shared = spawn.environment(0, 2, 29500, {})
    assert shared["OMP_NUM_THREADS"] == str(max(1, cores // 2))
    assert spawn.environment(0, 2, 29500, {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "7"


def test_a_rank_that_fails_ends_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    sleeper = "import os, sys, time; sys.exit(3) if os.environ['RANK'] == '1' else time.sleep(60)"
    assert ranks(sleeper) == 3
    assert time.monotonic() - start < 20
    assert re.search(r"rank 1 failed \(exitcode: 3\) local_rank: 1", capfd.readouterr().err)


def test_a_rank_that_is_killed_is_told_as_such(capfd: pytest.CaptureFixture[str]) -> None:
    assert ranks("import os; os.kill(os.getpid(), 9)", 1) == 137
    assert "rank 0 failed (exitcode: -9)" in capfd.readouterr().err


@pytest.mark.parametrize(("said", "code"), [(log.DONE, 0), ("still training", 134)])
def test_an_abort_at_exit_counts_only_before_the_end_was_told(said: str, code: int) -> None:
    assert ranks(f"import os; print({said!r} + ' now', flush=True); os.abort()", 1) == code


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_rank_outlives_the_launcher(number: signal.Signals, tmp_path: Path) -> None:
    told = "from bench.trainer import spawn; import os; spawn.die_with_parent(); "
    told += f"open({str(tmp_path)!r} + '/' + os.environ['RANK'], 'w').write(str(os.getpid()))\n"
    launcher = "import sys; from bench.trainer import spawn; spawn.GRACE_S = 0.5; "
    launcher += "sys.exit(spawn.run([sys.executable, '-c', sys.argv[1]], 2))"
    running = subprocess.Popen(
        [sys.executable, "-c", launcher, told + STUBBORN], stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert [running.stdout.readline() for _ in range(2)] == ["up\n", "up\n"]
    running.send_signal(number)
    assert running.wait(30) == (-9 if number == signal.SIGKILL else 128 + number)
    pids = [int((tmp_path / name).read_text()) for name in "01"]
    limit = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not [pid for pid in pids if alive(pid)]


def alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has buried yet does not."""
    try:
        os.kill(pid, 0)
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_the_check_answers_without_starting_anything() -> None:
    asked = [["--preset", "nano", "--dp", "2", "--gbs", "8"], ["--tp", "3"], ["--preset", "mega"]]
    done = subprocess.run(
        [sys.executable, "-m", "bench.trainer.check"],
        input="".join(f"{json.dumps(words)}\n" for words in asked),
        capture_output=True,
        text=True,
        check=True,
    )
    _, fits, refused, unknown = map(json.loads, done.stdout.splitlines())
    assert (fits["ranks"], fits["grad_accum"], fits["params_stated"]) == (2, 4, 118528)
    assert refused["refused"].startswith("4 heads do not divide among TP 3") and "vocab" in refused
    assert "invalid choice: 'mega'" in unknown["refused"]
