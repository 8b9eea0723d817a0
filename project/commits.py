"""Parsers of `git log --raw -z` and `git ls-tree`: commits and the documents they touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import IO

from .facts import NAME as FACTS

SUFFIXES = ("md", "markdown", "mdx", "rst", "tex", "html", "htm", "csv", "tsv")  # of documents
_RECORDS = ("[0-9a-f]" * 16 + ".json", "*.records")
_LONGEST_PATH = 1000  # characters; parts of a path as limited by file systems
_LONGEST_PART = 200  # bytes
FILES = ("100644", "100755")
_LINK = "120000"
FORMAT = "%H%x00%P%x00%at%x00%ct%x00%an%x00%ae%x00%s"
_HEADER = FORMAT.count("%x00") + 1


@dataclass(frozen=True, slots=True)
class Touched:
    """A file changed by a commit: `blob` is None if removed; `before` is its old name."""

    path: str
    blob: str | None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with the documents it touched; times are UTC."""

    commit_id: str
    parents: tuple[str, ...]
    authored_at: datetime
    committed_at: datetime
    author: str
    address: str
    message: str
    touched: tuple[Touched, ...] = ()


def pathspecs() -> list[str]:
    """Git pathspecs that match documents."""
    names = [*(f"*.{suffix}" for suffix in SUFFIXES), *_RECORDS, FACTS]
    return [f":(top,icase,glob)**/{name}" for name in names]


def tokens(output: IO[bytes]) -> Iterator[str]:
    """The texts between NUL bytes."""
    rest = b""
    while piece := output.read1(1 << 16):  # type: ignore[attr-defined]  # a pipe is buffered
        *whole, rest = (rest + piece).split(b"\0")
        yield from (one.decode("utf-8", "backslashreplace") for one in whole)


def read_commits(tokens: Iterator[str], skipped: Counter[str]) -> Iterator[Commit]:
    """Parse `git log --raw -z`. Fields are counted, since texts may contain any separator."""
    header: list[str] = []
    touched: list[Touched] = []
    for token in tokens:
        if token.lstrip("\n").startswith(":") and len(header) == _HEADER:
            touched += _entry(token.lstrip("\n"), tokens, skipped)
            continue
        if len(header) == _HEADER:
            yield replace(commit_of(header), touched=tuple(touched))
            header, touched = [], []
        header.append(token)
    if len(header) == _HEADER:
        yield replace(commit_of(header), touched=tuple(touched))


def commit_of(header: Sequence[str]) -> Commit:
    """A commit from the fields of `FORMAT`, still without touched files."""
    commit, parents, authored, committed, author, address, message = header
    return Commit(commit.strip("\n"), tuple(parents.split()), time_of(authored), time_of(committed),
                  author, address, message)  # fmt: skip


def time_of(seconds: str) -> datetime:
    """A git timestamp as UTC, clipped to the supported range."""
    within = min(max(int(seconds or 0), 0), 253_402_300_799)
    return datetime.fromtimestamp(within, UTC).replace(tzinfo=None)


def _entry(facts: str, names: Iterator[str], skipped: Counter[str]) -> Iterator[Touched]:
    """Parse a line of `--raw`, with the one or two names that follow."""
    before, after, _, blob, status = facts.removeprefix(":").split(" ")
    old = next(names)
    new = next(names) if status[:1] in ("R", "C") else old
    is_there = after in FILES and not (why := name_error(new))
    if after == _LINK:
        skipped["symbolic link"] += 1
    elif after in FILES and not is_there:
        skipped[why] += 1
    was_there = before in FILES and status[:1] not in ("A", "C") and not name_error(old)
    if is_there:
        renamed = was_there and new != old
        yield Touched(new, blob, old if renamed else None)
    elif was_there:
        yield Touched(old, None)


def name_error(path: str) -> str:
    """Why a file's name is rejected; '' for a safe one."""
    parts = path.lower().split("/")
    if {"", ".", "..", ".git"} & {*parts} or "\\" in path or not path.isprintable():
        return "name that is unsafe or no text"
    too_long = any(len(part.encode()) > _LONGEST_PART for part in parts)
    return "name too long" if too_long or len(path) > _LONGEST_PATH else ""


def below(newest_first: Sequence[Commit], path: str) -> list[Commit]:
    """The commits that touched files below a path, including their earlier names."""
    if not path:
        return [commit for commit in newest_first if commit.touched]
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


_DOCUMENT = re.compile(
    rf"(?i)(?:.*/)?(?:[^/]*\.(?:{'|'.join(SUFFIXES)}|records)|[0-9a-f]{{16}}\.json|{re.escape(FACTS)})"
)


def is_document(path: str) -> bool:
    """Whether a path is a document."""
    return _DOCUMENT.fullmatch(path) is not None
