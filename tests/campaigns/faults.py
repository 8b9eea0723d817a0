"""A disk that fills up at each stage, and folders that are read-only, vanish or are another's.

`python -m tests.campaigns.faults --seconds 600`, as root: it mounts small file systems of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.schema.check import check
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.making import folder, log

BENCH = [sys.executable, "-P", "-m", "bench"]
LIMIT_S = 300.0
SIZE_KB = 24_000  # of the disk
STAGES = (
    "ingest -q more", "report -o out", "report --update PAGE.md", "export -o exported",
    "export --records records", "db backup -q copy.duckdb", "forget -q --purge logs/run000.log",
    "db rebuild -q", "ingest -q large.log", "launch plan.toml -o launches",
)  # fmt: skip
LEFT_KB = (0, 300, 3000)
PAGE = "# Page\n\n<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
PLAN = 'trainer = "command"\ncommand = "echo {ends}"\n[values]\nends = ["a", "b"]\n'
# A clock that stands a year before the one by which the warehouse was written.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, t);
    if (!done && id == CLOCK_REALTIME) t->tv_sec -= 31536000;
    return done;
}
"""


def run(top: Path, line: str, **environment: str) -> tuple[int, str]:
    """A command's status and what it said."""
    try:
        done = subprocess.run(
            [*BENCH, *line.split()], cwd=top, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT_S, check=False, env=os.environ | environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, f"not over after {LIMIT_S:g} s"
    return done.returncode, done.stdout + done.stderr


def wrong(line: str, code: int, text: str) -> list[str]:
    """What must not be said, whatever fails."""
    last = text.strip().rpartition("\n")[2][-160:]
    if "Traceback" in text or code < 0:
        return [f"{line}: crashes ({code}): {last}"]
    return [f"{line}: fails without a word ({code})"] if code and not text.strip() else []


def damaged(db: Path, line: str) -> list[str]:
    """What is wrong with the warehouse afterwards."""
    try:
        with open_read(db) as warehouse:
            return [f"{line}: {problem}" for one in check(warehouse) for problem in one.problems]
    except BenchError as error:
        return [f"{line}: afterwards {error.what}: {error.why}"]


@contextmanager
def disk(kb: int) -> Iterator[Path]:
    """A file system of its own, so large. Raises CalledProcessError for who is not root."""
    with tempfile.TemporaryDirectory() as folder_:
        command = ["mount", "-t", "tmpfs", "-o", f"size={kb}k", "none", folder_]
        subprocess.run(command, check=True, capture_output=True)
        try:
            yield Path(folder_)
        finally:
            subprocess.run(["umount", "-l", folder_], check=True)


def made(top: Path) -> None:
    folder(top / "logs", logs=6, tables=2, iterations=30)
    assert run(top, "ingest -q logs")[0] == 0
    folder(top / "more", logs=12, tables=2, iterations=120)
    (top / "large.log").write_text(log(9000))
    (top / "PAGE.md").write_text(PAGE)
    (top / "plan.toml").write_text(PLAN)


def full_disks(began: float, seconds: float) -> tuple[Counter[str], list[str]]:
    """Each stage with so much room left: it ends in words, and the warehouse is whole."""
    counted: Counter[str] = Counter()
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder_:
        made(Path(folder_))
        for left in LEFT_KB:
            print(f"{left} KiB left ...", file=sys.stderr, flush=True)
            for line in STAGES:
                if time.monotonic() - began > seconds:
                    return counted, problems
                with disk(SIZE_KB) as top:
                    shutil.copytree(folder_, top, dirs_exist_ok=True)
                    free = shutil.disk_usage(top).free
                    (top / "filler").write_bytes(bytes(max(0, free - left * 1024)))
                    code, text = run(top, line, TMPDIR=str(top))
                    problems += wrong(f"{left} KiB left, {line}", code, text)
                    (top / "filler").unlink()
                    problems += damaged(top / "bench.duckdb", f"{left} KiB left, {line}")
                counted["full, told" if code else "full, done"] += 1
    return counted, problems


def read_only(top: Path) -> list[str]:
    found = []
    subprocess.run(["mount", "-o", "remount,ro", str(top)], check=True)
    try:
        for line in ("runs", "report", "db check", "ingest -q more", "report -o out", "forget 1"):
            found += wrong(f"read-only, {line}", *run(top, line))
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(top)], check=True)
    return found


