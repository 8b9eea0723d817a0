"""What cannot start is told before, and what is broken of earlier launches in words."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from bench.launch.folder import RunFolder
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.launching import preloadable, write
from tests.program import quick, told

ACTING = Path(__file__).with_name("acting.py")
WELL = f'trainer = "command"\ncommand = "{sys.executable} {ACTING} well {{a}}"\n'


def test_a_dry_run_tells_what_cannot_start(folder: Path) -> None:
    library = preloadable(folder, "libjemalloc_of_ours.so")
    text = f"""
        trainer = "command"
        command = "{{program}} {{dp}}"
        values = {{ program = ["true", "no-such-program-here"] }}
        [settings]
        dp = [1, 4096]
        [env]
        LD_PRELOAD = [{json.dumps(str(library))}, "libtcmalloc_minimal.so.99"]
        """
    done = quick(folder, "launch", str(write(folder, text)), "--dry-run")
    assert done.code == 1, done.text
    assert len(done.out.splitlines()) == 8, "every command all the same"
    said = [line for line in done.err.splitlines() if line.startswith("cannot start ")]
    assert len(said) == 7 and "7 runs of 8 cannot start" in done.err
    fits = f"dp=1, program=no-such-program-here, LD_PRELOAD={library}"
    assert f"cannot start {fits}: program not found: no-such-program-here" in said
    assert any("dp=4096" in one and "4096 processes on" in one for one in said)
    refused = "LD_PRELOAD library cannot be loaded: libtcmalloc_minimal.so.99"
    assert any(refused in one for one in said)
    assert not (folder / "launches").exists()


@pytest.mark.slow
def test_a_launch_lists_some_of_what_is_dropped_and_a_dry_run_all(folder: Path) -> None:
    values = f"values.a = {list(range(26))}\nconstraints = ['a = 7']\n"
    file = str(write(folder, WELL + values))
    assert quick(folder, "launch", file, "--dry-run").err.count("dropped a=") == 25
    done = quick(folder, "launch", file)
    assert done.code == 0 and done.err.count("dropped a=") == 10, done.text
    assert "and 15 more (list them with --dry-run)" in done.err


@pytest.mark.slow
def test_runs_of_another_machine_tell_nothing_of_this_one(folder: Path) -> None:
    file = write(folder, WELL + "values.a = 1\n")
    assert quick(folder, "launch", str(file)).code == 0
    assert ", based on past runs" in quick(folder, "launch", str(file), "-o", "x", "--dry-run").err
    [log] = folder.glob("launches/*/*/*.log")
    elsewhere, found = re.subn('"device": "[^"]+"', '"device": "A64FX"', log.read_text())
    assert found == 1
    (folder / "theirs.log").write_text(elsewhere)
    assert quick(folder, "ingest", "theirs.log", "--db", "theirs.duckdb").code == 0
    words = ("launch", str(file), "-o", "x", "--dry-run", "--db", "theirs.duckdb")
    assert "no comparable past run" in quick(folder, *words).err


def test_a_dry_run_of_jobs_says_what_only_the_nodes_know(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "launcher = 'slurm'\ntrainer = 'command'\ncommand = 'x'\nvalues = { a = 1 }\n"
    file = write(folder, text + "env = { LD_PRELOAD = 'libtcmalloc_minimal.so.99' }\n")
    monkeypatch.setenv("PATH", str(folder))
    done = quick(folder, "launch", str(file), "--dry-run")
    assert done.code == 1 and "cannot start a=1: sbatch not found" in done.err, done.text
    (folder / "sbatch").write_text("")
    (folder / "sbatch").chmod(0o755)
    done = quick(folder, "launch", str(file), "--dry-run")
    assert done.code == 0 and "on the compute nodes are checked after each run" in done.err, (
        done.text
    )


@pytest.mark.parametrize("text", ['{"plan": "x", "ca', "[]", '{"plan": "x"}', "\x00"])
def test_a_state_that_cannot_be_read_is_not_taken_for_none(folder: Path, text: str) -> None:
    file = write(folder, "trainer = 'command'\ncommand = 'true'\nvalues = { a = 1 }\n")
    assert quick(folder, "launch", str(file)).code == 1
    [state] = folder.glob("launches/sweep/*/run.json")
    state.write_text(text)
    for words in ((), ("--dry-run",)):
        done = quick(folder, "launch", str(file), *words)
        told(done, 2, "cannot read the state of a run", str(state), "remove the file")


@pytest.mark.slow
def test_an_attempt_that_nobody_saw_end_is_no_second_repeat(folder: Path) -> None:
    """It printed its end, and went on without the launcher that was to verify it."""
    file = str(write(folder, WELL + "values.a = 1\n"))
    assert quick(folder, "launch", file).code == 0
    [state] = folder.glob("launches/sweep/*/run.json")
    state.write_text(state.read_text().replace('"status": "ok"', '"status": "running"'))
    [log] = state.parent.glob("*.log")
    log.write_text(log.read_text().partition("bench launch measured")[0])
    assert quick(folder, "launch", file).code == 0
    with open_read(folder / "bench.duckdb") as warehouse:
        told = warehouse.rows("SELECT status FROM runs ORDER BY ALL")
    assert told == [("cancelled",), ("ok",)]


def test_an_attempt_that_somebody_removed_leaves_its_number_free(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    for number in (1, 2, 3):
        assert folder.begin("true") == number
        folder.log.write_text(f"attempt {number}\n")
    shutil.rmtree(folder.path / "attempt-1")
    (folder.path / "attempt-old").mkdir()
    assert folder.begin("true") == 4
    assert [log.read_text() for log in folder.earlier()] == ["attempt 2\n", "attempt 3\n"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with pytest.raises(BenchError, match="cannot create the run directory"):
        RunFolder(tmp_path / "run").begin("true")
