"""What may be named: patterns, tar archives, standard input, remote files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.ingest.files import inputs
from bench.ingest.files.inputs import fetched, remote_url
from bench.schema.errors import BenchError
from bench.vocabulary.wildcards import matching
from tests.checkouts import ROWS
from tests.making import count, log, table
from tests.program import quick

UNCHANGED: Callable[[bytes], bytes] = bytes


def uris(folder: Path) -> list[str]:
    done = quick(folder, "sql", "SELECT uri FROM sources ORDER BY uri", "--format", "json")
    return [row["uri"] for row in json.loads(done.out)]


def tarred(path: Path, members: dict[str, bytes], pack: Callable[[bytes], bytes]) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    path.write_bytes(pack(buffer.getvalue()))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


# Patterns.


def test_a_pattern_that_the_shell_left_alone(folder: Path) -> None:
    for name in ("a/x.log", "a/b/y.log", "a/b/z.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(log(3, 100 + len(name)))
    assert quick(folder, "ingest", "-q", "a/**/*.log").code == 0
    assert uris(folder) == ["a/b/y.log", "a/x.log"]
    done = quick(folder, "ingest", "nope/*.log")
    assert done.code == 2 and "no file matches nope/*.log" in done.err
    assert "exit 0" in quick(folder, "runs", "a/*.log").text
    (folder / "[1].log").write_text(log(3, 999))
    assert quick(folder, "ingest", "-q", "[1].log").code == 0, "a name goes before a pattern"
    assert "[1].log" in uris(folder)


def test_a_pattern_ends_in_a_folder_that_links_to_itself(folder: Path) -> None:
    for name in ("own/x.log", "away/y.log", ".hidden/z.log"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(log(3, 100 + len(name)))
    for number in range(4):
        (folder / f"own/loop{number}").symlink_to(".")
    (folder / "own/top").symlink_to("..")
    (folder / "own/broken").symlink_to("nowhere")
    for pattern in ("own/**/*.log", "**/**/**/**/**/**/*.log", "own/loop1/**/*.log"):
        assert len(list(inputs.inputs([folder / pattern], folder, lambda *_: None))) == 2, pattern
    assert matching(Path("nowhere/**")) == []


# Archives.


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("x.tar", UNCHANGED), ("x.tar.gz", gzip.compress), ("x.tgz", gzip.compress),
        ("x.tar.bz2", bz2.compress), ("x.tar.xz", lzma.compress),
    ],
)  # fmt: skip
def test_a_tar_archive(folder: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    members = {
        "job/run.log": log(3).encode(), "job/old.log.gz": gzip.compress(log(3, 77).encode()),
        "job/sweep.md": table(*ROWS).encode(), "job/logo.png": b"\x89PNG", ".cache/x.log": b"x",
    }  # fmt: skip
    tarred(folder / name, members, pack)
    done = quick(folder, "ingest", name)
    assert done.code == 0 and "3 new" in done.err, done.text
    assert uris(folder) == [f"{name}!/job/{one}" for one in ("old.log.gz", "run.log", "sweep.md")]
    assert count(folder / "bench.duckdb", "runs") == 2 + len(ROWS)
    assert "0 new, 3 unchanged" in quick(folder, "ingest", name).err
    assert quick(folder, "show", "run.log:1").code == 0
    (folder / "job").mkdir()
    (folder / "job" / "run.log").write_text(log(3))
    done = quick(folder, "ingest", "job")
    assert "1 duplicates of known files" in done.err and count(folder / "bench.duckdb", "runs") == 5


def test_members_reach_nothing_outside(folder: Path, tmp_path: Path) -> None:
    home = folder / "home"
    home.mkdir()
    with tarfile.open(home / "x.tar", "w") as archive:
        for name in ("../../evil.log", "/abs/evil2.log"):
            member = tarfile.TarInfo(name)
            content = log(3, 100 if "evil2" in name else 101).encode()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for kind, name in ((tarfile.SYMTYPE, "link.log"), (tarfile.LNKTYPE, "hard.log")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        archive.addfile(tarfile.TarInfo("fifo.log"))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert quick(home, "ingest", "-q", "x.tar", "--db", "w.duckdb").code == 0
    assert {path for path in tmp_path.rglob("*") if path.is_file()} - before == {home / "w.duckdb"}
    done = quick(home, "sql", "SELECT uri FROM sources ORDER BY uri", "--db", "w.duckdb")
    assert "x.tar!/abs/evil2.log" in done.out and "x.tar!/evil.log" in done.out
    assert ".." not in done.out and "passwd" not in done.out


def test_damage_and_bombs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tarred(folder / "x.tar.gz", {"a.log": log(3).encode() * 500}, gzip.compress)
    (folder / "torn.tar.gz").write_bytes(whole.read_bytes()[:-400])
    done = quick(folder, "ingest", "torn.tar.gz")
    assert "torn.tar.gz: cannot read: " in done.err and "damaged" in done.err, done.text
    (folder / "no.tar").write_text("no archive at all\n" * 100)
    done = quick(folder, "ingest", "no.tar", "x.tar.gz")
    assert "no.tar: cannot read: the archive is damaged" in done.err and "1 new" in done.err
    monkeypatch.setattr(inputs, "LEAST_BYTES", 1000)
    monkeypatch.setattr(inputs, "MOST_TIMES", 1)
    bomb = tarred(folder / "bomb.tar.gz", {"z.log": b"0" * 10_000_000}, gzip.compress)
    done = quick(folder, "ingest", bomb.name)
    assert "unpacks to more than logs can be" in done.err
    monkeypatch.setattr(inputs, "MOST_MEMBERS", 3)
    tarred(folder / "many.tar", {f"{n}.log": b"x" for n in range(9)}, UNCHANGED)
    assert "has more than 3 files" in quick(folder, "ingest", "many.tar").err


# Standard input.


def piped(folder: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "bench", "ingest", "-", *more], cwd=folder,
                          input=text, capture_output=True, text=True, check=False)  # fmt: skip


def test_standard_input(folder: Path) -> None:
    for text, name in ((log(3), "run.log"), (log(9), "run.log"), (table(*ROWS), "sweep.csv.md")):
        done = piped(folder, text, "--name", name)
        assert done.returncode == 0, done.stderr
    assert uris(folder) == ["run.log", "sweep.csv.md"]
    assert count(folder / "bench.duckdb", "runs") == 1 + len(ROWS)
    assert count(folder / "bench.duckdb", "iterations") == 9, "the grown log is the same log"
    for seconds in (70, 71, 70):
        assert piped(folder, log(3, seconds)).returncode == 0
    assert len([uri for uri in uris(folder) if uri.startswith("stdin-")]) == 2, "two names"
    assert piped(folder, "").returncode == 3


# Other machines.


def test_files_by_a_url(folder: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="NOT TESTED: no fsspec")
    system = fsspec.filesystem("memory")
    logs = {f"/bucket/logs/{name}.log": log(3, ms).encode() for name, ms in (("a", 8), ("b", 7))}
    tables = {"/bucket/logs/c.png": b"x", "/bucket/sweep.md": table(*ROWS).encode()}
    system.pipe(logs | tables)
    assert quick(folder, "ingest", "-q", "memory://bucket/logs").code == 0
    assert uris(folder) == ["memory://bucket/logs/a.log", "memory://bucket/logs/b.log"]
    done = quick(folder, "ingest", "memory://bucket/*.md", "memory://bucket/logs/a.log")
    assert "1 new, 1 unchanged" in done.err, done.text
    assert "memory://bucket/sweep.md" in uris(folder)
    assert quick(folder, "report", "days", "memory://bucket/sweep.md").code == 0
    done = quick(folder, "ingest", "memory://bucket/gone.log", "memory://bucket/sweep.md")
    assert "memory:/bucket/gone.log: cannot read" in done.err.replace("//", "/"), done.text


def test_names_of_urls_hold_no_secrets(folder: Path) -> None:
    pytest.importorskip("fsspec", reason="NOT TESTED: no fsspec")
    (folder / "x.log").write_text(log(3))
    url = f"local://{folder}/x.log"
    [(_, name)] = list(fetched(url, folder))
    assert name == url
    with pytest.raises(BenchError) as caught:
        list(fetched("nope://user:secret@host/x.log?token=secret", folder))
    assert "nope://host/x.log" in str(caught.value) and "secret" not in caught.value.what


@pytest.mark.parametrize(
    ("path", "url"),
    [("s3:/b/x", "s3://b/x"), ("file:/tmp/nope.x", "file:///tmp/nope.x"), ("a/b", None),
     ("C:x", None), ("x:y", None)],
)  # fmt: skip
def test_what_is_a_url(path: str, url: str | None) -> None:
    assert remote_url(Path(path)) == url


def test_a_table_within_a_log_makes_it_no_document(folder: Path) -> None:
    """Profilers and nvidia-smi print pipes into logs."""
    printed = "| GPU | Nodes | TP | Sec/it |\n|-----|---|---|---|\n| 0 | 4 | 2 | 9.5 |\n"
    (folder / "x.log").write_text(log(2) + printed + log(5).split("\n", 2)[2])
    (folder / "sweep.out").write_text(table(*ROWS))
    assert quick(folder, "ingest", "-q", ".").code == 0
    assert count(folder / "bench.duckdb", "iterations") == 5
    assert count(folder / "bench.duckdb", "sources", "kind = 'log'") == 1
    assert count(folder / "bench.duckdb", "sources", "kind = 'document'") == 1
