"""What nobody measures or dates: no number of a file and no time of a commit loses the others."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from bench.ingest.files.parsed import Defect, contained
from bench.project.git import added
from tests.cells import read
from tests.histories import Repository
from tests.making import log, table
from tests.program import bench, quick

ODD = ["1e308B", "-1e308B", "0e999", "1e999", "1 ± 1e999", "1 (1e999)", "1e300 x 9", "9e299"]


@pytest.mark.parametrize(
    "heading", ["Nodes", "DP", "GBS", "Size", "Sec/it", "TFLOPs", "Mem", "Seq"]
)
@pytest.mark.parametrize("text", ODD)
def test_a_number_beyond_all_is_a_misfit(heading: str, text: str) -> None:
    cell = read(heading, text)
    assert cell.value is None or abs(cell.value) < 1e30
    assert cell.half is None or cell.half < 1e30


def test_odd_numbers_lose_no_other_file(folder: Path) -> None:
    rows = [f"1 | {one} | {one} | 1 | 1 | 1 | {one} | {one} | {one}" for one in ODD]
    (folder / "odd.md").write_text(table("1 | 124M | 1 | 1 | 1 | 1 | 512 | 40.5 | 1.36", *rows))
    (folder / "good.log").write_text(log(3))
    done = bench(folder, "ingest", ".")
    assert "Traceback" not in done.err and done.code == 0, done.text
    for line in (["runs", "--all"], ["report"], ["audit"], ["best"], ["days", "--all"], ["plan"]):
        done = quick(folder, *line)
        assert "Traceback" not in done.err and done.code in (0, 1, 2, 3), (line, done.text)


def test_a_defect_is_reported_with_its_place() -> None:
    with (
        pytest.raises(Defect, match=r"ZeroDivisionError at test_defects\.py:\d+; please"),
        contained(),
    ):
        _ = 1 / 0


def test_a_file_that_takes_all_memory_is_reported() -> None:
    with pytest.raises(Defect, match="MemoryError at"), contained():
        bytearray(1 << 62)


@pytest.mark.parametrize("when", ["99999999999999", "18446744073709551615", "-1", "253402300800"])
def test_a_commit_of_no_time(tmp_path: Path, when: str) -> None:
    """git takes any number; `bench trend` asks when files were added."""
    made = Repository(tmp_path / "r")
    made.commit({"a.md": "x"})
    tree = made.git("rev-parse", "HEAD^{tree}")
    person = f"a <a@b> {when} +0000"
    text = f"tree {tree}\nauthor {person}\ncommitter {person}\n\nx\n"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"], cwd=made.folder,
        input=text.encode(), check=True, capture_output=True,
    )  # fmt: skip
    made.git("update-ref", "refs/heads/main", done.stdout.decode().strip())
    found = added(made.folder, ["a.md"])
    assert found == {} or found["a.md"] < datetime(2200, 1, 1)
    made.commit({"b.md": "x"})
    assert found.keys() <= {"a.md"} and "b.md" in added(made.folder, ["b.md"])


@pytest.mark.parametrize(
    "line",
    [
        f"predict --model 1.3B --mbs {'9' * 40}",
        f"predict --model 1.3B --heads {'9' * 400}",
        "plan --model 1.3B --device-hours inf",
        "launch --model nano --time-limit nan --dry-run",
    ],
)
def test_a_number_out_of_range_is_refused(folder: Path, line: str) -> None:
    done = quick(folder, *line.split())
    assert done.code == 2 and "out of range" in done.err, done.text


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9e308"])
def test_an_infinite_number_has_no_source(folder: Path, number: str) -> None:
    (folder / "a.md").write_text(table("1 | 124M | 1 | 1 | 1 | 1 | 512 | 40.5 | 1.36"))
    done = quick(folder, "explain", number, "a.md")
    assert done.code and "Traceback" not in done.err and not done.out, done.text
