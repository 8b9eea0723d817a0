"""Paths -> the warehouse: read outside the lock, commit whole files, tell what happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..schema.ledger import Known, Ledger, read_ledger
from ..schema.spill import Spill
from ..schema.store import Load, store
from ..schema.warehouse import LOCK_TIMEOUT_S, Warehouse, open_read, open_write, require_folder
from .collect import Collected
from .folders import uri_of
from .inputs import Input, inputs
from .source import Changed, fingerprint, parser_version, read_file
from .tensorboard import NoReader

_BATCH_ROWS = 200_000
_BATCH_BYTES = 64 << 20
_ATTEMPTS = 3  # at a file that changes while it is read, and at one that another process stores


@dataclass(frozen=True, slots=True)
class Warning:
    """A remark on one line of a file; line None: the file as a whole."""

    uri: str
    line: int | None
    code: str
    message: str


@dataclass(slots=True)
class FormatCount:
    """What the files of one kind and format gave."""

    files: int = 0
    runs: int = 0
    rows: int = 0
    lines: int = 0
    lines_unread: int = 0
    lines_measuring: int = 0


@dataclass(slots=True)
class Summary:
    """What an ingest did; `formats` is keyed by (kind, format)."""

    formats: dict[tuple[str, str], FormatCount] = field(default_factory=dict)
    known: int = 0
    changed: int = 0  # of the new ones, those that were there with other bytes
    copies: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    tables_other: int = 0
    sizes: Counter[str] = field(default_factory=Counter)
    uris: list[str] = field(default_factory=list)  # of the sources, known ones too

    @property
    def new(self) -> int:
        """Files whose rows were read."""
        return sum(count.files for count in self.formats.values())


Progress = Callable[[str], None]


def ingest(
    paths: Iterable[Path],
    db: Path,
    *,
    lock_timeout: float = LOCK_TIMEOUT_S,
    progress: Progress | None = None,
    formats: Path | None = None,
    stdin_name: str | None = None,
) -> Summary:
    """Read logs and tables below `paths` into the warehouse file `db`, made with its first row.

    Known, unchanged files are left alone. Files are committed whole, several in one transaction;
    the warehouse is locked only while a batch is committed. `formats` is a folder of log formats
    beside the built-in ones, `stdin_name` what the path `-` is called. Raises Locked, Incompatible,
    BenchError; what was committed before stays, and the same call goes on from there.
    """
    summary = Summary()
    stale = _ingest_once(paths, db, lock_timeout, summary, progress, formats, stdin_name)
    for _ in range(_ATTEMPTS):
        if not stale:
            return summary
        # Another process changed what these files are copies of: plan them afresh.
        again = Summary()
        stale = _ingest_once(stale, db, lock_timeout, again, progress, formats, stdin_name)
        summary.failed += again.failed
    summary.failed += [(str(path), "another process keeps storing it: try again") for path in stale]
    return summary


def ingest_into(
    warehouse: Warehouse, paths: Iterable[Path], root: Path, formats: Path | None = None
) -> Summary:
    """The same into a warehouse in memory; uris are relative to `root`."""
    reading = _Reading(root, read_ledger(warehouse), Summary(), formats=formats)
    for batch in _batches(reading.loads(paths)):
        store(warehouse, batch)
    return reading.summary


def _ingest_once(
    paths: Iterable[Path],
    db: Path,
    lock_timeout: float,
    summary: Summary,
    progress: Progress | None,
    formats: Path | None,
    stdin_name: str | None,
) -> list[Path]:
    """One pass; gives the files whose plan another process has overtaken."""
    known = _known(db, lock_timeout)
    reading = _Reading(db.absolute().parent, known, summary, progress, formats, stdin_name)
    stale: list[Path] = []
    for batch in _batches(reading.loads(paths)):
        with open_write(db, lock_timeout) as warehouse:
            stale += [reading.paths[load.uri] for load in store(warehouse, batch)]
    return stale


def _known(db: Path, lock_timeout: float) -> Ledger:
    if not db.exists():
        require_folder(db)
        return Ledger()
    with open_read(db, lock_timeout) as warehouse:
        return read_ledger(warehouse)


@dataclass(slots=True)
class _Reading:
    """Files on their way to loads; `paths` says by which path of the user each uri was read."""

    root: Path
    ledger: Ledger
    summary: Summary
    progress: Progress | None = None
    formats: Path | None = None
    stdin_name: str | None = None
    paths: dict[str, Path] = field(default_factory=dict)

    def loads(self, paths: Iterable[Path]) -> Iterator[Load]:
        """What there is to store, file by file; the rest is counted in the summary."""
        for item in inputs(paths, self.root, self._fail, self.stdin_name):
            self.paths[item.uri] = item.given
            if self.progress:
                self.progress(item.uri)
            try:
                load = self._load(item)
            except OSError as error:
                self._fail(item.uri, error)
                continue
            if load:
                yield load

    def _fail(self, what: Path | str, error: OSError) -> None:
        name = what if isinstance(what, str) else uri_of(what, self.root)
        self.summary.failed.append((name, error.strerror or str(error)))

    def _load(self, item: Input) -> Load | None:
        for _ in range(_ATTEMPTS):
            try:
                return self._load_once(item.path, item.uri)
            except Changed:
                continue
        raise OSError("it changes while it is read: try again when it is complete")

    def _load_once(self, path: Path, uri: str) -> Load | None:
        sha256, size = fingerprint(path)
        plan = self.ledger.plan(uri, sha256, parser_version(self.formats))
        if plan is None:
            self.summary.known += 1
            self.summary.uris.append(uri)
            return None
        if self.ledger.holds(plan.load_id):
            self.summary.copies += 1
            self.summary.uris.append(uri)
            self.ledger.note(plan)
            return Load(plan, size, None)
        collected = Collected()
        try:
            read = read_file(path, sha256, size, plan.source_id, self.formats, collected.add, uri)
        except NoReader as error:
            self.summary.skipped.append(uri)
            self.summary.warnings.append(Warning(uri, None, "no_reader", str(error)))
            return None
        if read.kind is None:
            self.summary.skipped.append(uri)
            return self._withdrawn(plan, size)
        collected.add(read.rows)
        self.summary.uris.append(uri)
        self.ledger.note(plan)
        self.summary.changed += plan.generation > 1
        _count(self.summary, uri, collected)
        self.summary.tables_other += read.coverage.tables_other if read.coverage else 0
        return Load(plan, size, collected.tables)

    def _withdrawn(self, plan: Known, size: int) -> Load | None:
        """An empty generation for a file that held something before; None for any other."""
        present = self.ledger.newest(plan.uri)
        if present is None or present.source_id != plan.source_id:
            return None
        message = "it holds no log or benchmark table any more: what it held is no longer shown"
        self.summary.warnings.append(Warning(plan.uri, None, "withdrawn", message))
        self.ledger.note(plan)
        return Load(plan, size, Spill())


def _count(summary: Summary, uri: str, found: Collected) -> None:
    source = found.source or {}
    key = (str(source["kind"]), str(source["format"] or "?"))
    count = summary.formats.setdefault(key, FormatCount())
    count.files += 1
    count.runs += found.counts["runs"]
    count.rows += sum(
        found.counts[name] for name in ("cells", "iterations", "measurements", "jobs")
    )
    count.lines += int(str(source["lines"]))
    count.lines_unread += int(str(source["lines_unread"]))
    count.lines_measuring += int(str(source.get("lines_measuring") or 0))
    summary.warnings += [
        Warning(uri, _int(row.get("line")), str(row["code"]), str(row["message"]))
        for row in found.remarks
    ]
    summary.sizes.update(found.models)


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _batches(loads: Iterable[Load]) -> Iterator[Sequence[Load]]:
    batch: list[Load] = []
    rows = size = 0
    for load in loads:
        batch.append(load)
        size += load.size
        rows += load.tables.rows if load.tables else 0
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, rows, size = [], 0, 0
    if batch:
        yield batch
