"""Reads the commits of a history in order, compares their rows, and stores them in batches."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ..ingest.files.prefetch import nth
from ..ingest.files.row_history import DocumentRows, RowChange, TrackedRow
from ..ingest.files.stated_rows import StatedRow, stated_rows
from ..schema.histories import History, NewestRevision, append, gone, tips
from ..schema.opening import open_read, open_write
from ..schema.rows import Rows, content_id
from ..vocabulary.secrets import redact_text
from .blob_rows import Chunk, Key, RowsOf, Submit, prefetched, submitting
from .commits import Commit, Touched
from .facts import NAME as FACTS
from .revisions import LONGEST, Listing, Repository, blobs

_CHUNK_BLOBS, _CHUNK_BYTES = 64, 4 << 20  # parsed by a process at a time
_BATCH_BLOBS, _BATCH_COMMITS = 1_024, 4_096  # per transaction
_ROWS_CACHED = 40_000  # of documents between two of their revisions
_BLOBS_CACHED = 512  # with their rows, since a reverted change restores an earlier blob
_LONGEST_MESSAGE = 200  # characters
_WORTH_IT = 150  # minimum of documents for starting processes
_ALWAYS = (".records", FACTS)  # files without rows that pages of earlier times need

Reader = Callable[[str], bytes | None]
Progress = Callable[[str], None]


@dataclass(slots=True)
class HistorySummary:
    """Counts of a reading, and why it started over, if it did."""

    branch: str
    commits: int = 0
    revisions: int = 0
    blobs: int = 0
    changes: Counter[str] = field(default_factory=Counter)  # of rows, by kind
    documents: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    shallow: bool = False
    restart_reason: str = ""  # why an earlier reading was not continued


@dataclass(slots=True)
class HistoryReading:
    """The reading of one history: commits are compared in order and stored in batches."""

    db: Path
    lock_timeout: float
    repository: Repository
    history: History
    summary: HistorySummary
    progress: Progress | None
    _tips: dict[str, NewestRevision] = field(default_factory=dict)  # after the commits so far
    _documents: OrderedDict[str, DocumentRows] = field(default_factory=OrderedDict)
    _kept: OrderedDict[Key, Callable[[], RowsOf]] = field(default_factory=OrderedDict)
    _rows: Rows = field(default_factory=Rows)

    def read(self, listing: Listing, processes: int) -> None:
        """Read all listed commits in batches."""
        if self.history.number >= 0:
            with open_read(self.db, self.lock_timeout) as warehouse:
                self._tips = tips(warehouse, self.history.history_id)
        number, batch_blobs, batch_commits = self.history.number, 0, 0
        if number < 0 and not listing.base:
            number = 0
        many = sum(len(commit.touched) for commit in listing.commits) >= _WORTH_IT
        with ExitStack() as stack:
            reader = stack.enter_context(blobs(self.repository))
            submit = stack.enter_context(submitting(processes if many else 1))
            most = 2 * processes if many else 0
            for chunk in prefetched(self._chunks(listing.commits, reader, submit), most):
                self._restore(chunk.commits, reader)
                for commit in chunk.commits:
                    number += 1
                    self._take(commit, number, chunk.rows)
                batch_blobs += chunk.blobs
                batch_commits += len(chunk.commits)
                if batch_blobs >= _BATCH_BLOBS or batch_commits >= _BATCH_COMMITS:
                    self._store(number, chunk.commits[-1])
                    batch_blobs = batch_commits = 0
            if batch_commits:
                self._store(number, listing.commits[-1])
        self.summary.documents = sum(bool(tip.row_ids) for tip in self._tips.values())

    def _chunks(self, commits: Iterable[Commit], reader: Reader, submit: Submit) -> Iterator[Chunk]:
        """Commits in order; each blob added by them is read from git once."""
        some: list[Commit] = []
        data: dict[Key, bytes] = {}
        rows: dict[Key, Callable[[], RowsOf]] = {}
        for commit in commits:
            some.append(commit)
            for one in commit.touched:
                key = self._uri(one.path), one.blob or ""
                if one.blob is None or key in data:
                    continue
                if key in self._kept:
                    self._kept.move_to_end(key)
                    rows[key] = self._kept[key]
                elif (content := reader(one.blob)) is None:
                    self.summary.skipped[f"longer than {LONGEST >> 20} MiB"] += 1
                else:
                    data[key] = content
            size = sum(map(len, data.values())) if len(data) > 1 else 0
            full = len(data) >= _CHUNK_BLOBS or size >= _CHUNK_BYTES
            if full or len(some) >= _BATCH_COMMITS:
                yield self._chunk(some, data, rows, submit)
                some, data, rows = [], {}, {}
        if some:
            yield self._chunk(some, data, rows, submit)

    def _chunk(
        self, commits: Sequence[Commit], data: Mapping[Key, bytes],
        rows: dict[Key, Callable[[], RowsOf]], submit: Submit,
    ) -> Chunk:  # fmt: skip
        result = submit([(uri, content) for (uri, _), content in data.items()])
        for place, key in enumerate(data):
            self._kept[key] = rows[key] = partial(nth, result, place)
        while len(self._kept) > _BLOBS_CACHED:
            self._kept.popitem(last=False)
        self.summary.blobs += len(data)
        return Chunk(commits, rows, len(data))

    def _uri(self, path: str) -> str:
        return self.history.repository + path

    def _restore(self, commits: Sequence[Commit], reader: Reader) -> None:
        """Load the rows of documents about to change, if only the warehouse has them."""
        names = {self._uri(name) for commit in commits for one in commit.touched
                 for name in (one.path, one.before) if name}  # fmt: skip
        wanted = [tip for name in names if (tip := self._tips.get(name))
                  and tip.document_id not in self._documents]  # fmt: skip
        if not wanted:
            return
        ids = [tip.document_id for tip in wanted]
        with open_read(self.db, self.lock_timeout) as warehouse:
            removed = gone(warehouse, self.history.history_id, ids)
        for tip in wanted:
            rows = stated_rows(tip.uri, reader(tip.blob) or b"") if tip.row_ids else []
            live = map(TrackedRow, tip.row_ids, rows)
            was = (
                StatedRow(**{name: row[name] for name in _FIELDS})
                for row in removed[tip.document_id]
            )
            left = {row["row_id"]: TrackedRow(row["row_id"], one)
                    for row, one in zip(removed[tip.document_id], was, strict=True)}  # fmt: skip
            self._documents[tip.document_id] = DocumentRows(tip.document_id, list(live), left)

    def _take(self, commit: Commit, number: int, read: Mapping[Key, Callable[[], RowsOf]]) -> None:
        """Add the rows of a commit, of the documents it touched, and of their row changes."""
        if self.progress:
            self.progress(f"{commit.committed_at:%Y-%m-%d} {commit.commit_id[:12]}")
        author = f"{commit.author} <{commit.address}>"
        self._rows.add(
            "commits", history_id=self.history.history_id, number=number,
            commit_id=commit.commit_id, parent_id=next(iter(commit.parents), None),
            parents=len(commit.parents), authored_at=commit.authored_at,
            committed_at=commit.committed_at,
            author=author if self.history.authors else content_id("author", author),
            message=redact_text(commit.message)[:_LONGEST_MESSAGE],
        )  # fmt: skip
        self.summary.commits += 1
        touched = renamed(commit.touched, self._live_rows, partial(self._read_rows, read))
        # A renamed document comes before one that takes its old name.
        for one in sorted(touched, key=lambda touched: touched.before is None):
            self._touch(one, number, read)

    def _live_rows(self, path: str) -> RowsOf | None:
        """The rows of a document before this commit; None for a new one."""
        tip = self._tips.get(self._uri(path))
        document = self._documents.get(tip.document_id) if tip else None
        return [one.row for one in document.live] if document else None

    def _read_rows(self, read: Mapping[Key, Callable[[], RowsOf]], path: str, blob: str) -> RowsOf:
        found = read.get((self._uri(path), blob))
        return found() if found else ()

    def _touch(
        self, touched: Touched, number: int, read: Mapping[Key, Callable[[], RowsOf]]
    ) -> None:
        uri = self._uri(touched.path)
        tip = self._tips.get(self._uri(touched.before) if touched.before else uri)
        if touched.blob is None:
            if tip:
                del self._tips[uri]
                self._revise(tip, number, "removed", None, [])
            return
        found = read.get((uri, touched.blob))
        rows = found() if found else None
        if not (tip or rows or touched.path.endswith(_ALWAYS)):
            return  # not yet a document of benchmarks
        kind = "added" if tip is None else "renamed" if touched.before else "changed"
        if tip is None:
            tip = NewestRevision(
                content_id(self.history.history_id, uri, number), uri, touched.blob, (), ()
            )
        elif touched.before:
            self._tips.pop(tip.uri, None)
        renamed = tip.uri if touched.before else None
        self._revise(replace(tip, uri=uri, blob=touched.blob), number, kind, renamed, rows)

    def _revise(
        self,
        tip: NewestRevision,
        number: int,
        kind: str,
        renamed: str | None,
        rows: Sequence[StatedRow] | None,
    ) -> None:
        """Add a document's new revision; `rows` is None if it is too long to read: no change."""
        document = self._documents.setdefault(tip.document_id, DocumentRows(tip.document_id))
        self._documents.move_to_end(tip.document_id)
        changes = document.move_to(rows, number) if rows is not None else []
        ids = [one.row_id for one in document.live]
        lines = [one.row.line for one in document.live]
        if kind != "removed":
            self._tips[tip.uri] = replace(tip, row_ids=tuple(ids), lines=tuple(lines))
        self._rows.add(
            "revisions", history_id=self.history.history_id, number=number,
            document_id=tip.document_id, uri=tip.uri, renamed_from=renamed, kind=kind,
            blob=None if kind == "removed" else tip.blob, row_ids=ids, lines=lines,
        )  # fmt: skip
        self.summary.revisions += 1
        for change in changes:
            self._add_change(tip.document_id, number, change)

    def _add_change(self, document_id: str, number: int, change: RowChange) -> None:
        self.summary.changes[change.kind] += 1
        self._rows.add(
            "row_changes", history_id=self.history.history_id, number=number,
            document_id=document_id, row_id=change.row_id, kind=change.kind,
            **{name: getattr(change.row, name) for name in _FIELDS},
        )  # fmt: skip

    def _store(self, number: int, last: Commit) -> None:
        """Store the batch; then documents may be dropped from the cache."""
        with open_write(self.db, self.lock_timeout) as warehouse:
            append(warehouse, self.history, self._rows)
        self.history = replace(self.history, number=number, commit_id=last.commit_id)
        self._rows = Rows()
        cached = sum(
            len(document.live) + len(document.gone) for document in self._documents.values()
        )
        while cached > _ROWS_CACHED and len(self._documents) > 1:
            _, oldest = self._documents.popitem(last=False)
            cached -= len(oldest.live) + len(oldest.gone)


