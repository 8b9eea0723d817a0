"""The outcome of each file: known, a copy, or read; planned once against the ledger.

A plan may be stale before it is stored: another process stores the file, or the file changes while
it is read. `pipeline` then plans it again. The first of these that is so decides:

    its stat, or its SHA-256, is the one stored       known
    it contains what another name contained           the other name first: moved, or grown
    what it contained has another name now            that load moves there, then as if new
    its bytes are stored under another name           copy
    it begins with what was stored of it              read on from its checkpoint, if it has one
    else                                              read
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...records import reading as records
from ...schema.incremental import Stored
from ...schema.ledger import Ledger, LedgerEntry
from ...schema.spill import Spill
from ...schema.store import Load
from ..kinds import NoReader, is_event_file
from ..version import parser_version
from .content import (
    Changed,
    Content,
    fingerprint_of,
    is_long,
    is_untouched,
    read_content,
    read_small,
    stamp_of,
    unhashed,
)
from .folders import is_packed_log
from .inputs import Input
from .parsed import parse
from .prefetch import Processes, Turn, read_ahead
from .rotated import LogMoves, sibling, size_of
from .summary import Outcome, Progress, Warning
from .task import Task

if TYPE_CHECKING:
    from .cluster import Cluster

_FEW = 8  # grown logs whose checkpoints are loaded at once: each may be 16 MiB
NO_LONGER = "no longer contains a log or table; its earlier rows are hidden"
Resume = Callable[[Sequence[str]], dict[str, Stored]]  # the checkpoints of these loads


@dataclass(slots=True)
class Planner:
    """Plans files, and reads the new ones.

    Without `resume`, as in memory, no log is followed: neither where it grows nor where it moves.
    """

    root: Path
    ledger: Ledger
    formats: Path | None = None
    live: bool = False
    resume: Resume | None = None
    _moves: LogMoves = field(init=False)
    _version: int = field(init=False)
    _ahead: set[str] = field(default_factory=set)  # SHA-256 of files read ahead
    _grown: list[str] = field(default_factory=list)  # loads of grown logs, soon to be continued
    _stopped: dict[str, Stored] = field(default_factory=dict)  # by load, of a few

    def __post_init__(self) -> None:
        self._moves = LogMoves(self.root, self.ledger)
        self._version = parser_version(self.formats)

    def outcomes(
        self,
        items: Iterable[Input],
        processes: int,
        progress: Progress | None,
        cluster: Cluster | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes of the files in order, and of the files that they were renamed from."""
        if cluster:
            from .remote_chunks import ClusterWorkers

            ahead = read_ahead(items, self._task_elsewhere, ClusterWorkers(cluster, self._version))
        else:
            ahead = read_ahead(items, self._task_ahead, Processes(processes))
        with closing(ahead) as turns:
            for turn in turns:
                if progress:
                    progress(turn.item.uri)
                if not self.live and is_untouched(turn.item, self.ledger, self._version):
                    yield Outcome(turn.item, "known")
                else:
                    yield from self._outcomes_of(turn)

    def _task_ahead(self, item: Input) -> Task | None:
        """The task to read a small new file ahead; None for any other."""
        present = self.ledger.newest(item.uri)
        try:
            if self.live and present and self._may_go_on(item.path, present):
                self._grown.append(present.load_id)
            if present or self.live or not item.stays or records.is_marker(item.path):
                return None
            content = read_small(item.path, stamp_of(item.path))
        except OSError:
            return None  # reported when the file is planned
        if content is None or content.sha256 in self._ahead:
            return None  # mostly a copy, which is not read twice
        plan = self._plan(item, content)
        if plan is None or self.ledger.has_load(plan.load_id):
            return None
        self._ahead.add(plan.sha256)
        return Task(content, item.uri, plan.source_id, self.formats)

    def _task_elsewhere(self, item: Input) -> Task | None:
        """The task for a cluster to read a file that this version has not read, by a guess.

        A file that this version has read is mostly known, or is continued here.
        """
        present = self.ledger.newest(item.uri)
        if self.live or not item.stays or (present and present.parser_version == self._version):
            return None
        try:
            stamp = stamp_of(item.path)
        except OSError:
            return None  # reported when the file is planned
        same = present is not None and present.size == stamp.bytes
        sha256 = present.sha256 if present and same else ""
        plan = self.ledger.plan(item.uri, sha256, self._version, stamp.bytes)
        if plan is None or records.is_marker(item.path):
            return None
        content, before = Content(item.path.absolute(), stamp.bytes), present.size if present else 0
        formats = self.formats.absolute() if self.formats else None
        may_grow = plan.generation > 1 and self.resume is not None
        return Task(content, item.uri, plan.source_id, formats, may_grow, before=before)

    def _plan(self, item: Input, content: Content) -> LedgerEntry | None:
        return self.ledger.plan(item.uri, content.sha256 or "", self._version, content.size)

    def _outcomes_of(self, turn: Turn, *, lost: bool = False) -> Iterator[Outcome]:
        """A file, with those that contain its earlier bytes, or whose bytes it contains now.

        `lost`: it no longer begins with what it contained before.
        """
        turn.arrive()
        if turn.broke:
            yield Outcome(turn.item, "failed", reason=turn.broke)
            return
        try:
            # The earlier name first: the content is then known under this name, and may have grown.
            yield from self._taken_over(turn.item, lost=lost)
            yield from self._planned(turn, lost=lost)
        except Changed:
            reason = "it keeps changing while it is read; try again when it is complete"
            yield Outcome(turn.item, "overtaken", reason=reason)
        except OSError as error:
            yield Outcome(turn.item, "failed", reason=error.strerror or str(error))

    def _taken_over(self, item: Input, *, lost: bool) -> Iterator[Outcome]:
        """The log whose content a new one contains: one renamed, or rotated and begun again."""
        known = self._moves.source_of(item, lost=lost) if self.resume else None
        if known is None:
            return
        old = sibling(item, known.uri)
        if old.path.exists():
            yield from self._outcomes_of(Turn(old))
        else:
            yield from self._moved_on(old, known)
            yield from self._emptied(item, known)

    def _moved_on(self, item: Input, known: LedgerEntry) -> Iterator[Outcome]:
        """The load under the names of the files that contain it now."""
        for plan in self._moves.displaced(item, known):
            yield Outcome(sibling(item, plan.uri), "moved", Load(plan, None))

    def _emptied(self, item: Input, known: LedgerEntry) -> Iterator[Outcome]:
        """An empty load for a name whose content has another name now."""
        if plan := self._moves.emptied(known):
            yield Outcome(sibling(item, plan.uri), "moved", Load(plan, Spill()))

    def _planned(self, turn: Turn, *, lost: bool) -> Iterator[Outcome]:
        """A file by its content: known, moved, already stored under another name, or read."""
        item, present = turn.item, self.ledger.newest(turn.item.uri)
        before = self._before(item.path, present)
        content = self._content(turn, present, before)
        stamp = content.stamp if item.stays and self._is_whole(content) else None
        plan = self._plan(item, content)
        if plan is None:
            yield Outcome(item, "known", sha256=content.sha256, stamp=stamp)
            for left in self._moves.left(item, present) if present and self.resume else ():
                yield from self._emptied(item, left)
            return
        grown = present is not None and content.head == present.sha256
        if present and present.size and not grown and not lost and self.resume:
            moved = list(self._moved_on(item, present))
            if moved or self._moves.source_of(item, lost=True):
                # Its load has another name now, so the file contains another log.
                yield from moved
                yield from self._outcomes_of(Turn(item), lost=True)
                for other in moved:  # it may have grown since
                    yield from self._outcomes_of(Turn(other.item))
                return
        if self.ledger.has_load(plan.load_id):
            self.ledger.note(plan)
            found = Outcome(item, "copy", Load(plan, None))
        else:
            same = present is not None and plan.source_id == present.source_id
            found = self._read(turn, content, plan, before if grown and same else None)
        found.sha256, found.stamp = content.sha256, stamp
        found.same_bytes = present is not None and present.sha256 == content.sha256
        yield found

    def _is_whole(self, content: Content) -> bool:
        """Whether the content is the whole file of the stamp; of a live log it may not be."""
        return not self.live or (content.stamp is not None and content.size == content.stamp.bytes)

    def _before(self, path: Path, present: LedgerEntry | None) -> Stored | None:
        """The checkpoint of the reader of a grown log."""
        if present is None or self.resume is None or not self._may_go_on(path, present):
            return None
        load_id = present.load_id
        if load_id not in self._stopped:
            # Each query opens the warehouse, so it is for the next ones, too.
            start = self._grown.index(load_id) if load_id in self._grown else len(self._grown)
            self._stopped = self.resume([load_id, *self._grown[start + 1 : start + _FEW]])
        return self._stopped.get(load_id)

    def _may_go_on(self, path: Path, present: LedgerEntry) -> bool:
        """Whether a log may be longer than it was, and the same code reads it."""
        if is_packed_log(path) or present.parser_version != self._version:
            return False
        return size_of(path) > present.size

    def _content(self, turn: Turn, present: LedgerEntry | None, before: Stored | None) -> Content:
        """The bytes of a file, read as far as the plan needs; of a live log its whole lines."""
        item, path, stamp = turn.item, turn.item.path, stamp_of(turn.item.path)
        before_size = present.size if present else 0  # of bytes that it may still begin with
        if turn.task and turn.task.content.data is None and turn.task.before == before_size:
            return turn.task.content  # a cluster has read it
        packed = is_packed_log(path)
        if known := self.ledger.unchanged(item.uri, stamp) if packed or not self.live else None:
            return Content(path, known.size, known.sha256, stamp)
        if packed or records.is_marker(path):
            return read_content(path, head=before_size or None)
        if before_size > stamp.bytes:  # it was begun afresh
            before_size = 0
        ahead = turn.task.content if turn.task and turn.task.content.data is not None else None
        if content := ahead or read_small(path, stamp):
            if self.live:  # the stored part of an incomplete last line stays
                content = content.cut(max(content.end_of_pieces(), before_size))
            return content.with_head(before_size)
        if not (self.live or present or self.ledger.has_size(stamp.bytes)):
            # No load can have the same bytes, so they are hashed while they are read.
            content = None if is_event_file(item.uri) else unhashed(path, stamp)
            if content:
                return content
        end = Content(path, stamp.bytes).end_of_pieces() if self.live else 0
        until = max(end, before_size) if self.live else None
        since = before.checkpoint.offset if before else None
        content = fingerprint_of(path, until, before_size or None, since)
        content.stamp = stamp
        return content

    def _read(
        self, turn: Turn, content: Content, plan: LedgerEntry, before: Stored | None
    ) -> Outcome:
        """Reads the new part of a file, after what was stored `before`."""
        item = turn.item
        may_grow = plan.generation > 1 or is_long(plan.size) or self.live
        task = Task(
            content, item.uri, plan.source_id, self.formats,
            may_grow and self.resume is not None, before.checkpoint if before else None,
        )  # fmt: skip
        # Ids of rows depend on the source, so a result read ahead for another one is useless.
        ahead = turn.task is not None and _alike(turn.task, task)
        try:
            parsed = (turn.take() if ahead else None) or parse(task, before)
        except NoReader as error:
            warning = Warning(item.uri, None, "no_reader", str(error))
            return Outcome(item, "skipped", warning=warning)
        if parsed.kind is None:
            return self._withdrawn(item, plan)
        if not plan.sha256:  # it was computed while reading
            plan = plan.of_bytes(content.sha256 or "")
        self.ledger.note(plan)  # the next files are planned as if it were stored
        load = Load(plan, parsed.tables, parsed.part)
        return Outcome(item, "grown" if parsed.resumed else "read", load, parsed)

    def _withdrawn(self, item: Input, plan: LedgerEntry) -> Outcome:
        """A file that is no log or table; an empty generation hides its earlier rows."""
        present = self.ledger.newest(plan.uri)
        if present is None:
            return Outcome(item, "skipped")
        elsewhere = self.ledger.shows_elsewhere(present)  # as where a log was rotated
        self.ledger.note(plan)
        warning = None if elsewhere else Warning(plan.uri, None, "withdrawn", NO_LONGER)
        return Outcome(item, "skipped", Load(plan, Spill()), warning=warning)


def _alike(task: Task, other: Task) -> bool:
    """Whether two tasks give the same rows."""
    return (task.content.sha256, task.source_id, task.may_grow) == (
        other.content.sha256, other.source_id, other.may_grow,
    )  # fmt: skip
