"""Small files read together, or in processes of their own, give what each gives by itself."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.ingest.files import prefetch
from bench.ingest.files.content import LONG_BYTES, Content, read_content
from bench.ingest.files.parsed import parse_together
from bench.ingest.files.pipeline import ingest
from bench.ingest.files.source import read_file
from bench.ingest.files.task import Task
from bench.records.layout import MARK
from bench.schema.arrow import to_arrow
from tests.making import count, everything
from tests.reading import LINES, LOGS, told

DATA = Path(__file__).parents[1] / "data"
ENDS = st.sampled_from([b"\n", b"\r\n"])
TAILS = st.sampled_from([b"", b"\n", b"\r\n\n", b"\xff"])
MANY = """
import sys
from pathlib import Path
from bench.ingest.files import prefetch
from bench.ingest.files.pipeline import ingest
if __name__ == "__main__":
    prefetch.WORTH_IT, prefetch._CHUNK_FILES = 0, 2
    ingest([Path(sys.argv[1])], Path(sys.argv[2]), processes=2,
           progress=lambda uri: print(uri, flush=True))
    print("done", flush=True)
"""


def logs(folder: Path, count: int, steps: int = 300) -> Path:
    """Logs of some hundred steps with timers, each of another length."""
    folder.mkdir()
    for number in range(count):
        lines = ["using world size: 2, data-parallel-size: 2, tensor-model-parallel size: 1, "
                 "pipeline-model-parallel size: 1 "]  # fmt: skip
        for step in range(1, steps + number):
            lines += [
                f" iteration {step:8d}/{steps + number:8d} | consumed samples: {step * 8:12d} |"
                f" elapsed time per iteration (ms): {900 + step % 7}.{number % 10} |"
                f" learning rate: 1.000E-04 | global batch size:     8 |"
                f" lm loss: {9 - step / 1000:.6E} | loss scale: 1.0 | grad norm: 1.{step:03d} |"
                " number of skipped iterations:   0 | number of nan iterations:   0 |",
                f"time (ms) | forward-compute: 31.{number:02d} | optimizer: 50.66",
            ]
        (folder / f"run{number:03d}.log").write_text("\n".join(lines) + "\n")
    return folder


def tables_alone(task: Task) -> dict[str, list[str]]:
    rows = read_file(task).rows
    return {name: sorted(map(told, t.to_pylist())) for name, t in to_arrow(rows).items()}


def tables_together(tasks: list[Task]) -> list[dict[str, list[str]]]:
    found = []
    for parsed in pickle.loads(pickle.dumps(parse_together(tasks))).divided():
        assert parsed is not None
        rows = {name: t.to_pylist() for name, t in parsed.tables.sources()}
        assert parsed.counts == {name: len(each) for name, each in rows.items()}
        found.append({name: sorted(map(told, each)) for name, each in rows.items()})
    return found


def tasks_of(files: list[Path]) -> list[Task]:
    named = ((file, f"source {number}") for number, file in enumerate(files))
    return [Task(read_content(file), file.name, source) for file, source in named]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(contents=st.lists(st.tuples(st.lists(LINES, max_size=3), ENDS, TAILS), max_size=5))
def test_any_logs_together(
    contents: list[tuple[list[list[str]], bytes, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    files = []
    for number, (parts, end, tail) in enumerate(contents):
        files.append(folder / f"{number}.log")
        files[-1].write_bytes(end.join(line.encode() for part in parts for line in part) + tail)
    tasks = tasks_of(files)
    assert tables_together(tasks) == [tables_alone(task) for task in tasks]


def test_real_logs_together() -> None:
    tasks = tasks_of([log for log in LOGS if log.stat().st_size < LONG_BYTES])
    assert len(tasks) > 20
    assert tables_together(tasks) == [tables_alone(task) for task in tasks]


def test_what_changes_after_it_was_read_gives_what_was_read(tmp_path: Path) -> None:
    tasks = tasks_of(sorted(logs(tmp_path / "logs", 2).iterdir()))
    before = [tables_alone(task) for task in tasks]
    tasks[0].content.path.write_text("something else\n")
    tasks[1].content.path.unlink()
    assert tables_together(tasks) == before


def test_what_cannot_be_read_is_left_to_its_turn(tmp_path: Path) -> None:
    tasks = tasks_of(sorted(logs(tmp_path / "logs", 2).iterdir()))
    gone, record = tmp_path / "gone.json", f'{{"{MARK}": 1}}'.encode()
    tasks.insert(1, Task(Content(gone, len(record), "", data=record), gone.name, "source"))
    first, none, last = parse_together(tasks).divided()
    assert none is None and first and last and first.counts["runs"] == last.counts["runs"] == 1


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs, tables, job scripts, an archive, copies, an empty file and one that is no log."""
    folder = tmp_path_factory.mktemp("mixed")
    shutil.copytree(DATA, folder / "data")
    generated = logs(folder / "generated", 30)
    for place in ("a_copy.log", "z_copy.log"):
        shutil.copy(generated / "run007.log", folder / place)
    shutil.copy(generated / "run003.log", generated / "run003.log.1")
    with tarfile.open(folder / "generated" / "run010.tar", "w") as archive:
        for log in sorted(logs(folder / "more", 4, steps=200).iterdir()):
            archive.add(log, log.name)
    (folder / "empty.log").touch()
    (folder / "prose.log").write_text("nothing of this is a log\n" * 9)
    (folder / "binary.log").write_bytes(bytes(range(256)) * 99)
    return folder


