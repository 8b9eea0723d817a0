"""Files of a git revision, written to a temporary folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from ..schema.errors import BenchError
from .git import DIFF, git, git_process, top_of_checkout

_LINK = "120000"  # git's mode of symbolic links
_LONGEST_POINTER = 1 << 16  # bytes of a pointer of Git LFS; it has 130
_PIECE = 1 << 20
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\n"
)


@contextmanager
def checked_out(revision: str, named: Sequence[Path]) -> Iterator[tuple[Path, Path, list[Path]]]:
    """Check out paths at a revision: yields the folder, the checkout that it mirrors, and the
    paths that existed. Raises BenchError for an unknown revision."""
    top = top_of_checkout()
    commit = commit_of(top, revision)
    then = names_at(top, commit, [from_top(path.resolve(), top) for path in named])
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "tree")
        check_out(top, commit, then, root)
        yield root, top, [root / name for name in then if (root / name).exists()]


def commit_of(top: Path, revision: str) -> str:
    """The commit id of a revision; raises BenchError for an unknown one."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return git("-C", str(top), *arguments, failed=f"unknown git revision {revision!r}").strip()


def names_at(top: Path, commit: str, names: Sequence[str]) -> list[str]:
    """The names of these paths at a commit, following renames.

    The commit is compared with the index, since reading a file of the checkout runs its filter.
    """
    arguments = ("diff-index", "--cached", "--name-status", "--find-renames", "-z", *DIFF)
    listing = git("-C", str(top), *arguments, commit)
    words = iter(listing.split("\0"))
    renamed = {}
    for status in words:
        if status.startswith(("R", "C")):
            old, new = next(words), next(words)
            renamed[new] = old
        elif status:
            next(words)
    found: dict[str, None] = {}
    for name in names:
        moved = [old for new, old in renamed.items() if new.startswith(f"{name}/")]
        found |= dict.fromkeys([renamed.get(name, name), *moved])
    return list(found)


def check_out(top: Path, commit: str, names: Sequence[str], root: Path) -> None:
    """Write these files of a commit below `root`, with the bytes stored by git.

    No filter is run: files in Git LFS are read from `.git/lfs`, if they have been fetched.
    `git archive` would leave out `export-ignore` files.
    """
    if not names:
        return
    listing = git("-C", str(top), "ls-tree", "-r", "-z", "--full-tree", commit)
    files = [entry for entry in map(_entry, filter(None, listing.split("\0")))
             if entry.kind == "blob" and _is_below(entry.name, names)]  # fmt: skip
    stored = Path(git("-C", str(top), "rev-parse", "--git-common-dir").rstrip("\n"), "lfs/objects")
    # Links last, so that nothing is written through one.
    files.sort(key=lambda entry: entry.mode == _LINK)
    words = ("-C", str(top), "cat-file", "--batch")
    with git_process(*words, failed="git cannot read a file") as (stdin, stdout):
        for entry in files:
            at = root / entry.name
            at.parent.mkdir(parents=True, exist_ok=True)
            if at.parent.resolve() != root.resolve() / Path(entry.name).parent:
                raise BenchError(f"{entry.name} at {commit[:12]} lies behind a link",
                                 why="the tree is broken", hint="try git fsck")  # fmt: skip
            stdin.write(f"{entry.blob}\n".encode())
            stdin.flush()
            _write(entry, at, stdout, top / stored)


def _write(entry: _Entry, at: Path, stdout: IO[bytes], stored: Path) -> None:
    """Write a file of git's answer, piece by piece: a megabyte may unpack to a thousand."""
    head = stdout.readline().split()
    if len(head) != 3:  # ID missing
        raise BenchError(f"git does not have {entry.name}", hint="git fetch --refetch")
    size = int(head[2])
    if entry.mode == _LINK or size <= _LONGEST_POINTER:
        content = stdout.read(size)
        if entry.mode == _LINK:
            if b"\0" in content:
                raise BenchError(f"git has a broken link, {entry.name}", hint="try git fsck")
            at.symlink_to(os.fsdecode(content))
        else:
            at.write_bytes(_from_lfs(stored, content))
    else:
        if size > shutil.disk_usage(at.parent).free // 2:
            raise BenchError(f"{entry.name} takes more than half of the free disk",
                             hint="TMPDIR=FOLDER of a larger one")  # fmt: skip
        with at.open("wb") as file:
            while size and (piece := stdout.read(min(size, _PIECE))):
                file.write(piece)
                size -= len(piece)
    stdout.readline()


class _Entry(NamedTuple):
    mode: str
    kind: str
    blob: str
    name: str


def _entry(line: str) -> _Entry:
    """Parse a line of `git ls-tree`; raises BenchError for an unsafe name."""
    facts, _, name = line.partition("\t")
    if name.startswith("/") or {"", ".", "..", ".git"} & set(name.lower().split("/")):
        raise BenchError(f"git has a file of the name {name!r}", hint="try git fsck")
    mode, kind, blob = facts.split()
    return _Entry(mode, kind, blob, name)


def _is_below(name: str, named: Sequence[str]) -> bool:
    return any(each == "." or name == each or name.startswith(f"{each}/") for each in named)


def _from_lfs(stored: Path, content: bytes) -> bytes:
    """The content of a Git LFS pointer; the pointer itself if that is missing or differs."""
    if not (found := _POINTER.match(content)):
        return content
    name = found[1].decode()
    file = stored / name[:2] / name[2:4] / name
    there = file.read_bytes() if file.is_file() else b""
    return there if hashlib.sha256(there).hexdigest() == name else content


def from_top(path: Path, top: Path) -> str:
    """A path relative to the top of its checkout; raises BenchError outside of it."""
    if not path.is_relative_to(top):
        raise BenchError(f"{path} is outside the checkout", why=f"the checkout is {top}",
                         hint="use paths in the checkout, or OLD and NEW")  # fmt: skip
    return path.relative_to(top).as_posix()
