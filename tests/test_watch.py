"""`bench watch` beside programs that write, rotate and are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.ingest.files.content import is_long
from bench.ingest.files.pipeline import ingest
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from bench.watch.follow import Follower
from tests.growing import shown
from tests.making import iteration, log
from tests.program import bench, environment, quick, told

# Writes at speed, in pieces that end anywhere, and moves its log away now and then.
WRITER = """
import os, random, sys, time
from tests.making import iteration
path, rotations, chance = sys.argv[1], int(sys.argv[2]), random.Random(7)
for part in range(rotations + 1):
    with open(path, "ab", buffering=0) as log:
        print("ready", flush=True)
        for number in range(1, 200):
            line = iteration(number, 100.0 + part, 1000).encode()
            cut = chance.randrange(len(line))
            log.write(line[:cut])
            time.sleep(chance.random() / 200)
            log.write(line[cut:])
        if part < rotations:
            for older in range(rotations, 0, -1):
                if os.path.exists(f"{path}.{older}"):
                    os.rename(f"{path}.{older}", f"{path}.{older + 1}")
            os.rename(path, f"{path}.1")
            time.sleep(0.5)
    if part == rotations and len(sys.argv) > 3:
        log = open(path, "ab", buffering=0)
        log.write(iteration(200).encode()[:90])
        time.sleep(60)
