"""Pages of earlier times: byte for byte what that revision, or that warehouse, gave."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from bench.ingest.files.pipeline import ingest
from bench.project.after_ingest import after_ingest_into
from bench.project.read_history import read_history
from bench.schema.materialized import views_are_stored
from bench.schema.opening import open_read
from tests.histories import Repository, document
from tests.program import Outcome, quick

ROWS = [
    "1 | 8 | 1 | 1 | 1 | 64 | 10.0 | 60.1",
    "1 | 4 | 2 | 1 | 1 | 64 | 12.0 | 50.2",
    "2 | 8 | 2 | 1 | 1 | 64 | 6.0 | 50.1",
]
FACTS = """[[fact]]
match = { file = "a.md" }
field = "dtype"
value = "fp16"
reason = "as in the scripts"
author = "Ada"
date = 2022-01-03
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, list[str]]:
    """Documents that come, change, are renamed and go, and the commits."""
    made = Repository(tmp_path_factory.mktemp("pages") / "repo")
    first = {"docs/004.md": document(ROWS[:2]), "a.md": document(ROWS)}
    ids = [made.commit(first), made.commit({"a.md": document(ROWS[::-1]), "facts.toml": FACTS})]
    made.git("mv", "docs/004.md", "004 renamed.md")
    ids += [made.commit({}), made.commit({"a.md": None})]
    read_history(made.folder, made.folder / "bench.duckdb")
    return made, ids


def page(folder: Path, *words: str) -> Outcome:
    return quick(folder, "report", *words, "--db", str(folder / "bench.duckdb"))


def test_a_page_of_a_commit_is_that_of_the_revision_alone(
    repository: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    made, ids = repository
    seen = set()
    for at in (0, 1, 3):
        folder = tmp_path / str(at)
        made.git("worktree", "add", "-q", str(folder), ids[at])
        with chdir(folder):
            ingest([folder], folder / "bench.duckdb")
            after_ingest_into(folder / "bench.duckdb", 5.0)
        alone = page(folder)
        assert alone.code == 0, alone.text
        word = f"2022-01-0{at + 1}" if at == 3 else ids[at][:10]
        assert page(made.folder, "--as-of", word).out == alone.out
        seen.add(alone.out)
    assert len(seen) == 3, "each has a page of its own"


def test_a_page_of_whatever_git_calls_a_commit(tmp_path: Path) -> None:
    """A tag of a commit without documents, one of another branch, a name that counts back."""
    made = Repository(tmp_path / "repo")
    made.commit({"a.md": document(ROWS), "notes.md": "# Notes"})
    made.git("checkout", "-q", "-b", "side")
    side = made.commit({"a.md": document(ROWS[:2]), "b.md": document(ROWS[1:])})
    made.git("checkout", "-q", "main")
    made.commit({"code.py": "1"})
    made.git("tag", "v1")
    last = made.commit({"a.md": document(ROWS[::-1])})
    read_history(made.folder, made.folder / "bench.duckdb")
    for word, commit in (("v1", "v1"), ("HEAD~1", "v1"), (side[:9], side), ("main", last)):
        folder = tmp_path / word
        made.git("worktree", "add", "-q", "--detach", str(folder), commit)
        with chdir(folder):
            ingest([folder], folder / "bench.duckdb")
            after_ingest_into(folder / "bench.duckdb", 5.0)
        then = page(made.folder, "--as-of", word)
        assert then.code == 0 and then.out == page(folder).out, then.text


def test_a_time_that_no_source_knows_is_an_error(repository: tuple[Repository, list[str]]) -> None:
    made, _ = repository
    for word, what in (("2021-12-31", "no benchmark document"), ("0123456", "no time or commit"),
                       ("soon", "no time or commit")):  # fmt: skip
        done = page(made.folder, "--as-of", word)
        assert done.code != 0 and what in done.err, done.text
    done = page(made.folder, "004 renamed.md", "--as-of", "2022-01-02")
    assert "not to paths" in done.err


def test_a_repository_that_is_gone_is_said(
    repository: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    made, ids = repository
    shutil.copy(made.folder / "bench.duckdb", tmp_path / "bench.duckdb")
    done = page(tmp_path, "--as-of", ids[0])
    assert done.code == 2 and "in no git repository" in done.err


def test_a_page_of_what_was_known_is_the_page_of_then(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    db, file = tmp_path / "bench.duckdb", tmp_path / "a.md"
    pages: list[str] = []
    times: list[str] = []

    def keep() -> None:
        pages.append(page(tmp_path).out)
        with open_read(db) as warehouse:
            [(at,)] = warehouse.rows("SELECT now()::TIMESTAMP + INTERVAL 1 MILLISECOND")
        times.append(at.isoformat(" "))

    file.write_text(document(ROWS))
    for change in ("", "other rows and a second file", "facts", "hidden"):
        if change.startswith("other"):
            file.write_text(document([ROWS[0].replace("10.0", "8.0"), *ROWS[1:]]))
            (tmp_path / "b.md").write_text(document(ROWS))
        elif change == "facts":
            (tmp_path / "facts.toml").write_text(FACTS)
        if change == "hidden":
            assert quick(tmp_path, "forget", "b.md").code == 0
        else:
            assert quick(tmp_path, "ingest", ".").code == 0
        keep()
    assert len(set(pages)) == len(pages), "each time has a page of its own"
    with open_read(db) as warehouse:
        assert views_are_stored(warehouse)
    (tmp_path / "facts.toml").unlink()  # what it said is in the warehouse
    for at, text in zip(times, pages, strict=True):
        assert page(tmp_path, "--known-at", at).out == text
    done = page(tmp_path, "--known-at", "2001-01-01")
    assert done.code == 2 and "was empty on" in done.err


def test_both_times_may_be_asked_for(tmp_path: Path) -> None:
    made = Repository(tmp_path / "repo")
    db = made.folder / "bench.duckdb"
    made.commit({"a.md": document(ROWS)})
    read_history(made.folder, db)
    before = page(made.folder, "--as-of", "2022-01-09")
    with open_read(db) as warehouse:
        [(at,)] = warehouse.rows("SELECT max(read_at) FROM commits")
    made.commit({"a.md": document(ROWS[:2])})
    read_history(made.folder, db)
    assert page(made.folder, "--as-of", "2022-01-09").out != before.out
    known = page(made.folder, "--as-of", "2022-01-09", "--known-at", at.isoformat(" "))
    assert known.out == before.out
