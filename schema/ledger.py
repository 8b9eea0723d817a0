"""The ledger of loads by file, and the planning of loads for new bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from .rows import content_id
from .warehouse import Warehouse

# Minimal age of a file's times: finer clocks tick at least each 10 ms.
TICK_NS, STEP_NS = 50_000_000, 2_500_000_000


class LedgerEntry(NamedTuple):
    """One load of a uri: a row of the ledger."""

    uri: str
    generation: int
    load_id: str
    source_id: str
    sha256: str
    parser_version: int
    size: int = 0  # bytes

    @property
    def content(self) -> tuple[str, int]:
        """The key of the rows: the bytes and the version of the reading code."""
        return self.sha256, self.parser_version

    def of_bytes(self, sha256: str) -> LedgerEntry:
        """The same with the SHA-256 of its bytes."""
        load_id = content_id("load", self.uri, self.generation, sha256, self.parser_version)
        return self._replace(sha256=sha256, load_id=load_id)


class Stamp(NamedTuple):
    """A file's stat, times in ns since 1970; `seen_ns`: the time of the call."""

    inode: int
    bytes: int
    modified_ns: int
    changed_ns: int
    seen_ns: int

    @property
    def settled(self) -> bool:
        """Whether any later write would show: the times are older than their resolution.

        Some file systems keep times in steps of up to 2 s, others to a tick of the clock.
        """
        newest = max(self.modified_ns, self.changed_ns)
        return self.seen_ns - newest > (TICK_NS if newest % 1_000_000_000 else STEP_NS)

    def same(self, other: Stamp) -> bool:
        """Whether the file has not been written to, replaced or renamed."""
        return self[:-1] == other[:-1]


_NO_STAMPS: Mapping[str, tuple[str, Stamp]] = MappingProxyType({})


class _Index:
    """Loads by the keys of lookups for planning."""

    def __init__(self) -> None:
        self.by_content: dict[tuple[str, int], dict[str, LedgerEntry]] = defaultdict(dict)
        self.uris_of_source: dict[str, set[str]] = defaultdict(set)
        self.uris_of_bytes: dict[str, set[str]] = defaultdict(set)
        self.uris_of_folder: dict[str, set[str]] = defaultdict(set)
        self.loads: set[str] = set()
        self.sizes: set[int] = set()

    def add(self, load: LedgerEntry) -> None:
        """Add one load, shown or not."""
        self.loads.add(load.load_id)
        self.sizes.add(load.size)
        self.by_content[load.content].setdefault(load.load_id, load)

    def show(self, load: LedgerEntry, before: LedgerEntry | None = None) -> None:
        """Make a load the shown one of its uri, in place of `before`."""
        if before:
            self.uris_of_source[before.source_id].discard(load.uri)
            self.uris_of_bytes[before.sha256].discard(load.uri)
        self.uris_of_folder[load.uri.rpartition("/")[0]].add(load.uri)
        self.uris_of_source[load.source_id].add(load.uri)
        self.uris_of_bytes[load.sha256].add(load.uri)


