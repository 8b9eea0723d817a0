"""No process of ours runs a file of the working folder because of its name."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from bench.ingest.files import prefetch
from bench.ingest.files.pipeline import ingest
from tests.program import environment, quick

RAN = "ran"
# What Python itself imports before a module that `-m` names has a say; nothing of it is a file.
BEFORE = {"runpy", "pkgutil", "importlib"}
OTHERS = ("duckdb", "jinja2", "numpy", "pyarrow", "torch", "typer")


@pytest.fixture
def traps(folder: Path, data: Path) -> Path:
    """A folder with logs, and a module of each name that a program may ask for."""
    for name in {*sys.stdlib_module_names, *OTHERS, "bench"} - BEFORE:
        trap = f"open({str(folder / RAN)!r}, 'a').write({name!r} + ' ')\n"
        (folder / f"{name}.py").write_text(trap)
    for log in sorted((data / "logs").glob("*.log"))[:2]:
        (folder / log.name).write_bytes(log.read_bytes())
    return folder


def ran(folder: Path) -> str:
    """The modules of the folder that were run."""
    file = folder / RAN
    return file.read_text() if file.exists() else ""


@pytest.mark.parametrize("how", ["bench", "python -m bench"])
def test_a_command(traps: Path, how: str) -> None:
    words = [str(Path(sys.executable).with_name("bench"))]
    if how != "bench":
        (traps / "bench.py").unlink()  # that is what Python is asked for by name
        words = [sys.executable, "-m", "bench"]
    done = subprocess.run(
        [*words, "ingest", "."], cwd=traps, env=environment(), capture_output=True, check=False
    )
    assert (ran(traps), done.returncode) == ("", 0), done.stderr.decode()


def test_the_processes_that_read(traps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetch, "WORTH_IT", 1)
    started = []
    begin = prefetch.Processes.start_if_worth

    def start(workers: prefetch.Processes, work: int) -> bool:
        started.append(begin(workers, work))
        return started[-1]

    monkeypatch.setattr(prefetch.Processes, "start_if_worth", start)
    with chdir(traps):
        ingest([Path()], traps / "w.duckdb", processes=2)
    assert any(started) and ran(traps) == ""


@pytest.mark.parametrize("what", ["text", "pipe", "link"])
def test_a_chart_takes_no_settings_of_the_folder(traps: Path, what: str) -> None:
    """matplotlib looks for `matplotlibrc` there first, and prints lines that it does not know."""
    file = traps / "matplotlibrc"
    if what == "pipe":
        os.mkfifo(file)
    elif what == "link":
        file.symlink_to("/dev/zero")
    else:
        file.write_text("\x1b]52;c;aGk=\x07: 1\n::error::x : 1\nfont.size: secret\n")
    words = [str(Path(sys.executable).with_name("bench")), "chart", "steps", "-o", "x.svg", "."]
    done = subprocess.run(
        words, cwd=traps, env=environment(), capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    assert b"matplotlibrc" not in done.stderr and (traps / "x.svg").exists()


@pytest.mark.parametrize("asked", ["", "importlib.util.find_spec('matplotlib'); "])
def test_a_module_that_was_asked_for_takes_none_either(folder: Path, asked: str) -> None:
    """A library may look whether matplotlib is there before anything imports it."""
    (folder / "matplotlibrc").write_text("font.size: 3\n")
    code = (
        "import importlib.util, os, sys; from bench.schema.own_process import begin; begin(); "
        f"{asked}import matplotlib; "
        "print(matplotlib.rcParams['font.size'], os.getcwd() == sys.argv[1],"
        " len([one for one in sys.meta_path if type(one).__name__ == '_Away']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=folder, env=environment(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == b"10.0 True 0\n", done.stderr.decode()


def test_what_a_launch_asks_its_trainer(traps: Path) -> None:
    done = quick(traps, "launch", "--model", "10m", "--dp", "2", "--dry-run")
    assert (ran(traps), done.code) == ("", 0), done.text