def vanishing(top: Path) -> list[str]:
    """What it reads, or the folder of the warehouse, is removed while it works."""
    found = []
    for name in ("more", "."):
        for delay in (0.5, 1.5):
            work = top / f"v{delay}{name == '.'}"
            shutil.copytree(top / "more", work / "more")
            command = [*BENCH, "ingest", "more"]
            process = subprocess.Popen(
                command, cwd=work, text=True, stderr=subprocess.STDOUT, stdout=subprocess.PIPE
            )
            time.sleep(delay)
            shutil.rmtree(work / name if name != "." else work, ignore_errors=True)
            text, _ = process.communicate(timeout=LIMIT_S)
            found += wrong(f"{name} vanishes", process.returncode, text)
    return found


def homeless(top: Path) -> list[str]:
    """No HOME, one that is not there, another user's cache, and one that is a device."""
    found = []
    cache = top / "cache/bench"
    cache.mkdir(parents=True)
    assert run(top, "ingest -q logs", XDG_CACHE_HOME=str(top / "cache"))[0] == 0
    for file in cache.iterdir():
        file.write_text("{}")
        os.chown(file, 12345, 12345)
    homes = {
        "HOME": ("", "/gone", "/dev/null"),
        "XDG_CACHE_HOME": (str(top / "cache"), "/dev/null"),
    }
    for name, values in homes.items():
        for value in values:
            for line in ("ingest -q more", "runs", "report"):
                code, text = run(top, line, **{name: value})
                found += wrong(f"{name}={value}, {line}", code, text)
                found += [f"{name}={value}, {line}: {text[-200:]}"] if code else []
    return found


def clock(top: Path) -> list[str]:
    """The warehouse was written by a clock that has been set back since."""
    (top / "clock.c").write_text(CLOCK)
    command = ["cc", "-shared", "-fPIC", "-o", "clock.so", "clock.c", "-ldl"]
    subprocess.run(command, cwd=top, check=True)
    shutil.copy(top / "logs/run000.log", top / "again.log")
    found = []
    with (top / "logs/run000.log").open("a") as stream:
        stream.write(log(40).splitlines(keepends=True)[-1])
    for line in (
        "ingest -q logs more",
        "runs",
        "report",
        "db check",
        "forget -q --purge again.log",
    ):
        code, text = run(top, line, LD_PRELOAD=str(top / "clock.so"))
        found += wrong(f"clock back, {line}", code, text)
    query = """SELECT max(iteration) FROM iterations JOIN runs USING (run_id)
               WHERE uri = 'logs/run000.log'"""
    with open_read(top / "bench.duckdb") as warehouse:
        [(last,)] = warehouse.rows(query)
    return found if last == 40 else [*found, f"clock back: the newest load is not shown ({last})"]


OTHERS: tuple[Callable[[Path], list[str]], ...] = (read_only, vanishing, homeless, clock)


def campaign(seconds: float) -> tuple[Counter[str], list[str]]:
    began = time.monotonic()
    counted, problems = Counter[str](), []
    for other in OTHERS:
        print(f"{other.__name__} ...", file=sys.stderr, flush=True)
        with disk(200_000) as top:
            made(top)
            problems += other(top)
            counted[other.__name__] += 1
    full, found = full_disks(began, seconds)
    return counted + full, problems + found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    counted, problems = campaign(parser.parse_args().seconds)
    print(", ".join(f"{number} {name}" for name, number in counted.items()))
    print("\n".join(problems) or "all told in words, every warehouse whole")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
