"""A folder that somebody else made: its links choose no file that we write."""

from __future__ import annotations

import json
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bench.ci.config import validate
from bench.ingest.files.folders import files_below
from bench.launch.sweep import exclusive
from bench.project.facts_file import read_facts
from bench.project.settings import find_db
from bench.schema.connect import connect_file, disconnect
from bench.schema.errors import BenchError
from bench.schema.location import place_of
from bench.schema.opening import open_read, open_write
from bench.site.folder import Folder
from bench.terminal.tables import emit
from bench.vocabulary.atomic import atomic_write
from tests.program import quick

TEXT = "export PATH=$HOME/bin:$PATH\n"


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that was made by others, beside a file that is not theirs."""
    monkeypatch.delenv("BENCH_DB", raising=False)
    (tmp_path / "profile").write_text(TEXT)
    (tmp_path / "work/.git").mkdir(parents=True)
    return tmp_path / "work"


@pytest.mark.parametrize("end", [".wal", ".wal.checkpoint", ".wal.recovery"])
@pytest.mark.parametrize("target", ["profile", "missing"])
def test_nothing_is_written_through_a_link_for_a_log_of_writes(
    cloned: Path, end: str, target: str
) -> None:
    db = cloned / "bench.duckdb"
    log = Path(f"{db}{end}")
    log.symlink_to(cloned.parent / target)
    with pytest.raises(BenchError, match="is a link"):
        open_write(db)
    log.unlink()
    open_write(db).close()
    log.symlink_to(cloned.parent / target)
    for opening in (open_write, open_read):
        with pytest.raises(BenchError, match="is a link"):
            opening(db)
    assert (cloned.parent / "profile").read_text() == TEXT
    assert not (cloned.parent / "missing").exists()


def test_the_log_of_writes_is_that_of_the_file_that_a_link_leads_to(cloned: Path) -> None:
    """DuckDB keeps it there; a link is the usual way to a large disk."""
    (cloned / "disk").mkdir()
    db, file = cloned / "bench.duckdb", cloned / "disk/rows.duckdb"
    open_write(file).close()
    db.symlink_to(file)
    open_write(db).close()
    log = Path(f"{file}.wal")
    log.symlink_to(cloned.parent / "missing")
    for opening in (open_write, open_read):
        with pytest.raises(BenchError, match="is a link"):
            opening(db)
    assert not (cloned.parent / "missing").exists()


def test_a_warehouse_is_a_file(cloned: Path) -> None:
    os.mkfifo(cloned / "pipe.duckdb")
    for db in (cloned / "pipe.duckdb", Path("/dev/zero")):
        with pytest.raises(BenchError, match="not a regular file"):
            open_read(db)
    (cloned / "link.duckdb").symlink_to(cloned.parent / "missing")
    with pytest.raises(BenchError, match="not there"):
        connect_file(cloned / "link.duckdb", read_only=False)
    # One of a user's own that leads to a warehouse is followed, where they name it.
    open_write(cloned.parent / "own.duckdb").close()
    (cloned / "own.duckdb").symlink_to(cloned.parent / "own.duckdb")
    disconnect(connect_file(cloned / "own.duckdb", read_only=True))


OUTSIDE = ("../x.duckdb", "/x.duckdb", "away/x.duckdb", "folder:../x", "ducklake:../x.ducklake",
           "ducklake:sqlite:/x", ".git/x.duckdb", "~/x.duckdb")  # fmt: skip


@pytest.mark.parametrize("named", OUTSIDE)
def test_bench_toml_names_a_warehouse_within_the_repository(
    cloned: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cloned / "away").symlink_to(cloned.parent)
    (cloned / "bench.toml").write_text(f'db = "{named}"\n')
    with pytest.raises(BenchError, match="is outside work"):
        find_db(None, cloned)
    with pytest.raises(BenchError, match="is outside work"):
        validate([cloned / "bench.toml"])
    assert find_db(Path("../x.duckdb"), cloned) == cloned / "../x.duckdb"
    monkeypatch.setenv("BENCH_DB", named)
    assert find_db(None, cloned)


def test_bench_toml_sends_no_password_to_a_server(cloned: Path) -> None:
    (cloned / "bench.toml").write_text('db = "ducklake:postgres:dbname=x host=example.com"\n')
    with pytest.raises(BenchError, match="names a server"):
        find_db(None, cloned)
    with pytest.raises(BenchError, match="names a server"):
        validate([cloned / "bench.toml"])


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared folder of one commit."""
    folder = tmp_path_factory.mktemp("team")
    place = Path(f"folder:{folder / 'team'}")
    place_of(place).create(None)
    (folder / "sweep.md").write_text("| DP | TP | tokens/s |\n|--|--|--|\n| 8 | 2 | 900 |\n" * 2)
    assert quick(folder, "ingest", "-q", "sweep.md", "--db", str(place)).code == 0
    return folder / "team"