_FIELDS = ("run_id", "line", "section", "settings", "printed", "numbers")


_LEAST = 0.5  # share of a removed document's rows in the added one
_FEWEST = 3  # common rows: fewer may be a coincidence


def renamed(
    touched: Sequence[Touched],
    before: Callable[[str], Sequence[StatedRow] | None],
    after: Callable[[str, str], Sequence[StatedRow]],
) -> Sequence[Touched]:
    """The files touched by a commit, with removals and additions of the same rows as renames.

    `before` returns the rows of a path before the commit, None without any; `after` those of a
    path and blob.
    """
    gone = {one.path: rows for one in touched if not one.blob and (rows := before(one.path))}
    came = [one for one in touched if one.blob and not one.before and before(one.path) is None]
    pairs: dict[str, str] = {}
    for one in came if gone else ():
        says = {_text(row) for row in after(one.path, one.blob or "")}
        shares = {
            path: sum(_text(row) in says for row in rows) / len(rows)
            for path, rows in gone.items()
            if path not in pairs.values() and sum(_text(row) in says for row in rows) >= _FEWEST
        }
        best = max(shares, key=lambda path: shares[path], default=None)
        if best is not None and shares[best] >= _LEAST:
            pairs[one.path] = best
    return [
        replace(one, before=pairs.get(one.path, one.before))
        for one in touched
        if one.blob or one.path not in pairs.values()
    ]


def _text(row: StatedRow) -> str:
    """Measurements and common sizes of a row, for comparison without the rest of its text."""
    return repr(sorted(row.printed.items()))
