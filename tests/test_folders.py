"""Which files are read, under which names, and what is reported of the others."""

import os
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.schema.opening import open_read
from tests.making import count, folder, iteration, log


def uris(db: Path) -> list[str]:
    with open_read(db) as warehouse:
        return [uri for (uri,) in warehouse.rows("SELECT uri FROM current_uris ORDER BY uri")]


def test_loops_of_links_end(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")
    (files / "round").symlink_to(files, target_is_directory=True)
    (files / "self").symlink_to("self")
    (files / "broken.log").symlink_to("gone.log")
    (files / "a_link.log").symlink_to("run000.log")
    summary = ingest([files, files / "round"], db)
    assert summary.new == 5
    assert uris(db)[0] == "logs/run000.log", "a file goes by its own name"


def test_a_link_beside_its_file_goes_by_the_name_of_the_file(tmp_path: Path, db: Path) -> None:
    first, second, latest = (tmp_path / name for name in ("1.log", "2.log", "latest.log"))
    first.write_text(log(3))
    latest.symlink_to("1.log")
    ingest([latest], db)
    first.write_text(log(5))
    assert ingest([latest], db).changed == 1
    second.write_text(log(4, 250.0))
    latest.unlink()
    latest.symlink_to(tmp_path / "2.log")
    ingest([latest], db)
    ingest([tmp_path], db)
    assert uris(db) == ["1.log", "2.log"]
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM iterations") == [(9,)]


def test_a_link_to_another_place_keeps_its_name(tmp_path: Path, db: Path) -> None:
    """As those of DVC and git-annex, whose files are called by what they hold."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "0a1b").write_text(log(3))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run.log").symlink_to("../blobs/0a1b")
    ingest([tmp_path / "logs"], db)
    assert uris(db) == ["logs/run.log"]


def test_one_file_has_one_name(tmp_path: Path, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = folder(tmp_path / "logs", logs=1, tables=0)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(files, target_is_directory=True)
    given = ["../logs", "../logs/run000.log", str(files), "../elsewhere/../logs", "./../logs/."]
    monkeypatch.chdir(tmp_path / "elsewhere")
    for path in given:
        ingest([Path(path)], db)
    assert ingest([Path(path) for path in given], db).known == 1
    assert uris(db) == ["logs/run000.log"]
    other = tmp_path / "elsewhere" / "bench.duckdb"
    ingest([tmp_path / "link", files], other)
    assert uris(other) == ["../logs/run000.log"]


def test_names_that_are_no_utf8(tmp_path: Path, db: Path) -> None:
    for name, iterations in ((b"\xff.log", 3), (b"\xfe.log", 4)):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text(log(iterations))
    assert ingest([tmp_path], db).new == 2
    assert uris(db) == ["\\xfe.log", "\\xff.log"]
    assert ingest([tmp_path], db).known == 2


def test_files_that_are_nothing(tmp_path: Path, db: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "empty.csv").touch()
    (tmp_path / "core").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "zeros.log").write_bytes(bytes(100_000))
    (tmp_path / "huge.log").write_bytes(b"x" * (5 << 20))
    (tmp_path / "notes.md").write_text("# Notes\n\nNothing | here\n")
    (tmp_path / "poem.log").write_text("Shall I compare thee to a summer's day?\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "run.log").write_text(log(3))
    (tmp_path / "run.log").write_text(log(2) + "y" * (3 << 20) + "\n" + iteration(3))
    summary = ingest([tmp_path], db)
    assert summary.new == 1
    assert sorted(summary.skipped) == [
        "core", "empty.csv", "empty.log", "huge.log", "notes.md", "poem.log", "zeros.log",
    ]  # fmt: skip
    assert summary.failed == []
    assert count(db, "iterations") == 3


def test_what_cannot_be_read_is_told_and_the_rest_gets_in(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")
    os.mkfifo(files / "pipe.log")
    summary = ingest([files, files / "pipe.log"], db)
    assert (summary.new, summary.failed) == (
        5, [("logs/pipe.log", "not a regular file: save it to one")],
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() == 0, reason="NOT TESTED: root may read everything")
def test_files_and_folders_without_permission(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")
    (files / "run000.log").chmod(0)
    folder(files / "closed").chmod(0)
    try:
        summary = ingest([files], db)
    finally:
        (files / "closed").chmod(0o700)
    assert summary.new == 4
    assert sorted(uri for uri, _ in summary.failed) == ["logs/closed", "logs/run000.log"]


def test_a_file_that_vanishes_is_reported(tmp_path: Path, db: Path) -> None:
    files = folder(tmp_path / "logs")

    def vanish(uri: str) -> None:
        (files / "run001.log").unlink(missing_ok=True)

    summary = ingest([files], db, progress=vanish)
    assert summary.failed == [("logs/run001.log", "No such file or directory")]
    assert summary.new == 4


def test_pages_of_bench_site_are_no_source(tmp_path: Path, db: Path) -> None:
    """Other files of the folder are: people publish from docs/."""
    files = folder(tmp_path / "logs")
    table = "<table><tr><th>Nodes</th><th>Sec/it</th></tr><tr><td>8</td><td>1.5</td></tr></table>"
    (files / "public" / "runs").mkdir(parents=True)
    (files / "public" / "runs" / "page.html").write_text(table)
    (files / "public" / "beside.log").write_text(log(9, 123.0))
    assert ingest([files], db).new == 7
    (files / "public" / ".bench-site.json").write_text("{}")
    assert ingest([files], tmp_path / "again.duckdb").new == 6
