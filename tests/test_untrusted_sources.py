"""A warehouse names files as its sources; who made it has read none of ours."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from bench.audit.closed_findings import unused
from bench.audit.finding import Finding, Place
from bench.audit.places import placed
from bench.ingest.files.source_text import source_text
from bench.schema.opening import open_read
from tests.program import quick

SECRET = "SECRET-OF-THE-READER"
NAME = "004_tr3m-1B3.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(data / "tables" / NAME, folder)
    assert quick(folder, "ingest", ".").code == 0
    return folder


@pytest.fixture
def named(made: Path, tmp_path: Path) -> Callable[..., Path]:
    """The warehouse with its source said to be another file, of these first bytes."""

    def of(uri: str, first: bytes = b"") -> Path:
        db = tmp_path / "bench.duckdb"
        shutil.copy(made / "bench.duckdb", db)
        with duckdb.connect(db) as con:
            digest = hashlib.sha256(first).hexdigest()
            con.execute("UPDATE raw.loads SET uri = ?, sha256 = ?, to_byte = ?",
                        [uri, digest, len(first)])  # fmt: skip
            con.execute("DROP SCHEMA IF EXISTS materialized CASCADE")
        return db

    return of


def test_lines_of_a_source_are_shown_as_they_were_read(made: Path) -> None:
    with open_read(made / "bench.duckdb") as warehouse:
        lines, why = source_text(warehouse, made, NAME)
    assert not why and lines[44].startswith("|")


def test_a_source_that_has_grown_large_is_shown_as_far_as_it_was_read(
    named: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.ingest.files.source_text.LARGEST", 16)
    (tmp_path / "a.log").write_text("step 1\nstep 2\nstep 3\n")
    with open_read(named("a.log", b"step 1\nstep 2")) as warehouse:
        assert source_text(warehouse, tmp_path, "a.log") == (["step 1", "step 2"], "")
    with open_read(named("a.log", b"step 1\nstep 2\nstep")) as warehouse:
        assert "what was read of it is larger than" in source_text(warehouse, tmp_path, "a.log")[1]


def test_a_document_whose_comments_are_too_much_to_read_is_told(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_read(made / "bench.duckdb") as warehouse:
        assert unused(warehouse, [], [], made, complete=True) == []
        monkeypatch.setattr("bench.audit.closed_findings.LARGEST", 16)
        [found] = unused(warehouse, [], [], made, complete=True)
    assert found.uri == NAME and "are not read: larger than" in found.evidence


@pytest.mark.parametrize("first", [b"", b"-----BEGIN"])
def test_no_more_is_shown_of_a_file_than_its_digest_says(
    named: Callable[..., Path], tmp_path: Path, first: bytes
) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text(f"-----BEGIN\n{SECRET}\n")
    with open_read(named(str(secret), first)) as warehouse:
        assert source_text(warehouse, tmp_path, str(secret))[0] == [first.decode()]
        found = Finding(("R1",), "error", "high", "m", "", (Place(str(secret), 2),))
        assert SECRET not in str(placed(warehouse, [found], tmp_path))
        assert source_text(warehouse, tmp_path, "id_rsa")[0] == []  # no source of it


def test_a_guess_at_a_part_of_a_line_is_not_confirmed(
    named: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "id_rsa").write_text(f"-----BEGIN\n{SECRET}\n")
    for first in (b"-", b"-----BEGIN\nSECRET"):
        with open_read(named("id_rsa", first)) as warehouse:
            assert source_text(warehouse, tmp_path, "id_rsa") == (
                [],
                "id_rsa has changed since it was read",
            )
    with open_read(named("id\0rsa", b"-")) as warehouse:
        assert "cannot be read here" in source_text(warehouse, tmp_path, "id\0rsa")[1]


@pytest.mark.parametrize("how", ["path", "link"])
def test_no_comment_is_taken_of_a_file_outside_that_was_not_read(
    named: Callable[..., Path], tmp_path: Path, how: str
) -> None:
    text = "mine\n<!-- bench audit: ok R1: of the reader -->\n"
    (tmp_path / "away").mkdir()
    mine, folder = tmp_path / "away" / "notes.md", tmp_path / "here"
    folder.mkdir()
    mine.write_text(text)
    (folder / "linked.md").symlink_to(mine)
    uri = "../away/notes.md" if how == "path" else "linked.md"
    finding = Finding(("R1",), "error", "high", "m", "", (Place(uri, 1),))
    with open_read(named(uri, b"mine\n")) as warehouse:
        assert not placed(warehouse, [finding], folder)[0].closed
        assert unused(warehouse, [], [], folder, complete=True) == []
    with open_read(named(uri, b"not it")) as warehouse:
        [found] = unused(warehouse, [], [], folder, complete=True)
        assert found.line == 1 and "are not read" in found.evidence
    with open_read(named(uri, text.encode())) as warehouse:  # the same, by who has read it
        assert placed(warehouse, [finding], folder)[0].closed == "of the reader"


def test_a_site_shows_nothing_of_a_file_that_was_not_read(
    named: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "id_rsa").write_text(f"{SECRET}\n" * 60)
    named(str(tmp_path / "id_rsa"))
    done = quick(tmp_path, "site", "-o", "out")
    assert done.code == 0, done.text
    texts = [file.read_text("utf-8") for file in (tmp_path / "out").rglob("*.*") if file.is_file()]
    assert len(texts) > 50 and not any(SECRET in text for text in texts)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_source_that_is_no_file_is_not_waited_for(
    named: Callable[..., Path], tmp_path: Path, kind: str
) -> None:
    uri = "/dev/zero"
    if kind == "pipe":
        os.mkfifo(tmp_path / "pipe.md")
        uri = str(tmp_path / "pipe.md")
    named(uri)
    for words in (["audit"], ["explain", "R1"]):
        assert "Traceback" not in quick(tmp_path, *words).text
    with open_read(tmp_path / "bench.duckdb") as warehouse:
        assert "not a regular file" in source_text(warehouse, tmp_path, uri)[1]
