"""Records of several places and states in one warehouse: every run once."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.checkouts import GIT, ROWS, git
from tests.making import count, log, table
from tests.program import quick
from tests.recording import all_json


def test_two_sites_merge(folder: Path) -> None:
    """Two sites have a run in common; each exports, both land in one repository."""
    for site, times in (("a", (100, 101, 102)), ("b", (102, 103))):
        (folder / site / "logs").mkdir(parents=True)
        (folder / site / ".git").mkdir()
        for ms in times:
            (folder / site / "logs" / f"run{ms}.log").write_text(log(3, ms))
        assert quick(folder / site, "ingest", "-q", "logs").code == 0
        assert quick(folder / site, "export", "--records", "../records").code == 0
    assert len(list((folder / "records").rglob("*.json"))) == 4
    assert quick(folder, "ingest", "records").code == 0
    assert count(folder / "bench.duckdb", "runs") == 4
    # Kept apart instead, the two folders overlap, and nothing shows twice.
    for site in ("a", "b"):
        assert quick(folder / site, "export", "--records", f"../apart/{site}").code == 0
    done = quick(folder, "runs", "apart", "records", "--all", "--format", "json")
    assert len(json.loads(done.out)) == 4, done.text


def test_a_source_at_another_path_is_the_same_source(folder: Path) -> None:
    """Ids hang on the path; its bytes and the line tell a run all the same."""
    for site in ("a", "b"):
        (folder / site / f"in-{site}").mkdir(parents=True)
        (folder / site / ".git").mkdir()
        (folder / site / f"in-{site}" / "x.log").write_text(log(3))
        (folder / site / f"in-{site}" / "sweep.md").write_text(table(*ROWS))
        assert quick(folder / site, "export", "--records", "../records", f"in-{site}").code == 0
    assert len(all_json(folder / "records")) == 2 * (1 + len(ROWS))
    count = "SELECT count(*) FROM runs"
    for paths in (["records"], ["a/in-a", "records"], ["records", "b"], ["a/in-a", "records", "b"]):
        done = quick(folder, "sql", count, *paths, "--format", "csv")
        assert done.out.split()[-1] == str(1 + len(ROWS)), (paths, done.text)


def test_two_states_of_a_log_are_one_run(folder: Path) -> None:
    """Each branch exports the log as it was there; merged, the longer state shows."""
    for name, lines in (("a", 3), ("b", 9)):
        (folder / "x.log").write_text(log(lines))
        assert quick(folder, "export", "--records", name, "x.log").code == 0
    (folder / "x.log").write_text(log(5, 222))
    assert quick(folder, "export", "--records", "other", "x.log").code == 0
    show = "SELECT max(n) AS n FROM runs JOIN run_stats USING (run_id) GROUP BY run_id ORDER BY 1"
    done = quick(folder, "sql", show, "a", "b", "other", "--format", "csv")
    assert done.out.split() == ["n", "4", "8"], "of another run at that place nothing is lost"
    (folder / "x.log").write_text(log(7))
    done = quick(folder, "sql", show, "a", "b", "x.log", "--format", "csv")
    assert done.out.split() == ["n", "6"], "the log itself goes before every record of it"


def test_states_before_the_first_step_are_one_run(folder: Path) -> None:
    head = (
        "using world size: 8, data-parallel-size: 8, tensor-model-parallel size: 1\n"
        "------------------------ arguments ------------------------\n"
        "  num_layers ...................................... 24\n"
    )
    for name, text in (("a", head), ("b", head + "  seed ..... 1234\n"), ("c", head + log(3))):
        (folder / "x.log").write_text(text)
        assert quick(folder, "export", "--records", name, "x.log").code == 0
    for paths in (("a", "b"), ("a", "c"), ("a", "b", "c"), ("a", "b", "x.log")):
        done = quick(folder, "sql", "SELECT count(*) FROM runs", *paths, "--format", "csv")
        assert done.out.split()[-1] == "1", (paths, done.text)


def test_git_writes_no_marks_into_records(folder: Path) -> None:
    """Two branches bring newer states of one run: whatever git says, files stay whole."""
    git(folder, "init", "-q", "-b", "main")
    for branch, lines in (("main", 3), ("one", 6), ("two", 9)):
        if branch != "main":
            git(folder, "checkout", "-q", "-b", branch, "main")
        (folder / "x.log").write_text(log(lines))
        assert quick(folder, "export", "--records", "records", "x.log").code == 0
        git(folder, "add", "-A", "records")
        git(folder, "commit", "-qm", branch)
    git(folder, "checkout", "-q", "one")
    merged = subprocess.run(["git", "merge", "-q", "two"], cwd=folder, env=os.environ | GIT,
                            capture_output=True, text=True, check=False)  # fmt: skip
    assert merged.returncode in (0, 1), merged.stderr
    found = all_json(folder / "records")
    assert found and all("run" in record for record in found)
    done = quick(folder, "sql", "SELECT count(*) FROM runs", "records", "--format", "csv")
    assert done.out.split()[-1] == "1", done.text


def test_jobs_with_folders_of_their_own(folder: Path) -> None:
    for number in range(4):
        (folder / "runs" / str(number)).mkdir(parents=True)
        (folder / "runs" / str(number) / "train.log").write_text(log(3, 100 + number))
    assert quick(folder, "export", "--records", "records", "runs").code == 0
    assert len(list((folder / "records").rglob("*.records"))) == 1
    assert len(list((folder / "records").rglob("*.json"))) == 4


def test_a_record_of_a_state_read_before_gives_way(folder: Path) -> None:
    (folder / "x.log").write_text(log(3))
    assert quick(folder, "ingest", "-q", "x.log").code == 0
    assert quick(folder, "export", "--records", "records").code == 0
    (folder / "x.log").write_text(log(9))
    assert quick(folder, "ingest", "-q", "x.log", "records").code == 0
    assert count(folder / "bench.duckdb", "runs") == 1
    assert count(folder / "bench.duckdb", "iterations") == 9


def test_a_grown_log_replaces_its_record(folder: Path) -> None:
    (folder / "x.log").write_text(log(3))
    for lines in (3, 9):
        (folder / "x.log").write_text(log(lines))
        assert quick(folder, "ingest", "-q", "x.log").code == 0
        done = quick(folder, "export", "--records", "records")
        assert done.code == 0
    assert "1 written, 1 outdated removed" in done.err
    [record] = all_json(folder / "records")
    assert {row["n"] for row in record["statistics"]} == {8}


def test_another_run_is_another_record(folder: Path) -> None:
    (folder / "x.md").write_text(table("4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86"))
    assert quick(folder, "export", "--records", "r", "x.md").code == 0
    assert quick(folder, "forget", "x").code == 2
    (folder / "none.md").write_text("# nothing\n")
    assert quick(folder, "export", "--records", "r2", "none.md").code == 3
    assert quick(folder, "export", "--records", "x.md", "x.md").code == 2
