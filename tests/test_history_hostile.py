"""Repositories that somebody else made: bounded, told, and nothing written or run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.ingest.files.row_history import DocumentRows
from bench.ingest.files.stated_rows import StatedRow, stated_rows
from bench.project import revisions
from bench.project.read_history import read_history
from bench.schema.errors import BenchError
from bench.schema.opening import open_read
from tests.histories import Repository, document

ROWS = ["1 | 8 | 1 | 1 | 1 | 64 | 10.0 | 60.1", "1 | 4 | 2 | 1 | 1 | 64 | 12.0 | 50.2"]


def test_what_is_no_document_is_told_and_left(tmp_path: Path) -> None:
    made = Repository(tmp_path / "r")
    made.commit({"a.md": document(ROWS)})
    blob = made.git("rev-parse", "HEAD:a.md")
    (made.folder / "link.md").symlink_to("/etc/hostname")
    (made.folder / os.fsdecode(b"caf\xe9.md")).write_text(document(ROWS))
    made.commit({"big.md": "x" * (revisions.LONGEST + 1), ("n" * 220) + ".md": document(ROWS)})
    made.git(
        "update-index", "--add", "--cacheinfo", f"160000,{made.git('rev-parse', 'HEAD')},sub.md"
    )
    made.git("commit", "-q", "-m", "a submodule")
    # No checkout can hold this one: a tree is made that leads out of its folder.
    tree = made.git("mktree", given=f"100644 blob {blob}\ta.md\n".encode())
    outer = made.git("mktree", given=f"040000 tree {tree}\t..\n100644 blob {blob}\ta.md\n".encode())
    commit = made.git("commit-tree", outer, "-p", "HEAD", "-m", "::error::out\x1b[2J")
    made.git("update-ref", "refs/heads/main", commit)
    told = read_history(made.folder, tmp_path / "bench.duckdb")
    assert told.skipped == {
        "symbolic link": 1, "name that is unsafe or no text": 2, "name too long": 1,
        "longer than 8 MiB": 1,
    }  # fmt: skip
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert warehouse.rows("SELECT DISTINCT uri FROM revisions") == [("r/a.md",)]


def test_texts_of_a_commit_break_nothing(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    secret = "ghp_" + "a1B2" * 9
    texts = ["\n:100644 100644 a b M\n", f"token {secret}", "\x01" * 9, "x" * 5000]
    for number, text in enumerate(texts):
        made.commit({"a.md": document(ROWS[: 1 + number % 2])}, text)
    told = read_history(made.folder, db)
    assert told.commits == len(texts)
    assert secret.encode() not in db.read_bytes()
    with open_read(db) as warehouse:
        assert warehouse.rows("SELECT max(len(message)) FROM commits") == [(200,)]


def test_no_setting_of_a_repository_runs_anything(tmp_path: Path) -> None:
    made = Repository(tmp_path / "r")
    made.commit({"a.md": document(ROWS), ".gitattributes": "*.md diff=x filter=x\n"})
    mark = tmp_path / "ran"
    for name in ("core.fsmonitor", "diff.x.textconv", "diff.x.command", "diff.external",
                 "filter.x.smudge", "core.pager", "gpg.program", "core.sshCommand"):  # fmt: skip
        made.git("config", name, f"touch {mark}")
    made.git("config", "diff.orderFile", str(tmp_path / "none"))
    made.git("config", "log.showSignature", "true")
    assert read_history(made.folder, tmp_path / "bench.duckdb").documents == 1
    assert not mark.exists()


def test_thousands_of_branches_cost_nothing(tmp_path: Path) -> None:
    made = Repository(tmp_path / "r")
    commit = made.commit({"a.md": document(ROWS)})
    lines = "".join(f"create refs/heads/{n} {commit}\n" for n in range(3000))
    made.git("update-ref", "--stdin", given=lines.encode())
    assert read_history(made.folder, tmp_path / "bench.duckdb").commits == 1


def test_a_blob_that_is_missing_is_an_error(tmp_path: Path) -> None:
    made, db = Repository(tmp_path / "r"), tmp_path / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    blob = made.git("rev-parse", "HEAD:a.md")
    (made.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(BenchError, match="git does not have"):
        read_history(made.folder, db)
    assert not db.exists()


def test_a_bare_repository_and_a_shallow_clone_are_read(tmp_path: Path) -> None:
    made = Repository(tmp_path / "r")
    made.commit({"a.md": document(ROWS)})
    made.commit({"a.md": document(ROWS[:1])})
    made.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    made.git("clone", "-q", "--depth=1", f"file://{made.folder}", str(tmp_path / "shallow"))
    db = tmp_path / "bench.duckdb"
    assert read_history(tmp_path / "bare.git", db).commits == 2
    told = read_history(tmp_path / "shallow", db)
    assert (told.commits, told.shallow) == (1, True)


def test_a_document_that_claims_to_be_a_record_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "0123456789abcdef.json").write_text("{}")
    name = str(tmp_path / "0123456789abcdef.json")
    assert stated_rows(name, b'{"bench_record": 1}') == []
    assert stated_rows("a.md", b'{"bench_record": 1}') == []


def test_many_rows_of_one_text_are_matched_in_no_time() -> None:
    def row(time: str) -> StatedRow:
        return StatedRow("r", 1, "", {"dp": "8"}, {"step_time_s": time}, {"step_time_s": 1.0})

    document_ = DocumentRows("d")
    document_.move_to([row("1")] * 5000, 1)
    assert {one.kind for one in document_.move_to([row("2")] * 5000, 2)} == {"changed"}
    assert len(document_.move_to([], 3)) == 5000
    assert len(document_.gone) < 5000, "what went is remembered within bounds"