def test_several_processes_give_the_same_rows(
    mixed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ingest([mixed], tmp_path / "one.duckdb")
    monkeypatch.setattr(prefetch, "WORTH_IT", 0)
    monkeypatch.setattr(prefetch, "_CHUNK_FILES", 7)
    several = ingest([mixed], tmp_path / "several.duckdb", processes=3)
    assert several == one and one.new > 40 and one.copies >= 2
    assert everything(tmp_path / "several.duckdb") == everything(tmp_path / "one.duckdb")
    again = ingest([mixed], tmp_path / "several.duckdb", processes=3)
    assert (again.new, again.known) == (0, one.new + one.copies)


def start(folder: Path, db: Path) -> subprocess.Popen[str]:
    """A process that reads in others, when it has begun to store."""
    child = subprocess.Popen(
        [sys.executable, "-c", MANY, str(folder), str(db)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline().endswith(".log\n")
    return child


def readers(child: subprocess.Popen[str]) -> list[psutil.Process]:
    every = psutil.Process(child.pid).children(recursive=True)
    return [one for one in every if "spawn_main" in " ".join(one.cmdline())]


def test_a_killed_reader_loses_nothing(tmp_path: Path) -> None:
    folder = logs(tmp_path / "logs", 40)
    child = start(folder, tmp_path / "killed.duckdb")
    for reader in readers(child):
        reader.kill()
    told, errors = child.communicate(timeout=120)
    assert child.returncode == 0 and told.endswith("done\n"), errors
    ingest([folder], tmp_path / "one.duckdb")
    assert everything(tmp_path / "killed.duckdb") == everything(tmp_path / "one.duckdb")


def test_an_interrupt_ends_every_process(tmp_path: Path) -> None:
    folder, db = logs(tmp_path / "logs", 60), tmp_path / "bench.duckdb"
    child = start(folder, db)
    others = readers(child)
    os.killpg(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and errors.count("Traceback") == 1
    gone, alive = psutil.wait_procs(others, timeout=20)
    assert not alive and len(gone) == len(others)
    ingest([folder], db)
    assert count(db, "sources") == 60 and count(db, "raw.loads") == 60


def test_no_reader_outlives_its_parent(tmp_path: Path) -> None:
    child = start(logs(tmp_path / "logs", 60), tmp_path / "bench.duckdb")
    others = readers(child)
    child.kill()
    child.communicate(timeout=60)
    assert psutil.wait_procs(others, timeout=20)[1] == []