@pytest.fixture
def shared(cloned: Path, team: Path) -> Path:
    shutil.copytree(team, cloned / "team")
    return Path(f"folder:{cloned / 'team'}")


def test_only_files_of_a_shared_folder_are_collected(shared: Path, cloned: Path) -> None:
    data = cloned / "team/data"
    (data / "thesis.odt").write_text(TEXT)
    os.utime(data / "thesis.odt", (0, 0))
    place_of(shared).collect(timedelta(days=1))
    assert (data / "thesis.odt").read_text() == TEXT
    data.rename(cloned.parent / "home")
    data.symlink_to("../../home")
    before = sorted((cloned.parent / "home").iterdir())
    (cloned / "more.md").write_text("| DP | TP | tokens/s |\n|--|--|--|\n| 4 | 2 | 500 |\n")
    for words in (["db", "gc"], ["ingest", "more.md"]):
        done = quick(cloned, *words, "--db", str(shared))
        assert done.code in (2, 4) and "is a link" in done.err, done.text
    assert sorted((cloned.parent / "home").iterdir()) == before


@pytest.mark.parametrize("name", ["commits", "data"])
def test_a_part_of_a_shared_folder_on_another_disk_is_read(
    shared: Path, cloned: Path, name: str
) -> None:
    (cloned / "team" / name).rename(cloned.parent / "disk")
    (cloned / "team" / name).symlink_to(cloned.parent / "disk")
    place = place_of(shared)
    assert len([*place.changes(0)]) == len(place.history()) > 0
    assert place.check()[0] > 0 and place.check()[1] == []
    with pytest.raises(BenchError, match="is a link"):
        place.collect(timedelta(0))


WRONG = {
    "deep": "[" * 200_000,
    "no list": {"gone": 5},
    "no truth": {"whole": None},
    "no time": {"at": "then"},
    "a number": {"files": [{"table": "loads", "name": "x", "sha256": 5}]},
    "a path": {"files": [{"table": "loads", "name": "../x.parquet", "sha256": ""}]},
}


def test_a_commit_of_others_is_refused_in_words(shared: Path, cloned: Path) -> None:
    commit, place = cloned / "team/commits/0000000001.json", place_of(shared)
    entry = json.loads(commit.read_text())
    for made in WRONG.values():
        commit.write_text(made if isinstance(made, str) else json.dumps(entry | made))
        for asked in (lambda: [*place.changes(0)], place.history):
            with pytest.raises(BenchError, match="commit 1"):
                asked()
        assert "commit 1" in str(place.check())
    for file in entry["files"]:
        file["table"] = "runs" if file["table"] != "runs" else "loads"
    commit.write_text(json.dumps(entry))
    with pytest.raises(BenchError, match="rows of commit 1 do not fit"):
        open_read(shared)


@pytest.mark.parametrize("where", ["commits", "data"])
def test_a_pipe_in_a_shared_folder_is_not_waited_for(
    shared: Path, cloned: Path, where: str
) -> None:
    file = sorted((cloned / "team" / where).iterdir())[0]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(BenchError, match="cannot read"):
        open_read(shared)


def test_an_export_writes_through_no_link(cloned: Path, shared: Path) -> None:
    profile = cloned.parent / "profile"
    out = cloned / "out"
    out.mkdir()
    (out / ".runs.csv.part").symlink_to(profile)
    (out / "runs.csv").symlink_to(profile)
    assert quick(cloned, "export", "-o", "out", "--format", "csv", "--db", str(shared)).code == 0
    assert profile.read_text() == TEXT and not (out / "runs.csv").is_symlink()


def test_a_device_is_written_to_where_a_user_names_it(cloned: Path) -> None:
    out = cloned / "out"
    out.mkdir()
    for name in ("index.html", "runs.md", "chart.svg"):
        (out / name).symlink_to("/dev/null")
    with pytest.raises(BenchError, match="the site cannot be written"):
        Folder(out, {}, {}, None, frozenset()).write("index.html", b"x", "key")
    with pytest.raises(BenchError, match="cannot write the output"):
        emit("text", out, name="runs.md")
    with pytest.raises(OSError, match="not a regular file"):
        atomic_write(out / "chart.svg", b"x")
    with pytest.raises(BenchError, match="outside work"):  # who planted the link did not say so
        emit("text", out / "runs.md")
    emit("text", Path("/dev/null"))
    assert all((out / name).is_symlink() for name in ("index.html", "runs.md", "chart.svg"))


