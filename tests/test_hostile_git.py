"""A repository whose own settings name commands: no command of bench that asks git runs one."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from bench.project.checkout import check_out, commit_of
from bench.project.git import added, committed
from bench.project.git import git as asked
from bench.schema.errors import BenchError
from tests.checkouts import GIT, ROWS, git
from tests.making import table
from tests.program import quick

PAGE = "<!-- bench:begin report=days {} -->\n<!-- bench:end -->\n"
SETTINGS = """
[core]
    fsmonitor = {run}
    hooksPath = hooks
    sshCommand = {run}
    pager = {run}
    editor = {run}
    askPass = {run}
    gitProxy = {run}
[pager]
    log = {run}
    show = {run}
[diff]
    external = {run}
[diff "own"]
    command = {run}
    textconv = {run}
[filter "own"]
    clean = {run}
    smudge = {run}
    required = true
[log]
    showSignature = true
[gpg]
    program = {run}
[alias]
    log = !{run}
    ls-tree = !{run}
    rev-parse = !{run}
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[remote "origin"]
    url = ext::{run}
    promisor = true
    partialclonefilter = blob:none
[extensions]
    partialClone = origin
[credential]
    helper = !{run}
"""


@pytest.fixture
def armed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a commit in it that is signed, and settings that write a file `ran`."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("*.md filter=own diff=own\n")
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\n')
    (folder / "sweep.md").write_text(table(*ROWS))
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "old")
    signed = git(folder, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    made = subprocess.run(["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=folder,
                          input=signed.encode(), check=True, capture_output=True)  # fmt: skip
    git(folder, "update-ref", "refs/heads/main", made.stdout.decode().strip())
    script = tmp_path / "run"
    script.write_text(f"#!/bin/sh\necho $0 $* >> {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    hooks = folder / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).symlink_to(script)
    (folder / ".git/more").write_text(SETTINGS.format(run=script))
    with (folder / ".git/config").open("a") as config:
        config.write("[include]\n    path = more\n")
    (folder / "sweep.md").write_text(table(*ROWS[:2]))
    os.utime(folder / "sweep.md", (1, 1))  # git must look whether it changed
    monkeypatch.chdir(folder)
    return tmp_path


@pytest.mark.parametrize("line", [
    "diff --base HEAD", "diff --base HEAD sweep.md", "compare HEAD sweep.md sweep.md",
    "report --update", "report --check", "ci github --base main", "trend sweep.md",
    "failures sweep.md",
])  # fmt: skip
def test_no_setting_of_a_repository_runs(armed: Path, line: str) -> None:
    done = quick(armed / "work", *line.split())
    assert "Traceback" not in done.err
    assert not (armed / "ran").exists(), (armed / "ran").read_text()
    if line.startswith("diff"):
        assert done.code == 0 and "1 removed" in done.out, done.text


def test_times_are_asked_without_a_signature(armed: Path) -> None:
    work = armed / "work"
    commit = commit_of(work, "HEAD")
    assert set(added(work, ["sweep.md"])) == {"sweep.md"} and set(committed(work, [commit]))
    assert not (armed / "ran").exists()


def test_a_missing_blob_is_not_fetched(armed: Path) -> None:
    work = armed / "work"
    blob = git(work, "-c", "core.fsmonitor=", "rev-parse", "HEAD:sweep.md").strip()
    (work / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (armed / "ran").unlink(missing_ok=True)
    assert quick(work, "diff", "--base", "HEAD", "sweep.md").code
    assert not (armed / "ran").exists()


def test_the_work_tree_lies_elsewhere(armed: Path) -> None:
    """`core.worktree` would have pages of another folder read, and written."""
    work = armed / "work"
    (armed / "page.md").write_text("# Mine\n")
    settings = "repositoryformatversion = 0\n    worktree"
    (work / ".git/config").write_text(f"[core]\n    {settings} = {armed}\n")
    done = quick(work, "report", "--check")
    assert done.code == 2 and "core.worktree" in done.err, done.text


def test_a_folder_that_looks_like_a_repository(tmp_path: Path) -> None:
    """One that a clone brings along: its settings would be heard below it."""
    bare = tmp_path / "logs"
    git(tmp_path, "init", "-q", "--bare", "logs")
    with pytest.raises(BenchError):
        asked("-C", str(bare), "rev-parse", "--git-dir")


def tree(folder: Path, *entries: tuple[str, str, bytes]) -> str:
    """A commit of these modes, names and contents, as no `git add` would make it."""
    rows = b""
    for mode, name, content in entries:
        kind = "tree" if mode == "40000" else "blob"
        rows += f"{mode} {name}\0".encode() + bytes.fromhex(_written(folder, kind, content))
    made = _written(folder, "tree", rows)
    who = "x <x@y> 0 +0000"
    text = f"tree {made}\nauthor {who}\ncommitter {who}\n\nx\n"
    return _written(folder, "commit", text.encode())


def _written(folder: Path, kind: str, content: bytes) -> str:
    done = subprocess.run(
        ["git", "hash-object", "--literally", "-t", kind, "-w", "--stdin"], cwd=folder,
        input=content, env=os.environ | GIT, check=True, capture_output=True,
    )  # fmt: skip
    return done.stdout.decode().strip()


def test_a_tree_leads_nowhere_else(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    out = tmp_path / "out"
    out.mkdir()
    inner = bytes.fromhex(_written(tmp_path, "blob", b"evil"))
    link = str(out).encode()
    for entries in (
        [("40000", "..", b"100644 evil\0" + inner)],
        [("40000", ".GIT", b"100644 config\0" + inner)],
        [("120000", "a", link), ("40000", "a", b"120000 evil\0" + inner)],
        [("120000", "a", link), ("40000", "a", b"100644 evil\0" + inner)],
    ):
        commit = tree(tmp_path, *entries)
        with pytest.raises((BenchError, OSError)):
            check_out(tmp_path, commit, ["."], tmp_path / "scratch" / commit)
        assert not list(out.iterdir()) and not (tmp_path / "scratch/evil").exists()


def test_what_a_large_file_was(tmp_path: Path) -> None:
    """A file of Git LFS is what was fetched of it, without its filter; a wrong one is not."""
    git(tmp_path, "init", "-q")
    name = hashlib.sha256(b"text").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize 4\n"
    commit = tree(tmp_path, ("100644", "a.log", pointer.encode()))
    stored = tmp_path / ".git/lfs/objects" / name[:2] / name[2:4] / name
    stored.parent.mkdir(parents=True)
    for content, expected in ((b"text", "text"), (b"other", pointer)):
        stored.write_bytes(content)
        root = tmp_path / expected[:4]
        check_out(tmp_path, commit, ["."], root)
        assert (root / "a.log").read_text() == expected


def _tree_of(work: Path, *entries: tuple[str, str, str]) -> str:
    """A commit of a tree with these entries: mode, name, id."""
    listed = "".join(f"{mode} blob {blob}\t{name}\n" for mode, name, blob in entries)
    made = subprocess.run(["git", "mktree"], cwd=work, input=listed.encode(), check=True,
                          capture_output=True)  # fmt: skip
    return git(work, "commit-tree", made.stdout.decode().strip(), "-m", "made").strip()


def _blob(work: Path, content: bytes) -> str:
    made = subprocess.run(["git", "hash-object", "-w", "--stdin"], cwd=work, input=content,
                          check=True, capture_output=True)  # fmt: skip
    return made.stdout.decode().strip()


def test_a_small_pack_of_large_files_takes_little_memory(tmp_path: Path) -> None:
    """Names of one file of zeros: each takes the disk for a while, none the memory."""
    git(tmp_path, "init", "-q", "work")
    work = tmp_path / "work"
    zeros = _blob(work, bytes(4 << 20))
    commit = _tree_of(work, *(("100644", f"{n:02}.log", zeros) for n in range(24)))
    tracemalloc.start()
    try:
        check_out(work, commit, ["."], tmp_path / "out")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 12 << 20, most
    assert {file.stat().st_size for file in (tmp_path / "out").iterdir()} == {4 << 20}


def test_a_link_of_a_name_that_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "work")
    work = tmp_path / "work"
    commit = _tree_of(work, ("120000", "a.md", _blob(work, b"a\0b")))
    with pytest.raises(BenchError, match="broken link"):
        check_out(work, commit, ["."], tmp_path / "out")


@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_no_link_of_an_earlier_commit_leads_out(tmp_path: Path, how: str) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "logs", outside):
        folder.mkdir(parents=True)
    git(work, "init", "-q")
    (outside / "secret.md").write_text(table(*ROWS))
    (work / "logs/own.md").write_text(table(*ROWS[:1]))
    (work / "logs/away").symlink_to(outside)
    (work / "bench.toml").write_text('sources = ["logs"]\n' if how == "bench.toml" else "")
    (work / "page.md").write_text(PAGE.format("" if how == "bench.toml" else "from=logs"))
    git(work, "add", ".")
    git(work, "commit", "-qm", "with the link")
    (work / "logs/away").unlink()
    git(work, "commit", "-qam", "without")
    done = quick(work, "ci", "github", "--base", "HEAD~1", "page.md")
    assert "rows not compared: " in done.text and "is outside" in done.text, done.text
    done = quick(work, "diff", "--base", "HEAD~1", "logs")
    assert done.code == 0 and "3 removed" in done.out, "a user may name such a folder"
