"""The revisions that git keeps of documents on one branch, oldest first, and their bytes.

A branch is followed by first parents: a merge is one revision, of what it brought to the branch. So
each state is one that the branch really had. Renames are followed between names of documents.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ..schema.errors import BenchError
from .facts import NAME as FACTS
from .git import DIFF, git, git_process

SUFFIXES = ("md", "markdown", "mdx", "rst", "tex", "html", "htm", "csv", "tsv")  # of documents
_RECORDS = ("[0-9a-f]" * 16 + ".json", "*.records")
MOST_COMMITS = 500_000  # that touch documents; they are listed in memory before any is read
LONGEST = 8 << 20  # bytes of a document
_LONGEST_PATH = 1000  # characters; the parts of a path within what file systems take
_LONGEST_PART = 200  # bytes
_FILES = ("100644", "100755")
_LINK = "120000"
_RENAMES = 400  # names that came and went at once, up to which git looks for renames
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# A path has lost one of the two slashes.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,20}:/|[\w.-]{1,100}@[\w.-]{1,100}:")
_FORMAT = "%H%x00%P%x00%at%x00%ct%x00%an%x00%ae%x00%s"
_HEADER = _FORMAT.count("%x00") + 1


@dataclass(frozen=True, slots=True)
class Touched:
    """What a commit did to a file: `blob` None removed it; `before` is its name until then."""

    path: str
    blob: str | None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with the documents that it touched; times are UTC."""

    commit_id: str
    parents: tuple[str, ...]
    authored_at: datetime
    committed_at: datetime
    author: str
    address: str
    message: str
    touched: tuple[Touched, ...] = ()


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
    return _time(repository.git(*words).strip())


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
        f"--format={_FORMAT}", tip, *([f"^{last}"] if last else []), "--", *_pathspecs(),
    )  # fmt: skip
    with _running(repository, *words, literal=False) as output:
        newest_first = list(_limited(_commits(_tokens(output), found.skipped)))
    if since:
        kept = max((at for at, one in enumerate(newest_first, 1) if one.committed_at >= since),
                   default=0)  # fmt: skip
        oldest = newest_first[kept - 1].parents[:1] if kept else (tip,)
        newest_first = newest_first[:kept]
        if oldest:
            newest_first.append(_state_at(repository, oldest[0], found.skipped))
            found.base = bool(newest_first[-1].touched)
    commits = _below(newest_first, repository.path)[::-1]
    found.base &= commits[:1] == _below(newest_first[-1:], repository.path)
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


def _pathspecs() -> list[str]:
    names = [*(f"*.{suffix}" for suffix in SUFFIXES), *_RECORDS, FACTS]
    return [f":(top,icase,glob)**/{name}" for name in names]


def _tokens(output: IO[bytes]) -> Iterator[str]:
    """What stands between NUL bytes."""
    rest = b""
    while piece := output.read1(1 << 16):  # type: ignore[attr-defined]  # a pipe is buffered
        *whole, rest = (rest + piece).split(b"\0")
        yield from (one.decode("utf-8", "backslashreplace") for one in whole)


def _commits(tokens: Iterator[str], skipped: Counter[str]) -> Iterator[Commit]:
    """Commits as `git log --raw -z` tells them. Fields are counted: no text ends one of them."""
    header: list[str] = []
    touched: list[Touched] = []
    for token in tokens:
        if token.lstrip("\n").startswith(":") and len(header) == _HEADER:
            touched += _entry(token.lstrip("\n"), tokens, skipped)
            continue
        if len(header) == _HEADER:
            yield replace(_commit(header), touched=tuple(touched))
            header, touched = [], []
        header.append(token)
    if len(header) == _HEADER:
        yield replace(_commit(header), touched=tuple(touched))


def _commit(header: Sequence[str]) -> Commit:
    commit, parents, authored, committed, author, address, message = header
    return Commit(commit.strip("\n"), tuple(parents.split()), _time(authored), _time(committed),
                  author, address, message)  # fmt: skip


def _time(seconds: str) -> datetime:
    """A time of git, UTC; one that no calendar has is the nearest that one does."""
    within = min(max(int(seconds or 0), 0), 253_402_300_799)
    return datetime.fromtimestamp(within, UTC).replace(tzinfo=None)


def _entry(facts: str, names: Iterator[str], skipped: Counter[str]) -> Iterator[Touched]:
    """A line of `--raw`, with the one or two names behind it."""
    before, after, _, blob, status = facts.removeprefix(":").split(" ")
    old = next(names)
    new = next(names) if status[:1] in ("R", "C") else old
    is_there = after in _FILES and not (why := _refused(new))
    if after == _LINK:
        skipped["symbolic link"] += 1
    elif after in _FILES and not is_there:
        skipped[why] += 1
    was_there = before in _FILES and status[:1] not in ("A", "C") and not _refused(old)
    if is_there:
        renamed = was_there and new != old
        yield Touched(new, blob, old if renamed else None)
    elif was_there:
        yield Touched(old, None)


def _refused(path: str) -> str:
    """Why a file is not read by its name; '' for any that a checkout may have."""
    parts = path.lower().split("/")
    if {"", ".", "..", ".git"} & {*parts} or "\\" in path or not path.isprintable():
        return "name that is unsafe or no text"
    too_long = any(len(part.encode()) > _LONGEST_PART for part in parts)
    return "name too long" if too_long or len(path) > _LONGEST_PATH else ""


def _limited(commits: Iterator[Commit]) -> Iterator[Commit]:
    for count, one in enumerate(commits, 1):
        if count > MOST_COMMITS:
            raise BenchError(f"more than {MOST_COMMITS:,} commits touch documents",
                             hint="--since DATE, or the path of one folder")  # fmt: skip
        yield one


def _below(newest_first: Sequence[Commit], path: str) -> list[Commit]:
    """The commits that touched what lies below a path now, or lay elsewhere before."""
    if not path:
        return [one for one in newest_first if one.touched]
    followed: set[str] = set()
    found = []
    for commit in newest_first:
        own = [
            one
            for one in commit.touched
            if one.path in followed or one.path == path or one.path.startswith(f"{path}/")
        ]
        followed |= {one.before for one in own if one.before}
        if own:
            found.append(replace(commit, touched=tuple(own)))
    return found


def _state_at(repository: Repository, commit: str, skipped: Counter[str]) -> Commit:
    """A commit as if it had added all that it contains."""
    text = repository.git("show", "-s", "--encoding=UTF-8", "--no-show-signature",
                          f"--format={_FORMAT}", "--end-of-options", commit)  # fmt: skip
    found = _commit(text.rstrip("\n").split("\0"))
    return replace(found, touched=tuple(_tree(repository, commit, skipped)))


def _tree(repository: Repository, commit: str, skipped: Counter[str]) -> Iterator[Touched]:
    words = ("ls-tree", "-r", "-z", "--full-tree", commit)
    with _running(repository, *words) as output:
        for line in _tokens(output):
            facts, _, path = line.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode in _FILES and is_document(path):
                if why := _refused(path):
                    skipped[why] += 1
                else:
                    yield Touched(path, blob)


_DOCUMENT = re.compile(
    rf"(?i)(?:.*/)?(?:[^/]*\.(?:{'|'.join(SUFFIXES)}|records)|[0-9a-f]{{16}}\.json|{re.escape(FACTS)})"
)


def is_document(path: str) -> bool:
    """Whether a path is one of those that a history is read of."""
    return _DOCUMENT.fullmatch(path) is not None
