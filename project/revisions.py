"""The git revisions of documents on one branch, oldest first, and their bytes.

Branches are followed by first parents, so a merge is one revision, and each state is one that the
branch really had. Renames between names of documents are followed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO

from ..schema.errors import BenchError
from .commits import (
    FILES,
    FORMAT,
    Commit,
    Touched,
    below,
    commit_of,
    is_document,
    name_error,
    pathspecs,
    read_commits,
    time_of,
    tokens,
)  # fmt: skip
from .git import DIFF, git, git_process

MOST_COMMITS = 500_000  # touching documents; listed in memory before any is read
LONGEST = 8 << 20  # maximum bytes of a document
_RENAMES = 400  # added or removed files in a commit, up to which git detects renames
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# A Path has lost one of the two slashes.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}:/|[\w.-]{1,100}@[\w.-]{1,100}:")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: git's arguments to find it, its folder, and the requested path in it."""

    words: tuple[str, ...]
    folder: Path
    path: str = ""

    def git(self, *words: str, failed: str = "git failed") -> str:
        return git(
            *self.words, "--no-replace-objects", "--literal-pathspecs", *words, failed=failed
        )


@dataclass(slots=True)
class Listing:
    """The commits of a branch that touched documents, oldest first, and counts of skipped ones."""

    commits: list[Commit] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # files by reason
    shallow: bool = False
    base: bool = False  # whether the first one summarizes all earlier commits


def repository_of(path: Path) -> Repository:
    """The repository at or around a path.

    Its top is the folder with `.git`, regardless of its settings, which are not read.
    Raises BenchError if there is none.
    """
    here = Path(os.path.abspath(path))
    if _ADDRESS.match(str(path)) and not here.exists():
        raise BenchError(f"{path} is an address", why="histories are read without a network",
                         hint="git clone it, then bench ingest --history FOLDER")  # fmt: skip
    if (here / "HEAD").is_file() and (here / "objects").is_dir() and (here / "refs").is_dir():
        return Repository((f"--git-dir={here}",), here)
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            inside = here.relative_to(folder).as_posix()
            return Repository(("-C", str(folder)), folder, "" if inside == "." else inside)
    raise BenchError(f"{path} is in no git repository", why="no folder above it has a .git",
                     hint="bench ingest PATH reads files without their history")  # fmt: skip


def branch_of(repository: Repository, named: str | None) -> tuple[str, str]:
    """The name and newest commit of a branch, by default of the current one.

    Raises BenchError for an unknown branch or one without commits.
    """
    name = named
    if name is None:
        try:
            name = repository.git("symbolic-ref", "--short", "--quiet", "HEAD").strip()
        except BenchError:  # detached HEAD
            name = "HEAD"
    if named is not None or name == "HEAD":
        return name, commit_named(repository, name)
    try:
        return name, commit_named(repository, f"refs/heads/{name}")
    except BenchError as error:
        raise BenchError(f"nothing is committed on {name} yet", where=str(repository.folder),
                         hint="git commit, or --branch NAME") from error  # fmt: skip


