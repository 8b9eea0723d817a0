"""Run records: the same bytes for the same run, a warehouse rebuilt from them, nothing doubled."""

from __future__ import annotations

import json
import re
import shutil
import tracemalloc
from pathlib import Path

import jsonschema
import pytest

from bench.records.json_schema import schema
from bench.records.layout import NAME, content, file_name, marker_of, marker_text
from bench.records.reading import read_records
from tests.checkouts import ROWS
from tests.making import count, log, table
from tests.program import quick
from tests.recording import all_json, files

ROOT = Path(__file__).resolve().parent.parent
RUNS = ("runs", "configurations", "measurements", "topology", "env_flags", "run_stats", "left_out")
FACTS = "SELECT * FROM facts WHERE scope <> 'record'"


@pytest.fixture(scope="module")
def records(swept: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of data/; tests only read there."""
    folder = tmp_path_factory.mktemp("records")
    done = quick(swept, "export", "--records", str(folder / "records"))
    assert done.code == 0, done.text
    return folder / "records"


@pytest.fixture(scope="module")
def rebuilt(records: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these records and a warehouse of them; tests only read there."""
    folder = tmp_path_factory.mktemp("rebuilt")
    (folder / ".git").mkdir()
    shutil.copytree(records, folder / "records")
    done = quick(folder, "ingest", "records")
    assert done.code == 0 and "6 new" in done.err, done.text
    return folder


# What a record is.


def test_one_file_a_run_named_by_its_content(records: Path, swept: Path) -> None:
    found = [path for path in records.rglob("*") if NAME.fullmatch(path.name)]
    assert len(found) == count(swept / "bench.duckdb", "runs") == 210
    assert all(path.name == file_name(path.read_bytes()) for path in found)
    markers = {path.relative_to(records).as_posix() for path in records.rglob("*.records")}
    assert "data/data.records" in markers and len(markers) == 6
    assert max(path.stat().st_size for path in found) < 50_000
    text = next(iter((records / "data").glob("*.json"))).read_text()
    assert '"iterations"' not in text and '"statistics": [' in text


def test_records_fit_the_published_schema(records: Path) -> None:
    published = json.loads((ROOT / "docs" / "record.schema.json").read_text("utf-8"))
    assert published == schema(), "make generate"
    jsonschema.Draft202012Validator.check_schema(published)
    validator = jsonschema.Draft202012Validator(published)
    for record in all_json(records):
        validator.validate(record)
    broken = all_json(records)[0]
    broken["run"]["line"] = "12"
    assert not validator.is_valid(broken)


def test_the_same_bytes_whatever_the_order(records: Path, data: Path, folder: Path) -> None:
    shutil.copytree(data, folder / "data")
    paths = sorted(map(str, (folder / "data").rglob("*.*")), reverse=True)
    for at in range(0, len(paths), 8):
        assert quick(folder, "ingest", "-q", *paths[at : at + 8]).code in (0, 3)
    assert quick(folder, "export", "--records", "again").code == 0
    assert files(folder / "again") == files(records)
    done = quick(folder, "export", "--records", "again")
    assert "0 written, 210 unchanged" in done.err


def test_paths_need_no_warehouse(records: Path, data: Path, folder: Path) -> None:
    shutil.copytree(data, folder / "data")
    assert quick(folder, "export", "--records", "out", "data").code == 0
    assert files(folder / "out") == files(records)


# Reading them.


def test_records_rebuild_the_warehouse(
    records: Path, swept: Path, rebuilt: Path, folder: Path
) -> None:
    for view in RUNS:
        assert count(rebuilt / "bench.duckdb", view) == count(swept / "bench.duckdb", view), view
    ours, theirs = (quick(at, "sql", f"SELECT count(*) FROM ({FACTS}) WHERE run_id IS NOT NULL").out
                    for at in (rebuilt, swept))  # fmt: skip
    assert ours == theirs
    assert quick(rebuilt, "export", "--records", str(folder / "again")).code == 0
    assert files(folder / "again") == files(records), "not a byte is lost"
    done = quick(rebuilt, "ingest", "records")
    assert "0 new, 6 unchanged" in done.err


@pytest.mark.parametrize("name", ["model", "days", "sweep", "runs"])
def test_pages_from_records_tell_the_same(swept: Path, rebuilt: Path, name: str) -> None:
    ours = quick(rebuilt, "report", name, "--model", "1.3B")
    theirs = quick(swept, "report", name, "--model", "1.3B").out
    assert ours.code == 0, ours.text
    ours_lines, theirs_lines = ours.out.splitlines(), theirs.splitlines()
    # Days that a document prints are not in its records.
    theirs_lines = [line.partition(" Printed days:")[0] for line in theirs_lines]
    other = [line for line in theirs_lines if line not in ours_lines]
    # What a document says beside its runs, and where the files lie.
    assert all(re.match(r"\| (:-|File|Name|00[0-4] )|Remarks",
                        line) for line in other), other  # fmt: skip
    assert name == "model" or not other


def test_records_are_read_without_a_warehouse(rebuilt: Path) -> None:
    assert quick(rebuilt, "show", "001:29", "records").code == 0


def test_a_table_comes_back_from_records(swept: Path, rebuilt: Path) -> None:
    ours = quick(rebuilt, "report", "--table", "001:2").out
    assert ours == quick(swept, "report", "--table", "001:2").out != ""


def test_a_run_and_its_record_are_one(
    records: Path, data: Path, swept: Path, rebuilt: Path, folder: Path
) -> None:
    shutil.copytree(data, folder / "data")
    shutil.copytree(records, folder / "records")
    db = folder / "bench.duckdb"
    for first, second in ((rebuilt, "data"), (swept, "records")):
        shutil.copy(first / "bench.duckdb", db)
        assert quick(folder, "ingest", "-q", second).code == 0
        assert {view: count(db, view) for view in ("runs", "configurations")} == {
            "runs": 210, "configurations": 210
        }  # fmt: skip
        assert count(db, "iterations") == 26, "the log itself goes before its record"
        assert count(db, "runs", "uri LIKE 'records%'") == 0
    assert quick(folder, "forget", "data/logs/fugaku_dp2.log").code == 0
    assert count(db, "runs") == 210, "the record stands in for what is hidden"


# Records that somebody else wrote.


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of two logs; tests take copies of them."""
    folder = tmp_path_factory.mktemp("two")
    (folder / ".git").mkdir()
    for name, ms in (("x", 100), ("y", 101)):
        (folder / f"{name}.log").write_text(log(3, ms))
    assert quick(folder, "export", "--records", "r", "x.log", "y.log").code == 0
    return folder / "r"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bench_record": 2}, "another version"),
        ({"run": []}, "'run' is not an object"),
        ({"run": {"id": ""}}, "'id' is not text"),
        ({"source": {"uri": "x", "sha256": "y"}}, "'kind' is not text"),
        ({"topology": {"tp": "4"}}, "'tp' of topology is '4', not int32"),
        ({"topology": {"tp": 2**40}}, "'tp' of topology"),
        ({"topology": {"color": 1}}, "no column 'color'"),
        ({"measurements": {"a": 1}}, "not a list of objects"),
        ({"measurements": [{"metric": "x"}]}, "measurements has no"),
        ({"facts": {"line": [["a"]]}}, "is not [field, line, value]"),
        ({"facts": {"line": [[1, 2, "x"]]}}, "not text"),
        ({"table": {"id": "x"}}, "row_number"),
    ],
)
def test_a_record_that_cannot_be_used_is_told(
    two: Path, folder: Path, change: dict[str, object], words: str
) -> None:
    shutil.copytree(two, folder / "r")
    first, _ = sorted((folder / "r").rglob("*.json"))
    first.write_bytes(content(json.loads(first.read_bytes()) | change))
    done = quick(folder, "ingest", "r")
    assert done.code == 0 and "record_misfit" not in done.err and words in done.err, done.text
    assert first.name in done.err and count(folder / "bench.duckdb", "runs") == 1


def test_files_that_are_no_records(folder: Path) -> None:
    (folder / "r").mkdir()
    (folder / "r" / "r.records").write_text("")
    (folder / "r" / f"{'0' * 16}.json").write_text("{")
    assert quick(folder, "ingest", "r").code == 3
    (folder / "other.json").write_text('{"a": 1}')
    assert quick(folder, "report", "other.json").code == 3
    (folder / "x.log").write_text(log(3))
    assert quick(folder, "export", "--records", "s", "x.log").code == 0
    [one] = (folder / "s").rglob("*.json")
    alone = shutil.copy(one, folder / "alone.json")
    done = quick(folder, "runs", str(alone), "--all", "--format", "json")
    assert done.code == 0 and len(json.loads(done.out)) == 1, "one record is a source as well"


# Scrubbing.


def test_a_neighbour_that_is_no_record_is_left_alone(folder: Path) -> None:
    (folder / "x.md").write_text(table(*ROWS))
    assert quick(folder, "export", "--records", "r", "x.md").code == 0
    [group] = {path.parent for path in (folder / "r").rglob("*.json")}
    odd = {"0": '{"bench_record": 1, "run": {"id": []}}', "1": "[" * 100_000, "2": "7"}
    for name, text in odd.items():
        (group / f"{name * 16}.json").write_text(text)
    done = quick(folder, "export", "--records", "r", "x.md")
    assert done.code == 0 and "3 unchanged" in done.err, done.text
    assert all((group / f"{name * 16}.json").exists() for name in odd)


@pytest.mark.slow
def test_a_thousand_records(folder: Path) -> None:
    """More than are read together; each has rows in seven tables.

    benchmarks/records.py measures the time of many more.
    """
    import importlib.util

    spec = importlib.util.spec_from_file_location("records", ROOT / "benchmarks" / "records.py")
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    at = made.make(folder / "scratch", ROOT / "data/tables/001_1.3b_benchmarking.md", 1000)
    assert quick(folder, "ingest", "-q", str(at)).code == 0
    assert count(folder / "bench.duckdb", "configurations") == 1000


def test_a_changed_document_replaces_its_records(folder: Path) -> None:
    """Records of the older version lie beside it; those of another document of the name stay."""
    (folder / "sweep.md").write_text(table(*ROWS))
    assert quick(folder, "export", "sweep.md", "--records", "records").code == 0
    count = "SELECT count(*) AS n FROM runs"
    before = quick(folder, "sql", count, "sweep.md", "records", "--format", "csv").out
    (folder / "sweep.md").write_text(table(*ROWS).replace("100.5", "77.7"))
    assert quick(folder, "sql", count, "sweep.md", "--format", "csv").out == before
    assert quick(folder, "sql", count, "sweep.md", "records", "--format", "csv").out == before
    (folder / "sweep.md").write_text("| Nodes | TP | Sec/it |\n|--|--|--|\n| 99 | 1 | 5.5 |\n")
    done = quick(folder, "sql", count, "sweep.md", "records", "--format", "csv")
    assert int(done.out.split()[1]) == int(before.split()[1]) + 1


def test_a_changed_row_leaves_no_record_behind(folder: Path) -> None:
    for seconds in ("100.5", "77.7"):
        (folder / "sweep.md").write_text(table(*ROWS).replace("100.5", seconds))
        assert quick(folder, "export", "sweep.md", "--records", "records").code == 0
    times = {m["value"] for r in all_json(folder / "records") for m in r["measurements"]}
    assert 77.7 in times and 100.5 not in times
    assert len(all_json(folder / "records")) == len(ROWS)


def test_records_are_read_one_by_one(tmp_path: Path) -> None:
    """60 links to one file of 63 MiB took 3.9 GiB."""
    folder = tmp_path / "records"
    folder.mkdir()
    marker_of(folder).write_text(marker_text())
    (folder / f"{0:016x}.json").write_bytes(b'{"bench_record": 1}'.ljust(8 << 20))
    for number in range(1, 20):
        (folder / f"{number:016x}.json").symlink_to(f"{0:016x}.json")
    tracemalloc.start()
    try:
        rows, _ = read_records(marker_of(folder), "s")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(rows.by_table["warnings"]) == 20
    assert most < 80 << 20
