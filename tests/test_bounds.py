"""Files that are small and cost much, or are no files: each is told of, and soon."""

from __future__ import annotations

import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from bench.audit.closed_findings import comments
from bench.ingest.cast import double
from bench.ingest.files.inputs import inputs
from bench.ingest.sidecars.statement import leaves
from bench.project.path_patterns import PathPattern
from bench.schema.sidecar_links import _pattern
from bench.vocabulary.toml import TOMLDecodeError, loads
from bench.vocabulary.wildcards import is_quick
from tests.making import log
from tests.program import bench, quick, told

SOON_S = 2  # of processor time, for what takes milliseconds


def archive(file: Path, *members: tuple[str, bytes]) -> bytearray:
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as made:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return bytearray(file.read_bytes())


def header(kind: bytes, content: bytes) -> bytes:
    """A member as it stands in an archive, whatever it says."""
    member = tarfile.TarInfo("x.log")
    member.type, member.size = kind, len(content)
    return member.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


BROKEN = {
    "digits": header(tarfile.XHDTYPE, b"1" * 200_000),
    "a size of a record": header(tarfile.XHDTYPE, b"9" * 5000 + b" a=b\n"),
    "a chain of headers": header(tarfile.XHDTYPE, b"6 a=b\n") * 3000,
    "a sparse map": header(tarfile.XHDTYPE, b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n")
    + header(tarfile.REGTYPE, b"x\ny\n" + bytes(600)),
    "a sparse size": header(tarfile.XHDTYPE, b"23 GNU.sparse.size=zzz\n")
    + header(tarfile.REGTYPE, b""),
    "a name without an end": header(tarfile.GNUTYPE_LONGNAME, b"a" * 100_000),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_archive_costs_itself_alone(folder: Path, what: str) -> None:
    good = archive(folder / "good.tar", ("a.log", log(9).encode()))
    (folder / "bad.tar").write_bytes(BROKEN[what] + good)
    begun = time.process_time()
    done = quick(folder, "ingest", "bad.tar", "good.tar")
    assert time.process_time() - begun < 10 * SOON_S
    assert "Traceback" not in done.err and "bad.tar" in done.err, done.text
    assert "good.tar!/a.log" in quick(folder, "runs", "--format", "csv").out


def test_a_member_whose_name_is_no_text(folder: Path) -> None:
    archive(folder / "x.tar", (os.fsdecode(b"\xff\xfe.log"), log(9).encode()))
    assert quick(folder, "ingest", "x.tar").code == 0
    assert r"x.tar!/\xff\xfe.log" in quick(folder, "runs", "--format", "csv").out


def test_an_archive_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(tmp_path / "x.tar", ("a.log", log(9).encode()))
    monkeypatch.setattr("shutil.disk_usage", lambda _: Room())
    failed: list[str] = []
    found = inputs([tmp_path / "x.tar"], tmp_path, lambda _, error: failed.append(str(error)))
    assert not list(found) and "does not fit" in failed[0]


def test_a_pipe_without_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Room())
    with open("/dev/zero") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        told(quick(folder, "ingest", "-", "--name", "x.log"), 2, "piped in does not fit", "TMPDIR")


class Room:
    free = 100


DEEP = {
    "lists": "x = " + "[" * 90_000,
    "tables": "x = " + "{a = " * 9000,
    "dots": "a" + ".a" * 5000 + " = 1",
    "digits": "x = " + "1" * 9000,
    "large": "#" * (5 << 20),
}


@pytest.mark.parametrize("what", DEEP)
def test_toml_that_is_too_much(folder: Path, what: str) -> None:
    with pytest.raises(TOMLDecodeError):
        loads(DEEP[what])
    (folder / "bench.toml").write_text(DEEP[what])
    told(quick(folder, "runs"), 2, "bench.toml")
    (folder / "bench.toml").unlink()
    (folder / "plan.toml").write_text(DEEP[what])
    told(quick(folder, "launch", "plan.toml", "--dry-run"), 2, "plan")
    (folder / "bench.toml").write_text('formats = "formats"\n')
    (folder / "formats").mkdir()
    (folder / "formats/mine.toml").write_text(DEEP[what])
    (folder / "a.log").write_text(log(3))
    told(quick(folder, "ingest", "a.log"), 2, "mine.toml")


def test_aliases_that_unfold_to_nothing() -> None:
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else '[], []'}]" for n in range(30)]
    begun = time.process_time()
    assert leaves("\n".join(lines), is_json=False) is None
    assert time.process_time() - begun < SOON_S


@pytest.mark.parametrize("name", ["_" * 250, "a_" * 125, "_a" * 40])
def test_names_that_fit_a_pattern_in_many_ways(name: str) -> None:
    begun = time.process_time()
    pattern = "{model}_*_{device}_*_{framework:word}_*_*x"
    assert PathPattern(pattern, "", ()).values(name) is None
    made = _pattern("%x_" * 12 + "q")
    assert made and not is_quick(made[1], name)
    assert time.process_time() - begun < SOON_S


def test_values_and_comments_of_any_length() -> None:
    begun = time.process_time()
    assert double("1" * 100_000 + "!") is None and double("1," * 50_000) is None
    for line in ("<!-- bench-audit: ok R1 " + " " * 50_000, "<!-- bench-audit: ok R1 " * 5000,
                 "<!-- bench-audit: ok R" + "1" * 9000 + " -->"):  # fmt: skip
        assert not list(comments([line]))
    [found] = comments(["<!-- bench-audit: ok R9 line 44: as printed  -->"])
    assert (found.rule, found.line, found.reason) == ("R9", 44, "as printed")
    assert time.process_time() - begun < SOON_S


def test_links_to_what_never_ends(folder: Path) -> None:
    (folder / "a.log").write_text(log(9))
    for name, target in (("b.log", "/dev/zero"), ("c.md", "/dev/tty"), ("d.log", "pipe.log")):
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.log")
    for line in ("ingest .", "report .", "doctor .", "audit . --if-any", "watch . --once",
                 "ingest d.log b.log a.log", "diff a.log b.log"):  # fmt: skip
        done = quick(folder, *line.split())
        assert "Traceback" not in done.err and done.code in (0, 1, 2, 3, 5), done.text


@pytest.mark.parametrize("text", ["a: " + "[" * 100_000, "- " * 100_000, "a: " + "{a: " * 50_000])
def test_deep_yaml_does_not_end_the_process(folder: Path, text: str) -> None:
    (folder / "config.yaml").write_text(text)
    (folder / "wandb/run-1/files").mkdir(parents=True)
    (folder / "wandb/run-1/files/config.yaml").write_text(text)
    done = bench(folder, "ingest", ".")
    assert done.code == 3 and "2 skipped" in done.err, done.text