def commit_named(repository: Repository, revision: str) -> str:
    """The commit id of a revision; raises BenchError for an unknown one."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return repository.git(*words, failed=f"unknown git revision {revision!r}").strip()


def committed_at(repository: Repository, commit: str) -> datetime:
    """The committer date of a commit, UTC."""
    words = ("show", "-s", "--no-show-signature", "--format=%ct", "--end-of-options", commit)
    return time_of(repository.git(*words).strip())


def is_ancestor(repository: Repository, tip: str, last: str) -> bool:
    """Whether `last` is a first-parent ancestor of `tip`: if not, the branch was rewritten."""
    with _running(repository, "rev-list", "--first-parent", "--end-of-options", tip) as output:
        return any(line.strip().decode() == last for line in output)


def listing(
    repository: Repository, tip: str, last: str | None = None, since: datetime | None = None
) -> Listing:
    """The commits of a branch after `last`, or since a time, that touched documents.

    With `since` the first one has all earlier documents, as if that commit had added them.
    Raises BenchError if there are too many.
    """
    found = Listing(
        shallow=repository.git("rev-parse", "--is-shallow-repository").strip() == "true"
    )
    words = (
        "log", "--first-parent", "-m", "--raw", "-z", "--no-abbrev", f"-l{_RENAMES}", "-M",
        f"-O{os.devnull}", "--encoding=UTF-8", "--no-color", "--no-show-signature", *DIFF,
        f"--format={FORMAT}", tip, *([f"^{last}"] if last else []), "--", *pathspecs(),
    )  # fmt: skip
    with _running(repository, *words, literal=False) as output:
        newest_first = list(_limited(read_commits(tokens(output), found.skipped)))
    if since:
        kept = max((at for at, one in enumerate(newest_first, 1) if one.committed_at >= since),
                   default=0)  # fmt: skip
        oldest = newest_first[kept - 1].parents[:1] if kept else (tip,)
        newest_first = newest_first[:kept]
        if oldest:
            newest_first.append(_state_at(repository, oldest[0], found.skipped))
            found.base = bool(newest_first[-1].touched)
    commits = below(newest_first, repository.path)[::-1]
    found.base &= commits[:1] == below(newest_first[-1:], repository.path)
    found.commits = commits
    return found


def state(repository: Repository, commit: str) -> dict[str, str]:
    """The blobs of a commit's documents, by path."""
    return {
        touched.path: touched.blob
        for touched in _tree(repository, commit, Counter())
        if touched.blob
    }


@contextmanager
def blobs(repository: Repository) -> Iterator[Callable[[str], bytes | None]]:
    """A reader of blobs through one git process; it returns None for one that is too long."""
    with git_process(
        *repository.words, "--no-replace-objects", "cat-file", "--batch",
        failed="git cannot read a blob",
    ) as (stdin, stdout):  # fmt: skip

        def read(blob: str) -> bytes | None:
            if not _ID.fullmatch(blob):
                raise BenchError(f"{blob!r} is no id of a blob")
            stdin.write(blob.encode() + b"\n")
            stdin.flush()
            head = stdout.readline().split()
            if not head:
                raise EOFError("git ended")
            if len(head) != 3 or head[1] != b"blob":
                raise BenchError(f"git does not have {blob[:12]}", why=b" ".join(head[1:]).decode(),
                                 hint="git fetch --refetch")  # fmt: skip
            size = int(head[2])
            if size > LONGEST:
                _skip(stdout, size + 1)
                return None
            return stdout.read(size + 1)[:size]

        yield read


def _skip(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, 1 << 20)) or b"\0" * size)


@contextmanager
def _running(repository: Repository, *words: str, literal: bool = True) -> Iterator[IO[bytes]]:
    how = ("--literal-pathspecs",) if literal else ()
    command = (*repository.words, "--no-replace-objects", *how, *words)
    with git_process(*command, failed="git cannot list commits") as (_, output):
        yield output


def _limited(commits: Iterator[Commit]) -> Iterator[Commit]:
    for count, one in enumerate(commits, 1):
        if count > MOST_COMMITS:
            raise BenchError(f"more than {MOST_COMMITS:,} commits touch documents",
                             hint="--since DATE, or the path of one folder")  # fmt: skip
        yield one


def _state_at(repository: Repository, commit: str, skipped: Counter[str]) -> Commit:
    """A commit's complete state, as if it had added every document."""
    text = repository.git("show", "-s", "--encoding=UTF-8", "--no-show-signature",
                          f"--format={FORMAT}", "--end-of-options", commit)  # fmt: skip
    found = commit_of(text.rstrip("\n").split("\0"))
    return replace(found, touched=tuple(_tree(repository, commit, skipped)))


def _tree(repository: Repository, commit: str, skipped: Counter[str]) -> Iterator[Touched]:
    words = ("ls-tree", "-r", "-z", "--full-tree", commit)
    with _running(repository, *words) as output:
        for line in tokens(output):
            facts, _, path = line.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode in FILES and is_document(path):
                if why := name_error(path):
                    skipped[why] += 1
                else:
                    yield Touched(path, blob)