class Ledger:
    """The loads of the warehouse, as read at one moment; `plan` decides whether bytes are new.

    Ids of rows are made from their source, so two shown loads must not share a source: files with
    the same bytes share the load itself, others get another source.
    """

    def __init__(
        self,
        known: Iterable[LedgerEntry] = (),
        stamps: Mapping[str, tuple[str, Stamp]] = _NO_STAMPS,
    ) -> None:
        """Loads in the order of storing, and the stamps of files before these bytes were read:
        SHA-256 and stamp by uri."""
        self._known = list(known)
        self._stamps = stamps
        self._by_uri: dict[str, LedgerEntry] = {}
        for load in self._known:
            present = self._by_uri.get(load.uri)
            if present is None or present.generation < load.generation:
                self._by_uri[load.uri] = load

    def note(self, load: LedgerEntry) -> list[LedgerEntry]:
        """Count `load` as stored; returns it and the other uris of the same bytes that follow it.

        They do when new code has read the bytes again: one reading is enough for all.
        """
        followers = [
            LedgerEntry(
                uri, old.generation + 1, load.load_id, load.source_id, *load.content, load.size
            )
            for uri in sorted(self._index.uris_of_bytes[load.sha256] - {load.uri})
            if (old := self._by_uri[uri]).parser_version != load.parser_version
        ]
        noted = [load, *followers]
        for one in noted:
            self._add(one)
        return noted

    def newest(self, uri: str) -> LedgerEntry | None:
        """The shown load of a uri."""
        return self._by_uri.get(uri)

    def unchanged(self, uri: str, stamp: Stamp) -> LedgerEntry | None:
        """The shown load of a uri, if the file's stat is unchanged."""
        present, (sha256, before) = self.newest(uri), self._stamps.get(uri, ("", None))
        if present is None or before is None or present.sha256 != sha256:
            return None
        # A write within the resolution of the file's times may have gone unseen: then the bytes
        # decide.
        return present if before.settled and before.same(stamp) else None

    def shows_elsewhere(self, load: LedgerEntry) -> list[LedgerEntry]:
        """The same load at other uris that show it."""
        others = sorted(self._index.uris_of_source[load.source_id] - {load.uri})
        found = (self._by_uri[other] for other in others)
        return [known for known in found if known.load_id == load.load_id]

    def of_folder(self, folder: str) -> list[LedgerEntry]:
        """The shown loads of the files of a folder, the longest first."""
        found = (self._by_uri[uri] for uri in self._index.uris_of_folder[folder])
        return sorted(found, key=lambda known: (-known.size, known.uri))

    def has_load(self, load_id: str) -> bool:
        """Whether the rows of a load are stored, or about to be."""
        return load_id in self._index.loads

    def has_size(self, size: int) -> bool:
        """Whether any load has this size."""
        return size in self._index.sizes

    def plan(self, uri: str, sha256: str, parser_version: int, size: int = 0) -> LedgerEntry | None:
        """The load to make for these bytes at this uri; None if they are known there.

        `load_id` is that of a stored load if the same bytes are at another path.
        """
        present = self._by_uri.get(uri)
        if present and present.content == (sha256, parser_version):
            return None
        generation = present.generation + 1 if present else 1
        # The same bytes are stored once, unless their source shows other bytes elsewhere by now.
        for twin in self._index.by_content[sha256, parser_version].values():
            if self._free(twin.source_id, uri, sha256):
                return LedgerEntry(
                    uri, generation, twin.load_id, twin.source_id, *twin.content, size
                )
        source_id = next(
            source_id
            for source_id in _source_ids(uri, present, generation)
            if self._free(source_id, uri, sha256)
        )
        planned = LedgerEntry(uri, generation, "", source_id, "", parser_version, size)
        return planned.of_bytes(sha256)

    @cached_property
    def _index(self) -> _Index:
        # Most calls find known files, which need no index.
        index = _Index()
        for load in self._known:
            index.add(load)
        for load in self._by_uri.values():
            index.show(load)
        return index

    def _add(self, load: LedgerEntry) -> None:
        self._index.add(load)
        present = self._by_uri.get(load.uri)
        if present and present.generation >= load.generation:
            return
        self._by_uri[load.uri] = load
        self._index.show(load, present)

    def _free(self, source_id: str, uri: str, sha256: str) -> bool:
        """Whether no other uri shows other bytes under this source."""
        others = self._index.uris_of_source[source_id] - {uri}
        return all(self._by_uri[other].sha256 == sha256 for other in others)


def read_ledger(warehouse: Warehouse) -> Ledger:
    """Every load of the warehouse, oldest first."""
    query = """SELECT uri, generation, load_id, source_id, sha256, parser_version, to_byte
               FROM raw.loads ORDER BY loaded_at, uri, generation"""
    stamps = warehouse.rows("SELECT * FROM raw.stamps ORDER BY seen_ns")
    return Ledger(
        map(LedgerEntry._make, warehouse.rows(query)),
        {uri: (sha256, Stamp(*stamp)) for uri, sha256, *stamp in stamps},
    )


def _source_ids(uri: str, present: LedgerEntry | None, generation: int) -> Iterator[str]:
    """Ids for a source, the best first: a changed file stays the same source if possible."""
    if present:
        yield present.source_id
    yield content_id("source", uri)
    for number in count(generation):
        yield content_id("source", uri, number)
