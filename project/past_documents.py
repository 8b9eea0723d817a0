"""Earlier versions of documents, read from git into memory.

They are read like current files, so a page of the past is the page that this version of bench
would have written then.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ..schema.as_of import show_as_known_at
from ..schema.errors import BenchError, NothingRecognised
from ..schema.histories import NewestRevision, tips
from ..schema.warehouse import Warehouse
from .read import read
from .revisions import blobs, commit_named, committed_at, repository_of, state

if TYPE_CHECKING:
    from .after_ingest import Checked

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_PLACES = """
    SELECT h.history_id, h.repository, h.path,
        max(c.number) FILTER (c.committed_at <= $at) AS number
    FROM raw.histories h JOIN raw.commits c USING (history_id)
    SEMI JOIN document_histories d ON d.history_id = h.history_id
    WHERE c.read_at <= $known
    GROUP BY ALL ORDER BY ALL"""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the history of sources: a commit, or a time (UTC).

    `repository` is set for a commit outside of the stored histories: a tag, a commit without
    documents, another branch. Its documents are read from git's tree.
    """

    at: datetime
    commit: str | None = None
    repository: str | None = None


def moment(warehouse: Warehouse, root: Path, text: str, at: datetime | None) -> Moment:
    """The time `at` parsed from a text, else the commit with this prefix, else the git revision
    in one of the repositories below `root`: a tag, a branch, HEAD~3.

    Raises BenchError for an unknown or ambiguous text.
    """
    if at is not None:
        return Moment(at)
    query = """SELECT DISTINCT commit_id, committed_at FROM raw.commits
               WHERE starts_with(commit_id, ?) ORDER BY ALL"""
    found = warehouse.rows(query, [text.lower()]) if _COMMIT.fullmatch(text.lower()) else []
    if len(found) == 1:
        commit, committed_at = found[0]
        return Moment(committed_at, commit)
    named = () if found else tuple(_revisions(warehouse, root, text))
    if len(named) == 1:
        return named[0]
    nowhere = "no repository of a history has such a commit, and it is no date"
    raise BenchError(
        f"no time or commit {text!r}",
        why="several commits match" if found or named else nowhere,
        hint="--as-of 2024-05-31, or a commit, tag or branch of git;"
        " --known-at for what the warehouse held at a time or commit of its own",
    )


def _revisions(warehouse: Warehouse, root: Path, text: str) -> Iterator[Moment]:
    """The git revision in each existing repository."""
    query = "SELECT DISTINCT repository FROM raw.histories ORDER BY repository"
    for (label,) in warehouse.rows(query):
        if not (root / label).is_dir():
            continue
        repository = repository_of(root / label)
        try:
            commit = commit_named(repository, text)
        except BenchError:  # unknown in this repository
            continue
        yield Moment(committed_at(repository, commit), commit, label)


def read_as_of(
    warehouse: Warehouse,
    root: Path,
    when: Moment,
    known_at: datetime | None,
    formats: Path | None,
    overrides: Mapping[str, str | None],
) -> tuple[Warehouse, Checked]:
    """A warehouse in memory with the documents of every history at an earlier time.

    Names of sources are relative to `root`. `known_at` restricts it to commits ingested by then.
    Raises BenchError for a missing repository, NothingRecognised if there was no document yet.
    """
    if known_at is not None:
        show_as_known_at(warehouse, known_at)
    wanted = list(_wanted(warehouse, when, known_at or datetime.max))
    if when.repository is not None:
        wanted.append((when.repository, _in_tree(warehouse, root, when)))
    return _read_files(wanted, root, when, formats, overrides)


def _read_files(
    wanted: Sequence[tuple[str, Sequence[NewestRevision]]],
    root: Path,
    when: Moment,
    formats: Path | None,
    overrides: Mapping[str, str | None],
) -> tuple[Warehouse, Checked]:
    """Write the documents of each repository to a temporary folder and read them."""
    with tempfile.TemporaryDirectory() as scratch:
        above = max((_steps_up(tip.uri) for _, found in wanted for tip in found), default=0)
        here = Path(scratch, "tree", *["below"] * above)
        (here / ".git").mkdir(parents=True)  # stops the search for settings above
        files = [
            file
            for repository, found in wanted
            for file in _written(root / repository, found, here)
        ]
        try:
            made, _, checked = read(files, here, formats, overrides)
        except NothingRecognised as error:
            raise NothingRecognised(
                f"no benchmark document on {when.commit or f'{when.at:%Y-%m-%d %H:%M}'}",
                why="no history that is stored had one by then",
                hint="bench history; --known-at for what the warehouse held",
            ) from error  # fmt: skip
    return made, checked


def _wanted(
    warehouse: Warehouse, when: Moment, known_at: datetime
) -> Iterator[tuple[str, Sequence[NewestRevision]]]:
    """Each repository with its documents at that time."""
    counted = set(warehouse.rows("SELECT history_id, document_id FROM document_histories"))
    given = {"at": when.at, "known": known_at}
    for history, repository, _, number in warehouse.rows(_PLACES, given):
        if repository == when.repository:
            continue
        named = "SELECT number FROM raw.commits WHERE history_id = ? AND commit_id = ?"
        own = warehouse.rows(named, [history, when.commit])
        until = own[0][0] if own else number
        if until is not None:
            found = tips(warehouse, history, until)
            yield (
                repository,
                [tip for tip in found.values() if (history, tip.document_id) in counted],
            )


def _in_tree(warehouse: Warehouse, root: Path, when: Moment) -> Sequence[NewestRevision]:
    """The documents of a commit below the paths with stored histories."""
    assert when.repository is not None and when.commit is not None, "a commit of a repository"
    given = {"at": datetime.max, "known": datetime.max}
    paths = {path for _, label, path, _ in warehouse.rows(_PLACES, given)
             if label == when.repository}  # fmt: skip
    found = state(repository_of(root / when.repository), when.commit)
    return [
        NewestRevision(path, when.repository + path, blob, (), ())
        for path, blob in sorted(found.items())
        if any(top in ("", path) or path.startswith(f"{top}/") for top in paths)
    ]


def _steps_up(uri: str) -> int:
    return sum(part == ".." for part in PurePosixPath(uri).parts)


def _written(top: Path, found: Sequence[NewestRevision], here: Path) -> Iterator[Path]:
    """Write the documents as files; returns those with rows, not their companion files."""
    if not found:
        return
    if not top.is_dir():
        raise BenchError(
            f"the repository {top} is not there",
            why="documents of earlier times are read from it",
            hint="put it back, or ingest its history from where it is",
        )
    with blobs(repository_of(top)) as content:
        for tip in found:
            file = here / tip.uri
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content(tip.blob) or b"")
            if file.suffix not in (".json", ".toml"):
                yield file
