"""The revisions that git keeps of documents on one branch, oldest first, and their bytes.

A branch is followed by first parents: a merge is one revision, of what it brought to the branch. So
each state is one that the branch really had. Renames are followed between names of documents.
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
    pathspecs,
    read_commits,
    refused,
    time_of,
    tokens,
)  # fmt: skip
from .git import DIFF, git, git_process

MOST_COMMITS = 500_000  # that touch documents; they are listed in memory before any is read
LONGEST = 8 << 20  # bytes of a document
_RENAMES = 400  # names that came and went at once, up to which git looks for renames
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# A path has lost one of the two slashes.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}:/|[\w.-]{1,100}@[\w.-]{1,100}:")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository: the words by which git finds it, its folder, and what was asked for in it."""

    words: tuple[str, ...]
    folder: Path
    path: str = ""

    def git(self, *words: str, failed: str = "git failed") -> str:
        return git(
            *self.words, "--no-replace-objects", "--literal-pathspecs", *words, failed=failed
        )


@dataclass(slots=True)
class Listing:
    """The commits of a branch that touched documents, oldest first, and what was passed over."""

    commits: list[Commit] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # entries by reason
    shallow: bool = False
    base: bool = False  # whether the first of them is what there was before


def repository_of(path: Path) -> Repository:
    """The repository that a path names or lies in.

    The folder that has `.git` is its top, whatever its settings say: no file of it is read.
    Raises BenchError where there is none.
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
    """The name of a branch, by default of the one that is checked out, and its newest commit.

    Raises BenchError for an unknown one, and where nothing is committed.
    """
    name = named
    if name is None:
        try:
            name = repository.git("symbolic-ref", "--short", "--quiet", "HEAD").strip()
        except BenchError:  # a commit is checked out, no branch
            name = "HEAD"
    if named is not None or name == "HEAD":
        return name, commit_named(repository, name)
    try:
        return name, commit_named(repository, f"refs/heads/{name}")
    except BenchError as error:
        raise BenchError(f"nothing is committed on {name} yet", where=str(repository.folder),
                         hint="git commit, or --branch NAME") from error  # fmt: skip


def commit_named(repository: Repository, revision: str) -> str:
    """The id of the commit that a revision means; raises BenchError where git knows none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return repository.git(*words, failed=f"unknown git revision {revision!r}").strip()


def committed_at(repository: Repository, commit: str) -> datetime:
    """The committer's date of a commit, UTC."""
    words = ("show", "-s", "--no-show-signature", "--format=%ct", "--end-of-options", commit)
    return time_of(repository.git(*words).strip())


def goes_on(repository: Repository, tip: str, last: str) -> bool:
    """Whether `last` is a first parent of a branch that ends in `tip`: else it was rewritten."""
    with _running(repository, "rev-list", "--first-parent", "--end-of-options", tip) as output:
        return any(line.strip().decode() == last for line in output)


def listing(
    repository: Repository, tip: str, last: str | None = None, since: datetime | None = None
) -> Listing:
    """The commits of a branch behind `last`, or since a time, that touched documents.

    With `since` the first is what there was before, as if it had been added by that commit.
    Raises BenchError where there are too many.
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
    """The documents of a commit with their blobs, by path."""
    return {one.path: one.blob for one in _tree(repository, commit, Counter()) if one.blob}


@contextmanager
def blobs(repository: Repository) -> Iterator[Callable[[str], bytes | None]]:
    """What gives the bytes of a blob, through one process; None of one that is too long."""
    with git_process(
        *repository.words, "--no-replace-objects", "cat-file", "--batch",
        failed="git cannot read a blob",
    ) as (asked, said):  # fmt: skip

        def read(blob: str) -> bytes | None:
            if not _ID.fullmatch(blob):
                raise BenchError(f"{blob!r} is no id of a blob")
            asked.write(blob.encode() + b"\n")
            asked.flush()
            head = said.readline().split()
            if not head:
                raise EOFError("git ended")
            if len(head) != 3 or head[1] != b"blob":
                raise BenchError(f"git does not have {blob[:12]}", why=b" ".join(head[1:]).decode(),
                                 hint="git fetch --refetch")  # fmt: skip
            size = int(head[2])
            if size > LONGEST:
                _pass_over(said, size + 1)
                return None
            return said.read(size + 1)[:size]

        yield read


def _pass_over(said: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(said.read(min(size, 1 << 20)) or b"\0" * size)


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
    """A commit as if it had added all that it contains."""
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
                if why := refused(path):
                    skipped[why] += 1
                else:
                    yield Touched(path, blob)
