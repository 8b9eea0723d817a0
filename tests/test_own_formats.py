"""A user's own log formats: a folder that `bench.toml` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.ingest.logs.dialect import _dialects, dialects
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.making import OWN_FORMAT
from tests.program import quick

SEGMENTS = """
title = "step lines of another trainer"
url = "https://example.org/trainer"
reads = "iteration"
hint = "our step"
anchor = '''our\\ step\\ (?P<iteration>\\d+):'''
{unterminated} = true
{exclusive} = true
groups = {{ iteration = {{ type = "bigint" }} }}
keys = {{ took = {{ column = "step_time_s", type = "double" }} }}
requires = [["took"]]

[[sample]]
line = "our step 1: loss: 2.5 | took: 0.25"
source = "our trainer"
row = {{ iteration = 1, step_time_s = 0.25, more = {{ loss = "2.5" }} }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "ours.toml").write_text(OWN_FORMAT)
    (tmp_path / "run.log").write_text("".join(f"st={n} took {240 + n}.5ms\n" for n in range(1, 9)))
    return tmp_path


def test_bench_toml_names_the_folder(folder: Path) -> None:
    (folder / "bench.toml").write_text('formats = "mine"\n')
    done = quick(folder, "ingest", "run.log")
    assert done.code == 0 and "ours" in done.text
    done = quick(folder, "sql", "SELECT median(step_time_s) AS s FROM iterations", "--format=csv")
    assert done.out == "s\n0.245\n"
    done = quick(folder, "runs", "run.log", "--format", "csv", "--columns", "step_time_s")
    assert done.out.splitlines()[1:] == ["0.2455"], "paths are read with them too"


@pytest.mark.parametrize("words", [("unterminated", "exclusive"), ("open_end", "alone")])
def test_earlier_names_of_words(folder: Path, words: tuple[str, str]) -> None:
    """A format written for an earlier version is read as it was."""
    unterminated, exclusive = words
    text = SEGMENTS.format(unterminated=unterminated, exclusive=exclusive)
    (folder / "mine" / "ours.toml").write_text(text)
    [own] = [one for one in dialects(folder / "mine") if one.name == "ours"]
    assert own.exclusive


def test_without_them_the_log_is_none(folder: Path) -> None:
    assert quick(folder, "ingest", "run.log").code == 3


def test_a_changed_format_reads_known_files_again(folder: Path) -> None:
    db, mine = folder / "bench.duckdb", folder / "mine"
    assert ingest([folder / "run.log"], db, formats=mine).new == 1
    assert ingest([folder / "run.log"], db, formats=mine).known == 1
    wrong, right = "shift = -3, ", "shift = -6, "
    text = (mine / "ours.toml").read_text().replace(wrong, right).replace("0.25 }", "0.00025 }")
    (mine / "ours.toml").write_text(text)
    _dialects.cache_clear()  # another process would read the file anew
    again = ingest([folder / "run.log"], db, formats=mine)
    assert (again.new, again.reread, again.changed) == (1, 1, 0), "its bytes are the same"
    with open_read(db) as warehouse:
        [(slowest, rows)] = warehouse.rows("SELECT max(step_time_s), count(*) FROM iterations")
    assert (slowest, rows) == (0.0002485, 8)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("broken.toml", OWN_FORMAT.replace("0.25 }", "0.5 }"), "sample 1 gives another row"),
        ("megatron_lm.toml", OWN_FORMAT, "bench has a format of this name"),
        ("twin.toml", OWN_FORMAT, "read each other's samples"),
        (
            "odd.toml",
            OWN_FORMAT.replace("st=", "xt=").replace("step_time_s", "stepp_time"),
            "`stepp_time` is no column of iterations",
        ),
    ],
)
def test_a_format_that_its_samples_do_not_prove(
    folder: Path, name: str, text: str, message: str
) -> None:
    (folder / "mine" / name).write_text(text)
    (folder / "bench.toml").write_text('formats = "mine"\n')
    done = quick(folder, "ingest", "run.log")
    assert done.code not in (0, 3) and message in done.err and "Traceback" not in done.err
    assert not (folder / "bench.duckdb").exists()


def test_a_folder_that_is_not_there(folder: Path) -> None:
    with pytest.raises(BenchError, match="no such folder of formats"):
        ingest([folder / "run.log"], folder / "bench.duckdb", formats=folder / "gone")


def test_what_is_taken_off_in_front_is_no_part_of_a_format(folder: Path) -> None:
    sample = '"2024-05-01 12:00:00,123 INFO st=1'
    own = OWN_FORMAT.replace('"st=1', sample)
    (folder / "mine" / "ours.toml").write_text(own.replace("'''st=", "'''INFO\\ st=", 1))
    with pytest.raises(BenchError, match="without its prefix"):
        ingest([folder / "run.log"], folder / "bench.duckdb", formats=folder / "mine")
    (folder / "mine" / "ours.toml").write_text(own)
    dated_log = "".join(f"2024-05-01 12:00:0{n} INFO st={n} took 250.0ms\n" for n in range(1, 9))
    (folder / "run.log").write_text(dated_log)
    ingest([folder / "run.log"], folder / "bench.duckdb", formats=folder / "mine")
    with open_read(folder / "bench.duckdb") as warehouse:
        ((first,),) = warehouse.rows("SELECT min(printed_at)::VARCHAR FROM iterations")
    assert first == "2024-05-01 12:00:01", "the time in front is kept"
