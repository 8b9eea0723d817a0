"""Files on their way into the warehouse: what is new of them, and by which names it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..schema.growing import Part, Stored
from ..schema.ledger import Known, Ledger, Stamp
from ..schema.spill import Spill
from ..schema.store import Load
from .ahead import Ahead
from .collect import Collected
from .content import Print, end_of_lines, print_of, stamp_of
from .inputs import Input
from .looks import Looks
from .names import is_log_name, is_packed_log
from .options import Options
from .rotated import Moves, sibling, size_of
from .source import LONG_BYTES, Changed, Growth, get_ready, read_file
from .tally import Summary, Warning, add_file
from .tensorboard import NoReader, is_event_file
from .together import Result
from .untouched import Untouched
from .version import parser_version

ATTEMPTS = 3  # at a file that changes while it is read
_FEW = 8  # logs whose readers go on, at once: how each stood may be 16 MiB


@dataclass(frozen=True, slots=True)
class _Found:
    """What a file gave to store; `again`: these are names of what it held before, it comes next."""

    loads: Sequence[Load] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class _Gave:
    """What reading a file gave, and what its bytes are, where that was not known."""

    result: Result
    part: Part | None = None
    resumed: bool = False
    sha256: str | None = None


@dataclass(slots=True)
class Reading:
    """Files on their way to loads; `given` says by which path of the user each uri was read."""

    root: Path
    ledger: Ledger
    summary: Summary
    options: Options
    resume: Callable[[Sequence[str]], dict[str, Stored]] | None = None  # where readers go on
    given: dict[str, str] = field(default_factory=dict)
    moves: Moves = field(init=False)
    ahead: Ahead = field(init=False)
    looks: Looks = field(init=False)
    untouched: Untouched = field(init=False)
    _stopped: dict[str, Stored | None] = field(default_factory=dict)  # by load, of a few

    def __post_init__(self) -> None:
        self.moves = Moves(self.root, self.ledger)
        self.ahead = Ahead(self.ledger, self.options.formats, self.options.processes)
        self.looks = Looks(self.ledger, partial(get_ready, self.options.formats))
        self.untouched = Untouched(self.ledger, self.summary, self.options)

    def loads(self, items: Iterable[Input]) -> Iterator[Load]:
        """What there is to store, file by file; the rest is counted in the summary."""
        options = self.options
        with self.ahead:
            for item in self._few(items) if options.live else self.ahead.over(items):
                if self.untouched.counts(item):
                    continue
                if options.progress:
                    options.progress(item.uri)
                yield from self._loads_of(item)

    def _few(self, items: Iterable[Input]) -> Iterator[Input]:
        """The files in their order; where a few of them stopped is read in one look."""
        few: list[Input] = []
        for item in items:
            few.append(item)
            if len(few) == _FEW or not item.stays:
                yield from self._looked_up(few)
                few = []
        yield from self._looked_up(few)

    def _looked_up(self, few: Sequence[Input]) -> Sequence[Input]:
        grown: list[str] = []
        for item in few:
            present = self.ledger.newest(item.uri)
            with suppress(OSError):  # told when it is the file's turn
                if present and self._grew(item.path, present):
                    grown.append(present.load_id)
        self._stopped = dict.fromkeys(grown) | (self.resume(grown) if grown and self.resume else {})
        return few

    def _loads_of(self, item: Input, *, lost: bool = False) -> Iterator[Load]:
        """A file, and what other files hold of what it held before, or it of what they held.

        `lost`: it does not hold any more what it held.
        """
        self.given[item.uri] = item.given
        try:
            regained = list(self._regained(item, lost=lost))
            found = self._load(item, lost=lost)
        except OSError as error:
            self.summary.fail(item.uri, error)
            return
        yield from regained
        yield from found.loads
        if found.again:
            yield from self._loads_of(item, lost=True)
            for moved in found.loads:
                yield from self._loads_of(sibling(item, moved.uri))

    def _regained(self, item: Input, *, lost: bool) -> Iterator[Load]:
        """A file may hold what another one held before that was renamed or begun afresh."""
        known = self.moves.source_of(item, lost=lost) if self.resume else None
        if known is None:
            return
        old = sibling(item, known.uri)
        if old.path.exists():
            yield from self._loads_of(old)
        else:
            yield from self._named_anew(old, known)
            if nothing := self.moves.emptied(known):
                yield self._nothing(item, nothing)

    def _nothing(self, item: Input, plan: Known) -> Load:
        """That a file shows nothing any more, since another one holds what it held."""
        self.given[plan.uri] = item.given
        return Load(plan, 0, Spill())

    def _named_anew(self, item: Input, known: Known) -> Iterator[Load]:
        """What a file held goes on under the names of those that hold it now."""
        for plan in self.moves.displaced(item, known):
            self.given[plan.uri] = item.given
            yield Load(plan, plan.size, None)

    def _load(self, item: Input, *, lost: bool) -> _Found:
        ways: list[Callable[[Input], _Found]] = [partial(self._load_once, lost=lost)] * ATTEMPTS
        if self._is_like_none(item):
            ways.insert(0, self._load_new)
        for load in ways:
            try:
                return load(item)
            except Changed:
                continue
        raise OSError("it changes while it is read: try again when it is complete")

    def _is_like_none(self, item: Input) -> bool:
        """Whether it is a long log that is not known: it has a size that no other has."""
        if self.options.live or not item.stays or self.ledger.newest(item.uri):
            return False
        size = size_of(item.path)
        new = size >= LONG_BYTES and not self.ledger.holds_size(size)
        return new and is_log_name(item.path.name) and not is_event_file(item.uri)

    def _load_new(self, item: Input) -> _Found:
        """A log that is read before its bytes are known: they are hashed as they pass."""
        get_ready(self.options.formats)
        stamp, version = stamp_of(item.path), parser_version(self.options.formats)
        planned = self.ledger.plan(item.uri, "", version, stamp.bytes)
        assert planned is not None
        gave = self._gave(item.path, planned, None, stamp, Growth())
        if gave.sha256 is None:
            raise Changed(f"{item.path} has to be looked at before it is read")
        # What was read of a file that was written over meanwhile may never have been its bytes.
        touched = not stamp.settled or not stamp.same(stamp_of(item.path))
        if touched and print_of(item.path, stamp.bytes).sha256 != gave.sha256:
            raise Changed(f"{item.path} changed while it was read")
        plan = self.ledger.plan(item.uri, gave.sha256, version, stamp.bytes)
        if plan is None or plan.source_id != planned.source_id or self.ledger.holds(plan.load_id):
            raise Changed(f"{item.path} holds what another file holds")
        self.looks.note(item, gave.sha256, stamp)
        load = self._load_of(gave, plan)
        return _Found([load] if load else [])

    def _load_once(self, item: Input, *, lost: bool = False) -> _Found:
        path, uri = item.path, item.uri
        present = self.ledger.newest(uri)
        before = self._before(path, present)
        seen = self._seen(item, present, before)
        plan = self.ledger.plan(uri, seen.sha256, parser_version(self.options.formats), seen.size)
        if plan is None:
            self.summary.known += 1
            self.summary.uris.append(uri)
            left = self.moves.left(item, present) if present and self.resume else ()
            return _Found([self._nothing(item, one) for one in left])
        grown = present is not None and seen.head == present.sha256
        if present and present.size and not grown and not lost and self.resume:
            moved = list(self._named_anew(item, present))
            if moved or self.moves.source_of(item, lost=True):
                return _Found(moved, again=True)
        if self.ledger.holds(plan.load_id):
            self.summary.copies += 1
            self.summary.uris.append(uri)
            self.ledger.note(plan)
            return _Found([Load(plan, seen.size, None)])
        same = present is not None and plan.source_id == present.source_id
        load = self._read(path, seen, plan, before if grown and same else None)
        return _Found([load] if load else [])

    def _before(self, path: Path, present: Known | None) -> Stored | None:
        """Where the reader of a log that has become longer stopped."""
        if present is None or self.resume is None or not self._grew(path, present):
            return None
        known = present.load_id in self._stopped
        stopped = self._stopped if known else self.resume([present.load_id])
        return stopped.get(present.load_id)

    def _grew(self, path: Path, present: Known) -> bool:
        """Whether a log may be longer than it was, and the same code reads it."""
        if is_packed_log(path) or present.parser_version != parser_version(self.options.formats):
            return False
        return size_of(path) > present.size

    def _seen(self, item: Input, present: Known | None, before: Stored | None) -> Print:
        """What a file's bytes are; of a live log those of its whole lines."""
        path = item.path
        size, known = size_of(path), present.size if present else 0
        longer = 0 < known < size
        if is_packed_log(path):
            return self.looks.print_of(item, self.ahead.print_of, known or None)
        if not (longer or self.options.live):
            return self.looks.print_of(item, self.ahead.print_of)
        until = max(end_of_lines(path, size), known if known <= size else 0)
        since = before.checkpoint.offset if before else None
        return print_of(path, until if self.options.live else None, known or None, since)

    def _read(self, path: Path, seen: Print, plan: Known, before: Stored | None) -> Load | None:
        """What is new of a file, behind what was stored `before`."""
        if result := self.ahead.take(plan):
            return self._load_of(_Gave(result), plan)
        growth = Growth(before.checkpoint, seen.tail) if before else Growth()
        try:
            gave = self._gave(path, plan, seen.sha256, seen.stamp, growth, before)
        except NoReader as error:
            self.summary.skipped.append(plan.uri)
            self.summary.warnings.append(Warning(plan.uri, None, "no_reader", str(error)))
            return None
        return self._load_of(gave, plan)

    def _gave(
        self,
        path: Path,
        plan: Known,
        sha256: str | None,
        stamp: Stamp | None,
        growth: Growth,
        before: Stored | None = None,
    ) -> _Gave:
        """A file, read; its bytes are told where they were not known."""
        may_grow = plan.generation > 1 or plan.size >= LONG_BYTES or self.options.live
        collected, formats = Collected(), self.options.formats
        read = read_file(
            path, sha256, plan.size, plan.source_id, formats, collected.add, plan.uri,
            growth if may_grow and self.resume else None, stamp=stamp,
        )  # fmt: skip
        part = None
        if read.checkpoint:
            part = Part(read.checkpoint, before if read.resumed else None, collected.tables)
            collected.tables = Spill()
        collected.add(read.rows)
        other = read.coverage.tables_other if read.coverage else 0
        return _Gave(Result(read.kind, other, collected), part, read.resumed, read.sha256)

    def _load_of(self, gave: _Gave, plan: Known) -> Load | None:
        """What a file gave, counted, to be stored."""
        result = gave.result
        if result.kind is None:
            self.summary.skipped.append(plan.uri)
            return self._withdrawn(plan)
        self.summary.uris.append(plan.uri)
        self.ledger.note(plan)
        self.summary.grown += gave.resumed
        self.summary.changed += plan.generation > 1 and not gave.resumed
        add_file(self.summary, plan.uri, result.collected)
        self.summary.tables_other += result.tables_other
        return Load(plan, plan.size, result.collected.tables, gave.part)

    def _withdrawn(self, plan: Known) -> Load | None:
        """An empty generation for a file that held something before; None for any other."""
        present = self.ledger.newest(plan.uri)
        if present is None:
            return None
        self.ledger.note(plan)
        if self.ledger.shows_elsewhere(present):  # by another name, as where a log was rotated
            return Load(plan, plan.size, Spill())
        message = "it holds no log or benchmark table any more: what it held is no longer shown"
        self.summary.warnings.append(Warning(plan.uri, None, "withdrawn", message))
        return Load(plan, plan.size, Spill())
