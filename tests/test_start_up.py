"""What a command imports and starts before its work: a start waits for each module."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ingest.files.content import stamp_of
from tests.making import iteration


def test_help_imports_nothing_heavy() -> None:
    listed = [sys.executable, "-c", "import bench.cli, sys; print(*sys.modules)"]
    modules = set(subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split())
    assert not modules & {"rich", "duckdb", "pandas", "jinja2", "numpy"}


def test_a_page_of_the_warehouse_loads_no_reader(data: Path, tmp_path: Path) -> None:
    """A page starts in the time of its libraries: what reads logs and draws stays outside."""
    program = "import sys; from bench.cli import main; sys.argv[1:] = {}; main()"
    ingest = ["ingest", "-q", str(data / "tables"), "--db", "w.duckdb"]
    subprocess.run([sys.executable, "-c", program.format(ingest)], cwd=tmp_path, check=True)
    page = ["report", "--model", "1.3B", "--db", "w.duckdb", "-o", "page.md"]
    modules = imported(page, tmp_path)
    assert "bench.reports.page" in modules
    heavy = {"pyarrow", "pandas", "numpy", "matplotlib", "markdown_it", "scipy"}
    assert not modules & heavy


def test_settings_are_validated_once(
    data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pydantic takes as long to import as DuckDB."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "bench.toml").write_text('[budgets]\n"1.3B" = "380B tokens"\n')
    command = ["runs", str(data / "tables" / "004_tr3m-1B3.md"), "-q"]
    assert "pydantic" in imported(command, folder)
    assert "pydantic" not in imported(command, folder)


def test_reading_goes_without_pandas(data: Path, tmp_path: Path) -> None:
    """PyArrow would import it with its first array, and nothing here uses it."""
    modules = imported(["ingest", "-q", str(data / "logs"), "--db", "w.duckdb"], tmp_path)
    assert "pyarrow" in modules
    assert "pandas" not in modules


def test_steps_are_read_in_columns_without_pandas(tmp_path: Path) -> None:
    lines = [iteration(n, of=9999) for n in range(1000, 1400)]
    (tmp_path / "run.log").write_text("".join(lines))
    modules = imported(["ingest", "-q", "run.log", "--db", "w.duckdb"], tmp_path)
    assert "bench.ingest.logs.step_rows" in modules
    assert "pandas" not in modules


def test_known_files_load_no_reader(data: Path, tmp_path: Path) -> None:
    """Ten thousand of them are told in less time than what reads a file takes to be imported."""
    files = shutil.copytree(data, tmp_path / "data", ignore=shutil.ignore_patterns("S*.md", "g*"))
    while not all(stamp_of(path).settled for path in files.rglob("*")):
        pass
    ingest = ["ingest", "data", "-q", "--db", "w.duckdb"]
    assert {"numpy", "pyarrow"} <= imported(ingest, tmp_path)
    modules = imported(ingest, tmp_path)
    assert "bench.ingest.files.content" in modules
    assert not modules & {"numpy", "pyarrow", "pandas", "bench.ingest.files.planner"}


@pytest.mark.parametrize(("given", "used"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_reading_starts_no_threads_that_it_has_no_work_for(
    data: Path, tmp_path: Path, given: dict[str, str], used: str
) -> None:
    program = (
        "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']));"
        f"from bench.cli import main; import sys; sys.argv[1:] = {['ingest', str(data / 'logs')]};"
        "main()"
    )
    bare = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=bare | given,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == used


def imported(args: list[str], folder: Path) -> set[str]:
    """The modules that a command of the program ends with."""
    program = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules));"
        f"from bench.cli import main; sys.argv[1:] = {args}; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())
