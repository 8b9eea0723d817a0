"""The warehouse from Python."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bench
from bench.ingest.files.pipeline import ingest
from bench.notebook.api import Bench
from bench.project.after_ingest import after_ingest_into
from bench.schema.errors import BenchError, Locked, NothingRecognised
from bench.schema.opening import open_write
from tests.making import folder, log


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "bench.duckdb"
    ingest([folder(path.parent / "logs")], path)
    after_ingest_into(path, 5)
    return path


def test_the_answers_are_frames(db: Path) -> None:
    w = bench.open(db)
    assert len(w.runs()) == len(w.configurations()) == 5
    assert list(w.configurations("origin = 'row' -- a remark")["size"]) == ["124M", "124M"]
    [run, *others] = w.runs("origin = 'log'")["run_id"]
    assert list(w.iterations(run)["iteration"]) == [1, 2, 3, 4, 5]
    assert len(w.iterations(others, where="iteration > 3")) == 4
    assert len(w.iterations([])) == 0
    assert list(w.measurements("step_time_s")["unit"].unique()) == ["s"]
    assert len(w.measurements(run=run)) == 0
    assert set(w.metric("step_time")["basis"]) == {"cell", "log"}
    assert w.sql("SELECT ? + 1 AS a", [1])["a"].item() == 2
    assert w.sql("SELECT $a AS a", {"a": "x"})["a"].item() == "x"


def test_a_notebook_keeps_no_writer_waiting(db: Path) -> None:
    w = bench.open(db)
    w.runs()
    open_write(db, 0).close()
    with w:
        w.runs()
        with pytest.raises(Locked):
            open_write(db, 0)
    open_write(db, 0).close()
    assert len(w.runs()) == 5, "it opens again"


def test_reading_into_memory(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log(3))
    with bench.read(tmp_path) as w:
        assert len(w.iterations()) == 3
    with pytest.raises(BenchError, match="closed"):
        w.iterations()
    (tmp_path / "run.log").write_text("nothing\n")
    with pytest.raises(NothingRecognised):
        bench.read(tmp_path)
    with pytest.raises(BenchError, match="no such file"):
        bench.read(tmp_path / "typo")
    with pytest.raises(BenchError, match="nothing to read"):
        bench.read()


def test_errors_are_told(db: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no warehouse"):
        bench.open(tmp_path / "no.duckdb")
    w = bench.open(db)
    with pytest.raises(BenchError, match="unknown metric"):
        w.metric("speed")
    with pytest.raises(BenchError, match="cannot be used") as error:
        w.runs("no_such_column = 1")
    assert "no_such_column" in str(error.value)


def test_everything_public_has_a_docstring() -> None:
    named = [getattr(bench, name) for name in bench.__all__]
    methods = [value for name, value in vars(Bench).items() if name[0] != "_"]
    assert all(inspect.getdoc(one) for one in [Bench, *named, *methods])


def test_importing_bench_imports_nothing_heavy() -> None:
    script = "import sys, bench; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "bench" in loaded
    assert not loaded & {"duckdb", "pandas", "pyarrow", "numpy", "matplotlib", "jinja2", "typer"}


def test_the_examples_of_the_documentation_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (root / "docs" / "python.md").read_text("utf-8")
    first, second, third = re.findall(r"```python\n(.*?)```", text, re.S)
    monkeypatch.chdir(root)
    exec(compile(first, "docs/python.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "001_1.3b_benchmarking.md" in shown
    exec(compile("import bench\n" + third, "docs/python.md", "exec"), {})
    assert "A64FX" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    exec(compile(second, "docs/python.md", "exec"), {})
    assert "no warehouse at bench.duckdb" in capsys.readouterr().out
    ingest([root / "data" / "tables"], tmp_path / "bench.duckdb")
    exec(compile(second, "docs/python.md", "exec"), {})
    assert "GB" in capsys.readouterr().out


def test_every_call_is_in_the_documentation(root: Path) -> None:
    text = (root / "docs" / "python.md").read_text("utf-8")
    calls = [name for name in vars(Bench) if name[0] != "_" and name != "close"]
    assert all(f"w.{name}(" in text for name in calls)
    assert all(f"bench.{name}(" in text for name in bench.__all__)


def test_what_sources_do_not_state_is_told(tmp_path: Path) -> None:
    """As `--set` tells it on the command line."""
    logs = folder(tmp_path / "logs")
    w = bench.read(logs, set={"device": "A64FX", "devices_per_node": 1})
    found = w.configurations("origin = 'log'")
    assert set(found["device"]) == {"A64FX"} and "device" in found["annotated"].iloc[0]
    with pytest.raises(BenchError, match="devce"):
        bench.read(logs, set={"devce": "A64FX"})


def test_a_notebook_shows_what_a_warehouse_holds(tmp_path: Path) -> None:
    page = tmp_path / "table.md"
    page.write_text(
        "A100 80GB\n\n| Size | Nodes | DP | TP | PP | Device | Sec/it |\n|--|--|--|--|--|--|--|\n"
        "| 1.3B | 1 | 1 | 1 | 1 | A<b>1</b> | 2.0 |\n"
    )
    with bench.read(page) as w:
        shown = w._repr_html_()
    assert "in memory" in shown and "1.3B" in shown
    assert "<b>" not in shown, "text of a table is text"
