"""The ledger of loads by file, and the planning of loads for new bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice
from operator import attrgetter
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


_SCANS = 8  # lookups without an index
_SOURCES = 5  # names of a source that may be taken, one after the other
_COLUMNS = "uri, generation, load_id, source_id, sha256, parser_version, to_byte"
_ORDER = "ORDER BY loaded_at, uri, generation"
_OF_PLANS = f"""
    WITH sources AS (
        SELECT source_id FROM raw.loads WHERE uri IN (SELECT unnest($uris))
        UNION SELECT source_id FROM raw.loads WHERE sha256 IN (SELECT unnest($hashes))
        UNION SELECT unnest($sources)
    ), uris AS (
        SELECT uri FROM raw.loads WHERE source_id IN (FROM sources) UNION SELECT unnest($uris)
    ) SELECT {_COLUMNS} FROM raw.loads WHERE uri IN (FROM uris) {_ORDER}"""
_NO_STAMPS: Mapping[str, tuple[str, Stamp]] = MappingProxyType({})


class _Index:
    """Loads by a key of lookups for planning.

    The first lookups go through all loads: few files are planned in less time than groups of a
    hundred thousand loads take.
    """

    def __init__(
        self,
        loads: Collection[LedgerEntry],
        key: Callable[[LedgerEntry], str],
        name: Callable[[LedgerEntry], str],
    ) -> None:
        """`loads` shows later ones too; of those with one name in a group the last counts."""
        self._loads, self._key, self._name = loads, key, name
        self._scans = _SCANS
        self._groups: dict[str, dict[str, LedgerEntry]] | None = None

    def of(self, key: str) -> list[LedgerEntry]:
        """The loads with this key."""
        if self._groups is None:
            if self._scans:
                self._scans -= 1
                found = (load for load in self._loads if self._key(load) == key)
                return list({self._name(load): load for load in found}.values())
            self._groups = defaultdict(dict)
            for load in self._loads:
                self.add(load)
        return list(self._groups[key].values())

    def add(self, load: LedgerEntry, before: LedgerEntry | None = None) -> None:
        """Note a load that `loads` has by now, in place of `before`."""
        if self._groups is None:
            return
        if before:
            self._groups[self._key(before)].pop(self._name(before), None)
        self._groups[self._key(load)][self._name(load)] = load


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
        by_uri = attrgetter("uri")
        shown = self._by_uri.values()
        self._stored = _Index(self._known, attrgetter("sha256"), attrgetter("load_id"))
        self._of_source = _Index(shown, attrgetter("source_id"), by_uri)
        self._of_bytes = _Index(shown, attrgetter("sha256"), by_uri)
        self._of_folder = _Index(shown, lambda load: load.uri.rpartition("/")[0], by_uri)

    def note(self, load: LedgerEntry) -> list[LedgerEntry]:
        """Count `load` as stored; returns it and the other uris of the same bytes that follow it.

        They do when new code has read the bytes again: one reading is enough for all.
        """
        followers = [
            LedgerEntry(
                uri, old.generation + 1, load.load_id, load.source_id, *load.content, load.size
            )
            for uri in sorted({old.uri for old in self._of_bytes.of(load.sha256)} - {load.uri})
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
        found = [one for one in self._of_source.of(load.source_id) if one.uri != load.uri]
        same = [known for known in found if known.load_id == load.load_id]
        return sorted(same, key=attrgetter("uri"))

    def of_folder(self, folder: str) -> list[LedgerEntry]:
        """The shown loads of the files of a folder, the longest first."""
        return sorted(self._of_folder.of(folder), key=lambda known: (-known.size, known.uri))

    def has_load(self, load_id: str) -> bool:
        """Whether the rows of a load are stored, or about to be."""
        return load_id in self._loads

    def has_size(self, size: int) -> bool:
        """Whether any load has this size."""
        return size in self._sizes

    def plan(self, uri: str, sha256: str, parser_version: int, size: int = 0) -> LedgerEntry | None:
        """The load to make for these bytes at this uri; None if they are known there.

        `load_id` is that of a stored load if the same bytes are at another path.
        """
        present = self._by_uri.get(uri)
        if present and present.content == (sha256, parser_version):
            return None
        generation = present.generation + 1 if present else 1
        # The same bytes are stored once, unless their source shows other bytes elsewhere by now.
        for twin in self._stored.of(sha256):
            if twin.parser_version == parser_version and self._free(twin.source_id, uri, sha256):
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
    def _loads(self) -> set[str]:
        return {load.load_id for load in self._known}

    @cached_property
    def _sizes(self) -> set[int]:
        return {load.size for load in self._known}

    def _add(self, load: LedgerEntry) -> None:
        self._loads.add(load.load_id)
        self._sizes.add(load.size)
        self._known.append(load)
        self._stored.add(load)
        present = self._by_uri.get(load.uri)
        if present and present.generation >= load.generation:
            return
        self._by_uri[load.uri] = load
        for index in (self._of_source, self._of_bytes, self._of_folder):
            index.add(load, present)

    def _free(self, source_id: str, uri: str, sha256: str) -> bool:
        """Whether no other uri shows other bytes under this source."""
        others = (other for other in self._of_source.of(source_id) if other.uri != uri)
        return all(other.sha256 == sha256 for other in others)


def read_ledger(warehouse: Warehouse) -> Ledger:
    """Every load of the warehouse, oldest first."""
    query = f"SELECT {_COLUMNS} FROM raw.loads {_ORDER}"
    stamps = warehouse.rows("SELECT * FROM raw.stamps ORDER BY seen_ns")
    return Ledger(
        map(LedgerEntry._make, warehouse.rows(query)),
        {uri: (sha256, Stamp(*stamp)) for uri, sha256, *stamp in stamps},
    )


def read_ledger_of(warehouse: Warehouse, plans: Sequence[LedgerEntry]) -> Ledger:
    """What these plans depend on: the loads of their uris, bytes and sources, and of all uris that
    show one of these; without stamps."""
    sources = {id for plan in plans for id in (plan.source_id, *islice(_names(plan), _SOURCES))}
    given = {
        "uris": [plan.uri for plan in plans],
        "hashes": list({plan.sha256 for plan in plans}),
        "sources": list(sources),
    }
    return Ledger(map(LedgerEntry._make, warehouse.rows(_OF_PLANS, given)))


def _names(plan: LedgerEntry) -> Iterator[str]:
    return _source_ids(plan.uri, None, plan.generation)


def _source_ids(uri: str, present: LedgerEntry | None, generation: int) -> Iterator[str]:
    """Ids for a source, the best first: a changed file stays the same source if possible."""
    if present:
        yield present.source_id
    yield content_id("source", uri)
    for number in count(generation):
        yield content_id("source", uri, number)
