"""What a repository of somebody else names is read within it, and nothing beside it."""

from __future__ import annotations

import hashlib
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.program import quick
from tests.repositories import PAGE, SECRET


@pytest.mark.parametrize(
    "setting",
    [
        'templates = "/"', 'templates = "../"', 'templates = ".git"', 'templates = "away"',
        'sources = ["/etc"]', 'sources = [".git/config"]', 'sources = ["away"]', 'facts = "away"',
        'formats = "/tmp"',
    ],
)  # fmt: skip
def test_a_setting_stays_within_the_repository(cloned: Path, setting: str) -> None:
    (cloned / "away").symlink_to(cloned.parent)
    (cloned / "bench.toml").write_text(setting + "\n")
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and "is outside" in done.err, done.text


@pytest.mark.parametrize(("target", "said"), [
    ("/proc/self/environ", "a file of the system"),
    ("../../secret.log", "'logs/env.log' is outside"),
])  # fmt: skip
@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_a_folder_of_sources_links_to_nothing_outside(
    cloned: Path, how: str, target: str, said: str
) -> None:
    (cloned.parent / "secret.log").write_text("TOKEN=1\n")
    (cloned / "logs").mkdir()
    (cloned / "logs/env.log").symlink_to(target)
    (cloned / "logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    if how == "bench.toml":
        (cloned / "bench.toml").write_text('sources = ["logs"]\n')
    (cloned / "page.md").write_text(PAGE.format(options="" if how == "bench.toml" else "from=logs"))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and said in done.err, done.text


@pytest.mark.parametrize("named", [
    "logs", "records", "stated/logs", "logs/*", "logs/*/secret.md", "logs/[a]way", "**/secret.md",
    "x/**/../../secret.md", "file://{}/secret.md", "file:{}/secret.md", "-",
    "ftp://127.0.0.1:9/secret.md",
])  # fmt: skip
@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_a_source_is_a_file_or_folder_of_the_repository(cloned: Path, how: str, named: str) -> None:
    """No folder, record or facts.toml that is a link, and none of the further words that a command
    line takes."""
    outside = cloned.parent / "outside"
    outside.mkdir()
    for folder in (outside, cloned.parent):
        (folder / "secret.md").write_bytes((cloned / "sweep.md").read_bytes())
    for name in ("logs", "x/y", "records", "stated/logs"):
        (cloned / name).mkdir(parents=True)
    assert quick(cloned, "export", "--records", str(outside), "sweep.md").code == 0
    (cloned / "records/records.records").touch()
    record = next(outside.glob("sweep.md/*.json"))
    (cloned / "records" / record.name).symlink_to(f"../../outside/sweep.md/{record.name}")
    (outside / "facts.toml").write_text(SECRET)
    (cloned / "stated/facts.toml").symlink_to("../../outside/facts.toml")
    (cloned / "stated/logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    (cloned / "logs/away").symlink_to("../../outside")
    (cloned / "logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    named = named.format(cloned.parent)
    if how == "bench.toml":
        (cloned / "bench.toml").write_text(f'sources = ["{named}"]\n')
    options = "" if how == "bench.toml" else f"from={named}"
    (cloned / "page.md").write_text(before := PAGE.format(options=options))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and re.search("is outside|no such file", done.err), done.text
    assert SECRET not in done.text and (cloned / "page.md").read_text() == before


def test_a_source_may_be_named_like_standard_input(cloned: Path) -> None:
    (cloned / "-").mkdir()
    (cloned / "sweep.md").rename(cloned / "-/sweep.md")
    (cloned / "page.md").write_text(PAGE.format(options="from=-"))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 0 and "V100" in (cloned / "page.md").read_text(), done.text


def test_links_within_a_repository_are_followed(cloned: Path) -> None:
    (cloned / "logs").mkdir()
    (cloned / "logs/sweep.md").symlink_to("../sweep.md")
    (cloned / "logs/facts.toml").symlink_to("../mine/facts.toml")
    (cloned / "mine/facts.toml").touch()
    (cloned / "mine/base.j2").write_text("own words\n")
    (cloned / "mine/days.md.j2").symlink_to("base.j2")
    (cloned / "bench.toml").write_text('sources = ["logs"]\ntemplates = "mine"\n')
    (cloned / "page.md").write_text(PAGE.format(options=""))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 0 and "own words" in (cloned / "page.md").read_text(), done.text


def test_facts_beside_a_repository_are_the_users_own(cloned: Path) -> None:
    """They are read where a command runs in a folder above."""
    (cloned.parent / "own.toml").touch()
    (cloned.parent / "facts.toml").symlink_to("own.toml")
    done = quick(cloned.parent, "report", "--update", "work/page.md")
    assert done.code == 0 and "V100" in (cloned / "page.md").read_text(), done.text


@pytest.mark.parametrize("target", ["../../secret", "../.git/config", "/proc/self/environ"])
def test_a_format_is_no_link_that_leads_out(cloned: Path, target: str) -> None:
    (cloned / "formats").mkdir()
    (cloned / "formats/mine.toml").symlink_to(target)
    (cloned / "bench.toml").write_text('formats = "formats"\n')
    done = quick(cloned, "ingest", "sweep.md")
    assert done.code == 2 and "'formats/mine.toml' is outside" in done.err, done.text
    assert SECRET not in done.text


@pytest.mark.parametrize("line", ["runs sweep.md", "audit sweep.md", "best sweep.md"])
def test_an_output_is_no_link_that_leads_out(cloned: Path, line: str) -> None:
    for target in (cloned.parent / "secret", cloned / ".git/config"):
        (cloned / "out.md").unlink(missing_ok=True)
        (cloned / "out.md").symlink_to(target)
        done = quick(cloned, *line.split(), "-o", "out.md")
        assert target.read_text() == f"{SECRET}\n", done.text
        assert done.code == 2 and "the link leads to" in done.err, done.text


def _index(repository: Path, *names: str) -> None:
    """git's index with these names, as git itself would not write it."""
    body = b"DIRC" + struct.pack(">II", 2, len(names))
    for name in map(str.encode, sorted(names)):
        facts = (0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0)
        entry = struct.pack(">10I20sH", *facts, b"\1" * 20, len(name)) + name
        body += entry + bytes(8 - len(entry) % 8)
    (repository / ".git/index").write_bytes(body + hashlib.sha1(body).digest())


@pytest.mark.parametrize("found_by", ["link", "pattern", "parent", "absolute"])
def test_a_page_outside_the_repository_is_not_written(cloned: Path, found_by: str) -> None:
    page = cloned.parent / "other.md"
    page.write_text(PAGE.format(options=""))
    shutil.rmtree(cloned / ".git")
    subprocess.run(["git", "init", "-q"], cwd=cloned, check=True)
    (cloned / "away").symlink_to("..")
    pages = '\npages = ["away/*.md"]' if found_by == "pattern" else ""
    (cloned / "bench.toml").write_text(f'sources = ["sweep.md"]{pages}\n')
    names = {"link": "away/other.md", "parent": "../other.md", "absolute": str(page)}
    _index(cloned, "page.md", names.get(found_by, "page.md"))
    before = page.read_bytes()
    done = quick(cloned, "report", "--update")
    assert page.read_bytes() == before
    assert ("outside work" in done.err) == (found_by in ("link", "pattern")), done.text
