"""Answers kept between processes: the same bytes again, and never those of another state."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import chdir
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from bench.ingest.files.pipeline import ingest
from bench.terminal import answer_cache
from bench.terminal.source import Source
from tests.kept import DOCUMENT, MARK, PAGE, asked, entries, is_kept, mark, prepared
from tests.making import doubted, log
from tests.program import Outcome, quick

OF_ROWS = (
    ("report", "--model", "1.3B"), ("report", "sweep"), ("runs",), ("show", "004:44"), ("best",),
    ("days", "--model", "1.3B"), ("compare", "--by", "tp"),
    ("predict", "--model", "1.3B", "--nodes", "16"),
)  # fmt: skip
OF_DOCUMENTS = (
    ("audit", DOCUMENT), ("explain", "25.4", DOCUMENT), ("report", DOCUMENT),
    ("compare", DOCUMENT, DOCUMENT),
)  # fmt: skip


@pytest.fixture
def place(swept: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(swept, folder, monkeypatch)


@pytest.mark.parametrize("words", [*OF_ROWS, *OF_DOCUMENTS], ids=" ".join)
def test_the_same_answer_again(place: Path, words: tuple[str, ...]) -> None:
    first = quick(place, *words)
    assert first.out and first == quick(place, *words)
    [kept] = entries(place)
    assert kept.stat().st_mode & 0o777 == 0o600
    mark(place)
    again = quick(place, *words)
    assert again == Outcome(first.code, MARK + first.out, first.err)


def test_the_exit_code_is_kept(place: Path) -> None:
    doubted(place / "doubted")
    words = ("audit", "doubted/wrong.md")
    assert asked(place, *words).code == quick(place, *words).code == 1
    assert is_kept(place, *words)


def _grown(place: Path) -> None:
    (place / "new.log").write_text(log(5))
    assert quick(place, "ingest", "-q", "new.log").code == 0


def _replaced(place: Path) -> None:
    shutil.copyfile(place / "bench.duckdb", place / "copy")
    (place / "copy").replace(place / "bench.duckdb")


def _written_to(place: Path) -> None:
    with duckdb.connect(str(place / "bench.duckdb")) as con:
        con.execute("UPDATE raw.runs SET model = '1.3B'")
        os.utime(place / "bench.duckdb", ns=(0, 0))


def _being_written(place: Path) -> None:
    (place / "bench.duckdb.wal").write_bytes(b"")


def _configured(place: Path) -> None:
    (place / "bench.toml").write_text('[aliases]\n"004_tr3m-1B3.md" = "tr3m"\n')


CHANGES: tuple[Callable[[Path], None], ...] = (
    _grown, _replaced, _written_to, _being_written, _configured,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_an_answer_of_another_state_is_computed(
    place: Path, change: Callable[[Path], None]
) -> None:
    asked(place, *PAGE)
    assert is_kept(place, *PAGE)
    change(place)
    assert not is_kept(place, *PAGE)


def test_another_document_or_fact_is_computed(place: Path) -> None:
    words = ("report", DOCUMENT)
    for file in (DOCUMENT, "data/tables/facts.toml", "data/facts.toml", "facts.toml", "bench.toml"):
        asked(place, *words)
        assert is_kept(place, *words)
        with (place / file).open("a") as stream:
            stream.write("\n# no more\n")
    asked(place, *words)


def test_another_terminal_is_computed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("COLUMNS", "60"), ("TERM", "dumb"), ("NO_COLOR", "1"), ("TZ", "UTC+3")):
        asked(place, *PAGE)
        assert is_kept(place, *PAGE)
        monkeypatch.setenv(name, value)
    asked(place, *PAGE)


def test_another_question_is_computed(place: Path) -> None:
    asked(place, *PAGE)
    for more in ("--by=mfu", "--model=1.3B", "--where=tp = 1", "--all", "-q", "--format=json"):
        assert not is_kept(place, *PAGE, more)
    assert is_kept(place, *PAGE)


def test_another_folder_or_warehouse_is_computed(place: Path) -> None:
    words = (*PAGE, "--db", str(place / "bench.duckdb"))
    asked(place, *words)
    with chdir(place):
        assert is_kept(place, *words)
    assert not quick(place / "data", *words).out.startswith(MARK)
    shutil.copyfile(place / "bench.duckdb", place / "other.duckdb")
    assert not is_kept(place, *PAGE, "--db", str(place / "other.duckdb"))


def test_a_run_beside_a_document_is_one_of_the_warehouse(place: Path) -> None:
    """Its id looks like the name of a report."""
    query = "SELECT run_id FROM runs WHERE contains(uri, '004_') AND run_id < 'a' IS FALSE LIMIT 1"
    run = quick(place, "sql", query, "--format", "csv").out.split()[-1]
    words = ("compare", DOCUMENT, run)
    asked(place, *words)
    assert is_kept(place, *words)
    assert quick(place, "forget", DOCUMENT).code == 0
    assert not is_kept(place, *words)


def test_writes_that_wait_where_a_link_leads_are_seen(place: Path) -> None:
    words = (*PAGE, "--db", "link")
    (place / "link").symlink_to("bench.duckdb")
    asked(place, *words)
    assert is_kept(place, *words)
    _being_written(place)
    assert not is_kept(place, *words)


@pytest.mark.parametrize("name", ["duckdb", "jinja2", "markdown_it", "numpy", "pyarrow", "scipy"])
def test_another_version_of_a_library_is_seen(
    place: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"source": Source(db=place / "bench.duckdb")}
    before = answer_cache.key("runs", given)
    other = ModuleType(name)
    other.__spec__ = ModuleSpec(name, None, origin=str(place / "bench.duckdb"))
    monkeypatch.setitem(sys.modules, name, other)
    assert before and answer_cache.key("runs", given) not in (None, before)


def test_no_answer_is_left_of_what_is_purged(place: Path) -> None:
    quick(place, "runs")
    [kept] = entries(place)
    draft = kept.with_name(f".{kept.name}.00.new")  # of a process that was killed
    draft.write_bytes(kept.read_bytes())
    assert quick(place, "forget", "--purge", DOCUMENT).code == 0
    assert not kept.exists() and not draft.exists()


def test_a_change_of_the_program_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "view.sql"
    file.write_text("SELECT 1")
    before = answer_cache.files_of(str(tmp_path))
    assert before == answer_cache.files_of(str(tmp_path))
    file.write_text("SELECT 2")
    os.utime(file, ns=(0, 0))
    assert before != answer_cache.files_of(str(tmp_path))


def test_what_reads_more_and_what_fails_is_not_kept(place: Path) -> None:
    for words in (
        ("best", "-o", "best.md"), ("best", "-v"), ("best", "data/*/004*"), ("audit",),
        ("runs", "data/logs/fugaku_dp2.log"), ("runs", "data/tables"),
        ("best", "--known-at", "2099-01-01"), ("report", "--without-corrections"),
        ("report", "--table", DOCUMENT), ("explain", "25.4"), ("report", "failures"),
        ("report", "stragglers"), ("compare", "main", "HEAD"), ("best", "--where", "no such thing"),
        ("best", "--since", "7 days"), ("runs", "--since", "2020-01-01"),
    ):  # fmt: skip
        quick(place, *words)
        assert entries(place) == [], words


@pytest.mark.parametrize("setting", ["templates", "formats", "facts"])
def test_files_named_by_settings_are_not_looked_at(place: Path, setting: str) -> None:
    (place / "own").mkdir()
    (place / "bench.toml").write_text(f'{setting} = "own"\n')
    quick(place, "report", "--model", "1.3B")
    assert entries(place) == []


def test_nothing_is_kept_between_a_load_and_what_follows(place: Path) -> None:
    """Such an answer also follows from facts.toml, which may change."""
    (place / "bench.duckdb").unlink()
    ingest([doubted(place / "logs")], place / "bench.duckdb")
    assert quick(place, "report").code == 0
    assert entries(place) == []


def test_a_user_may_want_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(place, *PAGE)
    monkeypatch.setenv(answer_cache.FRESH, "1")
    assert not is_kept(place, *PAGE)
