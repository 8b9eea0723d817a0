"""The first look into a folder of logs: what `bench runs FOLDER` says beside its listing."""

from pathlib import Path

import pytest

from tests.logs import header
from tests.making import SACCT_P, iteration
from tests.making import folder as logs_and_tables
from tests.program import quick


def test_what_is_said_of_a_folder(folder: Path) -> None:
    (folder / "good.log").write_text(header(4) + "\n" + iteration(4, of=4))
    (folder / "slurm-12.out").write_text(iteration(1) + "a line that nobody knows\n" * 3)
    (folder / "oom.log").write_text(iteration(1) + "RuntimeError: CUDA out of memory. Tried\n")
    (folder / "sacct.txt").write_text(SACCT_P)
    (folder / "notes.txt").write_text("nothing to read here\n")
    done = quick(folder, "runs", ".")
    assert done.code == 0
    assert done.err.splitlines() == [
        "3 runs in 3 files: 1 ok, 1 oom, 1 timeout",
        "scheduler accounting: 5 jobs in 1 file",
        "topology unknown (no DP, TP or PP in the log): 2 runs: oom.log:1, slurm-12.out:1",
        "not recognised: 1 file: notes.txt",
        "unread: 3 of 4 lines of 1 file, most in slurm-12.out; see bench doctor slurm-12.out",
        "3 rows; next: bench show good.log:1 .",
    ]
    assert "| status " in done.out.splitlines()[0]


def test_paths_are_named_as_typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "logs").mkdir()
    (folder / "here").mkdir()
    (folder / "logs" / "slurm-12.out").write_text(iteration(1) + "a\nb\n")
    (folder / "linked").symlink_to("logs")
    monkeypatch.chdir(folder / "here")
    done = quick(folder / "here", "runs", "../linked")
    assert "1 run: slurm-12.out:1\n" in done.err
    assert "most in slurm-12.out; see bench doctor ../linked/slurm-12.out\n" in done.err


def test_what_is_not_missing_is_not_spoken_of(folder: Path) -> None:
    (folder / "good.log").write_text(header(4) + "\n" + iteration(4, of=4))
    assert quick(folder, "runs", ".").err.splitlines()[:-1] == ["1 run in 1 file: 1 ok"]


def test_documents_count_too(folder: Path) -> None:
    logs_and_tables(folder / "all", logs=1, tables=1)
    done = quick(folder, "runs", "all")
    assert done.err.splitlines()[0] == "2 runs in 2 files: 1 ok, 1 ended"


def test_the_real_logs(shared: Path) -> None:
    # `more` holds tables of readings too, which are no logs.
    parts = sorted(path.name for path in (shared / "logs").iterdir() if path.name != "more")
    done = quick(shared / "logs", "runs", *parts, "--group", "status")
    assert done.code == 0, done.text
    assert done.err.splitlines()[0] == (
        "50 runs in 44 files: 19 ok, 16 ended, 9 fail, 5 cancelled, 1 timeout"
    )
    assert "not recognised: 1 file: INDEX.md" in done.err