@pytest.mark.parametrize("line", ["export --records out", "site -o out"])
def test_a_folder_that_is_written_leads_nowhere_else(cloned: Path, shared: Path, line: str) -> None:
    away = cloned.parent / "away"
    away.mkdir()
    for name in ("sweep.md", "runs", "data", "assets"):
        (cloned / "out").mkdir(exist_ok=True)
        (cloned / "out" / name).symlink_to(away)
    done = quick(cloned, *line.split(), "--db", str(shared))
    assert done.code == 2 and "leads outside" in done.err, done.text
    assert not [*away.iterdir()]


def test_a_site_of_before_that_is_nested_deep_is_told(cloned: Path, shared: Path) -> None:
    (cloned / "out").mkdir()
    (cloned / "out/.bench-site.json").write_text("[" * 200_000)
    done = quick(cloned, "site", "-o", "out", "--db", str(shared))
    assert done.code == 2 and "nested too deep" in done.err, done.text


def hole(file: Path) -> None:
    """A file that says to be of 4 TiB, and takes no room."""
    file.touch()
    os.truncate(file, 4 << 40)


def test_what_is_a_hole_is_not_read(cloned: Path, team: Path) -> None:
    shutil.copy(team.parent / "sweep.md", cloned)
    for name in ("x.log", "y.md", "z.json", "e.csv", "q.log.gz"):
        hole(cloned / name)
    done = quick(cloned, "ingest", ".")
    assert done.code == 1 and "1 new, 5 failed" in done.err, done.text
    assert "of which 0 were written" in quick(cloned, "doctor", "x.log").err


@pytest.mark.parametrize("what", ["a hole", "a pipe"])
def test_settings_of_a_folder_are_short_files(cloned: Path, what: str) -> None:
    make = hole if what == "a hole" else os.mkfifo
    (cloned / "formats").mkdir()
    make(cloned / "formats/mine.toml")
    (cloned / "bench.toml").write_text('formats = "formats"\n')
    make(cloned / "claim.json")
    for words in (["ingest", "."], ["verify", "claim.json", "."]):
        done = quick(cloned, *words)
        assert done.code == 2 and "cannot" in done.err, done.text
    if what == "a hole":  # a pipe of these names is passed by
        for name in ("facts.toml", "bench.toml"):
            (cloned / name).unlink(missing_ok=True)
            hole(cloned / name)
            with pytest.raises(BenchError, match="cannot read"):
                read_facts(cloned / name) if name == "facts.toml" else find_db(None, cloned)


def test_a_format_is_like_one_of_its_folder(cloned: Path) -> None:
    (cloned / "formats").mkdir()
    (cloned.parent / "other.toml").write_text('title = "x"\n')
    (cloned / "formats/mine.toml").write_text('like = "../../other"\n')
    (cloned / "bench.toml").write_text('formats = "formats"\n')
    done = quick(cloned, "doctor", "bench.toml")
    assert "`like` names no other format" in done.err, done.text


def test_files_of_the_system_are_no_logs(cloned: Path) -> None:
    for name, target in (("a.log", "/proc/self/pagemap"), ("b.md", "/proc/self/environ"),
                         ("c", "/proc/self/fdinfo"), ("d", "/"), ("e", "/sys")):  # fmt: skip
        (cloned / name).symlink_to(target)
    told: list[str] = []
    found = files_below([cloned, cloned / "a.log"], lambda path, error: told.append(str(error)))
    assert found == [] and set(told) == {"a file of the system, not one that was written"}


def test_text_is_not_written_as_a_page(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="not written as HTML"):
        emit("a cell: <script>alert(1)</script>\n", tmp_path / "x.HTML")
    assert not [*tmp_path.iterdir()]


def test_the_lock_of_a_launch_is_no_link(cloned: Path) -> None:
    (cloned / ".lock").symlink_to(cloned.parent / "profile")
    with pytest.raises(OSError), exclusive(cloned):
        pass
    assert (cloned.parent / "profile").read_text() == TEXT


def test_the_usual_name_is_no_link_that_leads_away(cloned: Path) -> None:
    (cloned / "bench.duckdb").symlink_to(cloned.parent / "profile")
    with pytest.raises(BenchError, match="is outside work"):
        find_db(None, cloned)
