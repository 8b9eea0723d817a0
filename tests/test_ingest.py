"""Files get in whole, once, under one name, whatever happens to them."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from bench.ingest import version
from bench.ingest.files.content import read_content
from bench.ingest.files.pipeline import ingest, ingest_into
from bench.ingest.files.source import read_file
from bench.ingest.files.task import Task
from bench.schema.errors import BenchError
from bench.schema.opening import in_memory, open_read, open_write
from bench.schema.store import hide
from bench.schema.warehouse import Warehouse
from tests.making import count, everything, folder, iteration, log, table


def runs_by_file(db: Path) -> dict[str, int]:
    with open_read(db) as warehouse:
        return dict(warehouse.rows("SELECT uri, count(*) FROM runs GROUP BY uri ORDER BY uri"))


def test_known_unchanged_files_add_nothing(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")
    assert ingest([files], db).new == 5
    before = db.stat().st_mtime_ns, everything(db)
    again = ingest([files], db)
    assert (again.new, again.known, again.failed) == (0, 5, [])
    assert (db.stat().st_mtime_ns, everything(db)) == before


def test_nothing_recognised_makes_no_warehouse(tmp_path: Path, db: Path) -> None:
    (tmp_path / "poem.txt").write_text("Shall I compare thee to a summer's day?\n")
    summary = ingest([tmp_path], db)
    assert (summary.new, summary.skipped) == (0, ["poem.txt"])
    assert not db.exists()


def test_a_path_that_does_not_exist_is_refused_before_anything_is_read(
    tmp_path: Path, db: Path
) -> None:
    with pytest.raises(BenchError, match="no such file"):
        ingest([folder(tmp_path / "logs"), tmp_path / "typo"], db)
    assert not db.exists()


def test_a_missing_folder_for_the_warehouse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="cannot make"):
        ingest([folder(tmp_path / "logs")], tmp_path / "no" / "bench.duckdb")


def test_a_changed_file_shows_its_newest_generation_only(tmp_path: Path, db: Path) -> None:
    file = tmp_path / "run.log"
    file.write_text(log(3))
    ingest([file], db)
    [(before, _)] = runs_and_iterations(db)
    file.write_text(log(7))
    assert ingest([file], db).new == 1
    assert runs_and_iterations(db) == [(before, 7)], "a grown log keeps its run id"
    assert count(db, "raw.iterations") == 10, "the old generation stays in raw"
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT generation FROM loads ORDER BY 1") == [(1,), (2,)]
        assert warehouse.rows("SELECT generation, uris FROM sources") == [(2, ["run.log"])]


def runs_and_iterations(db: Path) -> list[tuple[str, int]]:
    query = "SELECT run_id, count(*)::INT FROM runs JOIN iterations USING (run_id) GROUP BY 1"
    with open_read(db) as warehouse:
        return [(str(run), int(n)) for run, n in warehouse.rows(f"{query} ORDER BY 1")]


def test_the_old_bytes_again_are_not_read_again(tmp_path: Path, db: Path) -> None:
    file = tmp_path / "run.log"
    for iterations in (3, 4, 3):
        file.write_text(log(iterations))
        summary = ingest([file], db)
    assert summary.copies == 1
    assert count(db, "iterations") == 3
    assert count(db, "raw.iterations") == 7


def test_identical_bytes_are_one_source_with_two_names(tmp_path: Path, db: Path) -> None:
    (tmp_path / "a.log").write_text(log(3))
    shutil.copy(tmp_path / "a.log", tmp_path / "b.log")
    summary = ingest([tmp_path], db)
    assert (summary.new, summary.copies) == (1, 1)
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT uri, uris FROM sources") == [("a.log", ["a.log", "b.log"])]
    assert runs_by_file(db) == {"a.log": 1}
    assert count(db, "raw.iterations") == 3


@pytest.mark.parametrize("changed", ["a.log", "b.log"])
def test_then_one_of_the_two_changes(tmp_path: Path, db: Path, changed: str) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(log(3))
    ingest([tmp_path], db)
    (tmp_path / changed).write_text(log(5))
    ingest([tmp_path], db)
    assert runs_by_file(db) == {"a.log": 1, "b.log": 1}
    assert sorted(n for _, n in runs_and_iterations(db)) == [3, 5]
    (tmp_path / changed).write_text(log(3))
    ingest([tmp_path], db)
    assert runs_by_file(db) == {"a.log": 1}


def test_a_copy_of_the_old_bytes_does_not_share_the_ids_of_the_grown_log(
    tmp_path: Path, db: Path
) -> None:
    (tmp_path / "run.log").write_text(log(3))
    ingest([tmp_path], db)
    shutil.copy(tmp_path / "run.log", tmp_path / "run.log.bak")
    (tmp_path / "run.log").write_text(log(5))
    ingest([tmp_path], db)
    found = runs_and_iterations(db)
    assert len({run for run, _ in found}) == 2
    assert sorted(n for _, n in found) == [3, 5]


def test_new_code_reads_known_files_again(
    tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(log(3))
    (tmp_path / "c.log").write_text(log(4))
    ingest([tmp_path], db)
    before = everything(db)
    monkeypatch.setattr(version, "PARSER_VERSION", version.PARSER_VERSION + 1)
    summary = ingest([tmp_path / "a.log"], db)
    assert (summary.new, summary.copies) == (1, 0)
    summary = ingest([tmp_path], db)
    assert (summary.new, summary.known) == (1, 2), "b.log moved along with a.log"
    after = everything(db)
    assert after["runs"] == before["runs"], "the ids stay"
    assert after["iterations"] == before["iterations"]
    assert count(db, "raw.iterations") == 14


def test_forgotten_files_and_runs_come_back(tmp_path: Path, db: Path) -> None:
    ingest([folder(tmp_path / "logs")], db)
    before = everything(db)
    with open_read(db) as warehouse:
        [(run,)] = warehouse.rows("SELECT run_id FROM runs WHERE ends_with(uri, 'table000.md')")
    for hidden in (True, False, True, False):
        with open_write(db) as warehouse:
            hide(warehouse, "uri", ["logs/run001.log"], hidden=hidden)
            hide(warehouse, "run", [run], hidden=hidden)
        if hidden:
            assert "logs/run001.log" not in runs_by_file(db)
            assert count(db, "configurations", f"run_id = '{run}'") == 0
            assert count(db, "measurements", f"run_id = '{run}'") == 0
            assert count(db, "runs") == 3
            assert ingest([tmp_path / "logs"], db).known == 5, "a file that is hidden stays so"
    assert everything(db) == before
    assert count(db, "raw.iterations") == 15


def test_a_later_decision_counts_whatever_the_clock_says(tmp_path: Path, db: Path) -> None:
    ingest([folder(tmp_path / "logs")], db)
    with open_write(db) as warehouse:
        query = "INSERT INTO raw.hidden VALUES ('uri', 'logs/run001.log', true, '2999-01-01')"
        warehouse.con.execute(query)
        hide(warehouse, "uri", ["logs/run001.log"], hidden=False)
    assert runs_by_file(db)["logs/run001.log"] == 1


def test_a_number_beyond_its_column_costs_that_number_only(tmp_path: Path, db: Path) -> None:
    big = "9" * 30
    (tmp_path / "run.log").write_text(
        log(3) + iteration(4).replace("batch size:     8", f"batch size: {big}")
    )
    (tmp_path / "t.md").write_text(table(f"1 | 124M | {big} | 1 | 1 | 1 | 512 | 40.5 | 1.36"))
    summary = ingest([tmp_path], db)
    assert (summary.new, summary.failed) == (2, [])
    assert count(db, "iterations") == 4
    assert count(db, "configurations") == 2


def test_a_copy_whose_original_changes_meanwhile_is_read_after_all(
    tmp_path: Path, db: Path
) -> None:
    (tmp_path / "a.log").write_text(log(3))
    ingest([tmp_path], db)
    shutil.copy(tmp_path / "a.log", tmp_path / "b.log")

    def change(uri: str) -> None:
        if uri == "b.log" and count(db, "loads") == 1:
            (tmp_path / "a.log").write_text(log(5))
            ingest([tmp_path / "a.log"], db)

    assert ingest([tmp_path / "b.log"], db, progress=change).failed == []
    assert sorted(n for _, n in runs_and_iterations(db)) == [3, 5]
    assert len(runs_by_file(db)) == 2


def test_paths_into_memory(tmp_path: Path) -> None:
    files = folder(tmp_path / "logs")
    with in_memory() as warehouse:
        assert ingest_into(warehouse, [files, files], tmp_path).new == 5
        assert stored(warehouse) == 5


def stored(warehouse: Warehouse) -> int:
    [(runs,)] = warehouse.rows("SELECT count(*) FROM runs")
    return int(runs)


def test_another_reading_has_another_version(root: Path) -> None:
    """Known files are read again only by a new PARSER_VERSION: raise it when this fails."""
    digest = hashlib.sha256()
    for path in sorted((root / "data").rglob("*.*")):
        read = read_file(Task(read_content(path), path.as_posix(), path.stem))
        tables = {name: list(rows) for name, rows in sorted(read.rows.by_table.items()) if rows}
        for name, many in sorted(read.rows.tables.items()):
            tables.setdefault(name, []).extend(row for one in many for row in one.to_pylist())
        digest.update(json.dumps(tables, sort_keys=True, default=str).encode())
    recorded = (root / "tests" / "gold" / "reading.txt").read_text("utf-8").split()
    assert recorded == [str(version.PARSER_VERSION), digest.hexdigest()[:16]]


def test_what_a_document_no_longer_holds_is_not_shown(tmp_path: Path, db: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(table("4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86"))
    ingest([page], db)
    page.write_text("# 1.3B\n\nWithdrawn: the numbers were wrong.\n")
    assert [warning.code for warning in ingest([page], db).warnings] == ["withdrawn"]
    assert runs_by_file(db) == {}
    assert ingest([page], db).known == 1, "once is enough"
    page.write_text(table("4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 99.5 | 0.87"))
    ingest([page], db)
    assert runs_by_file(db) == {"a.md": 1}