"""
Child = subprocess.Popen[str]


def start(folder: Path, *words: str) -> Child:
    """A process in a folder, with the tests to import from."""
    root = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment({"PYTHONPATH": root}),
    )  # fmt: skip


@pytest.fixture
def children() -> Iterator[Callable[..., Child]]:
    started: list[Child] = []

    def begin(folder: Path, *words: str) -> Child:
        started.append(start(folder, *words))
        return started[-1]

    yield begin
    for child in started:
        child.kill()
        child.communicate()


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.25)  # to look costs 50 ms of processor time


def stored(folder: Path) -> int:
    """Iterations that a reader sees meanwhile."""
    if not (folder / "bench.duckdb").exists():
        return 0
    with open_read(folder / "bench.duckdb", 30) as warehouse:
        return int(warehouse.rows("SELECT count(*) FROM iterations")[0][0])


def of_the_final_files(folder: Path) -> dict[str, list[str]]:
    """What one ingest of the files as they lie shows."""
    alone = folder / "alone.duckdb"
    ingest([folder / "logs"], alone)
    return shown(alone)


def steps_by_file(db: Path) -> dict[str, list[tuple[int, float]]]:
    query = """SELECT uri, list((iteration, step_time_s) ORDER BY iteration) FROM iterations
               JOIN runs USING (run_id) GROUP BY uri"""
    with open_read(db) as warehouse:
        return dict(warehouse.rows(query))


def stop(child: Child, number: int = signal.SIGINT) -> tuple[str, str]:
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert "Traceback" not in err
    return out, err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_writer_at_speed_that_is_killed(
    folder: Path, children: Callable[..., Child], number: int
) -> None:
    (folder / "logs").mkdir()
    watcher = children(folder, "-m", "bench", "watch", "logs/train.log", "--interval", "0.2")
    writer = children(folder, "-c", WRITER, "logs/train.log", "0", "hold")
    wait_for(lambda: stored(folder) > 20)
    wait_for(lambda: (folder / "logs/train.log").read_bytes().count(b"\n") == 199)
    os.kill(writer.pid, signal.SIGKILL)
    wait_for(lambda: stored(folder) == 199)
    out, _ = stop(watcher, number)
    assert shown(folder / "bench.duckdb") == of_the_final_files(folder)
    assert "logs/train.log: status running, iteration 199/1000" in out
    assert bench(folder, "ingest", "logs").err.startswith("files: 0 new, 1 unchanged")


def test_a_watcher_without_a_log_stores_nothing(
    folder: Path, children: Callable[..., Child]
) -> None:
    watcher = children(folder, "-m", "bench", "watch", "typo.log", "--interval", "0.2")
    assert watcher.stderr and "typo.log (not there yet)" in watcher.stderr.readline()
    _, err = stop(watcher, signal.SIGTERM)
    assert err.splitlines()[-1] == "nothing stored: no log was there"
    assert not (folder / "bench.duckdb").exists()


@pytest.mark.slow
def test_a_writer_that_rotates_its_log(folder: Path, children: Callable[..., Child]) -> None:
    (folder / "logs").mkdir()
    watcher = children(folder, "-m", "bench", "watch", "logs/train.log", "--interval", "0.2")
    watched = "watching logs/train.log (not there yet); Ctrl-C to stop\n"
    assert watcher.stderr and watcher.stderr.readline() == watched
    writer = children(folder, "-c", WRITER, "logs/train.log", "2")
    assert writer.wait(timeout=120) == 0
    wait_for(lambda: stored(folder) == 3 * 199)
    stop(watcher)
    ingest([folder / "logs"], folder / "alone.duckdb")
    found, expected = steps_by_file(folder / "bench.duckdb"), steps_by_file(folder / "alone.duckdb")
    assert found == expected
    assert sorted(found) == ["logs/train.log", "logs/train.log.1", "logs/train.log.2"]


@pytest.mark.slow
def test_three_watchers_of_one_log_double_nothing(
    folder: Path, children: Callable[..., Child]
) -> None:
    (folder / "logs").mkdir()
    line = ["-m", "bench", "watch", "logs", "--interval", "0.2", "--lock-timeout", "30"]
    watchers = [children(folder, *line) for _ in range(3)]
    for watcher in watchers:  # one that has not begun yet would end with 130 at Ctrl-C
        assert watcher.stderr and watcher.stderr.readline().startswith("watching logs;")
    writer = children(folder, "-c", WRITER, "logs/train.log", "0")
    assert writer.wait(timeout=60) == 0
    wait_for(lambda: stored(folder) == 199)
    for watcher in watchers:
        stop(watcher)
    assert shown(folder / "bench.duckdb") == of_the_final_files(folder)


@pytest.mark.slow
def test_a_watcher_that_is_killed_loses_nothing(
    folder: Path, children: Callable[..., Child]
) -> None:
    (folder / "logs").mkdir()
    writer = children(folder, "-c", WRITER, "logs/train.log", "0")
    for _ in range(3):
        before = stored(folder)
        watcher = children(folder, "-m", "bench", "watch", "logs", "--interval", "0.1")
        wait_for(lambda before=before: stored(folder) > before or writer.poll() is not None)  # type: ignore[misc]
        watcher.kill()
    assert writer.wait(timeout=60) == 0
    ingest([folder / "logs"], folder / "bench.duckdb")
    assert shown(folder / "bench.duckdb") == of_the_final_files(folder)


@pytest.mark.slow
def test_a_pipe_that_is_closed(folder: Path, children: Callable[..., Child]) -> None:
    """It ends at once, and not with the next line that it has to tell."""
    (folder / "run.log").write_text(log(40))
    watcher = children(folder, "-m", "bench", "watch", "run.log", "--interval", "60")
    assert watcher.stdout and "40/500" in watcher.stdout.readline()
    watcher.stdout.close()
    assert watcher.wait(timeout=30) == 128 + signal.SIGPIPE
    assert watcher.stderr and "Traceback" not in watcher.stderr.read()


@pytest.mark.slow
def test_a_terminal_that_is_closed(folder: Path) -> None:
    """What came since the last look is stored, though nothing can be shown any more."""
    (folder / "run.log").write_text(log(40))
    ours, theirs = os.openpty()
    line = [sys.executable, "-m", "bench", "watch", "run.log", "--interval", "60"]
    root = str(Path(__file__).parent.parent)
    child = subprocess.Popen(
        line, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=environment({"PYTHONPATH": root, "TERM": "xterm", "COLUMNS": "120"}),
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"40/500" not in shown:
        shown += os.read(ours, 4096)
    with (folder / "run.log").open("a") as file:
        file.write(iteration(41))
    os.close(ours)
    child.send_signal(signal.SIGHUP)
    assert child.wait(timeout=60) == 0
    assert stored(folder) == 41


def test_once(folder: Path) -> None:
    (folder / "run.log").write_text(log(40) + iteration(41)[:50])
    done = quick(folder, "watch", "run.log", "--once", "--format", "json")
    [row] = json.loads(done.out)
    assert (done.code, row["iteration"], row["warnings"]) == (0, 40, "")
    assert quick(folder, "watch", ".", "--once", "--format", "table").out.startswith("log ")
    os.utime(folder / "run.log", (0, 0))
    late = quick(folder, "watch", "run.log", "--once")
    assert late.code == 1 and "run.log: hang? no output for" in late.err


def test_columns(folder: Path) -> None:
    (folder / "run.log").write_text(log(40))
    once = "watch", "run.log", "--once", "--columns"
    assert quick(folder, *once, "loss,LOG,s/it,loss", "--format", "csv").out.splitlines() == [
        "loss,uri,step_time_s", "5.760191,run.log,0.1",
    ]  # fmt: skip
    assert quick(folder, *once, "uri,eta_s").out.startswith("| log     | ETA")
    (folder / "bench.duckdb").unlink()
    told(quick(folder, *once, "loss,step"), 2, "unknown column 'step'")
    assert "known: uri, run_id," in quick(folder, *once, "loss,step").err
    assert not (folder / "bench.duckdb").exists()


def test_a_pattern_that_matches_later(tmp_path: Path) -> None:
    follower = Follower([tmp_path / "job-*" / "*.log"], tmp_path / "bench.duckdb", 5.0)
    follower.check()
    assert follower.files() == [] and follower.store().new == 0
    (tmp_path / "job-1").mkdir()
    for name in ("a.log", "b.out", "[c].log"):
        (tmp_path / "job-1" / name).write_text(log(5, 100.0 + len(name)))
    assert follower.store().new == 2
    assert sorted(follower.uris()) == ["job-1/[c].log", "job-1/a.log"]
    named = Follower([tmp_path / "job-1" / "[c].log"], tmp_path / "bench.duckdb", 5.0)
    assert sorted(named.uris()) == ["job-1/[c].log"]
    with pytest.raises(BenchError):
        Follower([tmp_path / "jbo" / "*.log"], tmp_path / "bench.duckdb", 5.0).check()


def test_nothing_to_watch(folder: Path) -> None:
    told(quick(folder, "watch", "no/such.log", "--once"), 2, "no such file or folder")
    told(quick(folder, "watch", "later.log", "--once"), 3, "nothing to watch")
    assert list(folder.iterdir()) == [folder / ".git"]


def test_what_is_followed(tmp_path: Path) -> None:
    names = [
        "a.log",
        "b.out",
        "c.log.1",
        "d.o123",
        "e-2.err",
        "f.txt",
        "notes.md",
        "g.log.gz",
        "h.csv",
    ]
    for name in names:
        (tmp_path / name).write_text("x\n")
    follower = Follower([tmp_path, tmp_path / "later.log"], tmp_path / "bench.duckdb", 5.0)
    assert sorted(path.name for path in follower.files()) == names[:6]
    (tmp_path / "later.log").write_text(log(5))
    assert follower.store().new == 1
    (tmp_path / "later.log").rename(tmp_path / "later.log.old")
    assert follower.store().failed == []
    assert tmp_path / "later.log.old" in follower.files()
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT uri FROM runs") == [("later.log.old",)]


def test_a_log_that_is_renamed_between_two_looks(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(log(5, 100.0 + len(name)))
    follower = Follower([tmp_path], tmp_path / "bench.duckdb", 5.0)
    found = follower.files()
    (tmp_path / "a.log").unlink()
    follower._ingest(found, live=True)
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT uri FROM runs") == [("b.log",)]


def test_the_log_of_an_unknown_trainer_is_followed(tmp_path: Path) -> None:
    own, line = tmp_path / "own.log", "step {n}/900 | loss: {loss:.4f} | dt: 512.5ms\n"
    lines = [line.format(n=n, loss=4 - n / 999) for n in range(1, 901)]
    follower = Follower([own], tmp_path / "bench.duckdb", 5.0)
    for count in (3, 400, 900):
        own.write_text("starting\n" + "".join(lines[:count]))
        follower.store()
        with open_read(tmp_path / "bench.duckdb") as warehouse:
            query = "SELECT count(*), max(iteration), max(line) FROM iterations"
            assert warehouse.rows(query) == [(count, count, count + 1)]
            assert len(warehouse.rows("FROM runs")) == 1


def test_a_long_log_of_an_unknown_trainer_is_read(tmp_path: Path) -> None:
    """A file that is read piece by piece."""
    lines = [
        f"step {n}/20000 | loss: {4 - n / 9e4:.4f} | lr: 1e-4 {'.' * 60}" for n in range(12_000)
    ]
    (tmp_path / "own.log").write_text("\n".join(lines))
    assert is_long((tmp_path / "own.log").stat().st_size)
    ingest([tmp_path / "own.log"], tmp_path / "bench.duckdb")
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT count(*) FROM iterations") == [(12_000,)]
