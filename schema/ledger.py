"""What the warehouse holds of which file, and what a load of new bytes has to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from .rows import content_id
from .warehouse import Warehouse

# How long a file's times have to lie back: finer clocks tick at least each 10 ms.
TICK_NS, STEP_NS = 50_000_000, 2_500_000_000


class Known(NamedTuple):
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
        """What decides on the rows: the bytes and the code that reads them."""
        return self.sha256, self.parser_version

    def of_bytes(self, sha256: str) -> Known:
        """The same for bytes whose SHA-256 is known now."""
        load_id = content_id("load", self.uri, self.generation, sha256, self.parser_version)
        return self._replace(sha256=sha256, load_id=load_id)


class Stamp(NamedTuple):
    """What a file system says of a file, times in ns since 1970; `seen_ns`: when it was asked."""

    inode: int
    bytes: int
    modified_ns: int
    changed_ns: int
    seen_ns: int

    @property
    def settled(self) -> bool:
        """Whether any later write would show: the file's times are older than their step is long.

        Some file systems keep times in steps of up to 2 s, others to a tick of the clock.
        """
        newest = max(self.modified_ns, self.changed_ns)
        return self.seen_ns - newest > (TICK_NS if newest % 1_000_000_000 else STEP_NS)

    def same(self, other: Stamp) -> bool:
        """Whether the file has not been written to, replaced or renamed."""
        return self[:-1] == other[:-1]


_NO_STAMPS: Mapping[str, tuple[str, Stamp]] = MappingProxyType({})


class _Index:
    """The loads as they are looked for where something is to be planned."""

    def __init__(self) -> None:
        self.by_content: dict[tuple[str, int], dict[str, Known]] = defaultdict(dict)
        self.uris_of_source: dict[str, set[str]] = defaultdict(set)
        self.uris_of_bytes: dict[str, set[str]] = defaultdict(set)
        self.uris_of_folder: dict[str, set[str]] = defaultdict(set)
        self.loads: set[str] = set()
        self.sizes: set[int] = set()

    def add(self, load: Known) -> None:
        """One load, whether it shows or not."""
        self.loads.add(load.load_id)
        self.sizes.add(load.size)
        self.by_content[load.content].setdefault(load.load_id, load)

    def show(self, load: Known, before: Known | None = None) -> None:
        """That a load shows for its uri, in place of the one `before`."""
        if before:
            self.uris_of_source[before.source_id].discard(load.uri)
            self.uris_of_bytes[before.sha256].discard(load.uri)
        self.uris_of_folder[load.uri.rpartition("/")[0]].add(load.uri)
        self.uris_of_source[load.source_id].add(load.uri)
        self.uris_of_bytes[load.sha256].add(load.uri)


class Ledger:
    """What the warehouse holds, as read at one moment; `plan` answers whether bytes are new.

    The rows of a load carry ids made from its source, so two loads that show at once must not
    share a source: files with the same bytes share the load itself, others get another source.
    """

    def __init__(
        self, known: Iterable[Known] = (), stamps: Mapping[str, tuple[str, Stamp]] = _NO_STAMPS
    ) -> None:
        """The loads in the order in which they were stored, and what the file system said of files
        before these bytes of them were read: SHA-256 and stamp by uri."""
        self._known = list(known)
        self._stamps = stamps
        self._by_uri: dict[str, Known] = {}
        for load in self._known:
            present = self._by_uri.get(load.uri)
            if present is None or present.generation < load.generation:
                self._by_uri[load.uri] = load

    def note(self, load: Known) -> list[Known]:
        """Count `load` as stored; gives it and the other uris of the same bytes that move along.

        They do when new code has read the bytes again: once is enough for all.
        """
        followers = [
            Known(uri, old.generation + 1, load.load_id, load.source_id, *load.content, load.size)
            for uri in sorted(self._index.uris_of_bytes[load.sha256] - {load.uri})
            if (old := self._by_uri[uri]).parser_version != load.parser_version
        ]
        noted = [load, *followers]
        for one in noted:
            self._add(one)
        return noted

    def newest(self, uri: str) -> Known | None:
        """The load that shows for a uri."""
        return self._by_uri.get(uri)

    def unchanged(self, uri: str, stamp: Stamp) -> Known | None:
        """The load that shows for a uri, where the file system says that it is still that."""
        present, (sha256, before) = self.newest(uri), self._stamps.get(uri, ("", None))
        if present is None or before is None or present.sha256 != sha256:
            return None
        # A write within the step of the file's times may have gone unseen: then the bytes decide.
        return present if before.settled and before.same(stamp) else None

    def shows_elsewhere(self, load: Known) -> list[Known]:
        """The same load where other uris show it."""
        others = sorted(self._index.uris_of_source[load.source_id] - {load.uri})
        found = (self._by_uri[other] for other in others)
        return [known for known in found if known.load_id == load.load_id]

    def of_folder(self, folder: str) -> list[Known]:
        """The loads that show for the files of a folder, the longest first."""
        found = (self._by_uri[uri] for uri in self._index.uris_of_folder[folder])
        return sorted(found, key=lambda known: (-known.size, known.uri))

    def holds(self, load_id: str) -> bool:
        """Whether the rows of a load are stored, or on their way."""
        return load_id in self._index.loads

    def holds_size(self, size: int) -> bool:
        """Whether any load is of so many bytes."""
        return size in self._index.sizes

    def plan(self, uri: str, sha256: str, parser_version: int, size: int = 0) -> Known | None:
        """The load to make for these bytes at this uri; None when they are known there.

        `load_id` is that of a stored load when the same bytes lie at another path.
        """
        present = self._by_uri.get(uri)
        if present and present.content == (sha256, parser_version):
            return None
        generation = present.generation + 1 if present else 1
        # The same bytes are stored once, unless their source shows other bytes elsewhere by now.
        for twin in self._index.by_content[sha256, parser_version].values():
            if self._free(twin.source_id, uri, sha256):
                return Known(uri, generation, twin.load_id, twin.source_id, *twin.content, size)
        source_id = next(
            source_id
            for source_id in _source_ids(uri, present, generation)
            if self._free(source_id, uri, sha256)
        )
        planned = Known(uri, generation, "", source_id, "", parser_version, size)
        return planned.of_bytes(sha256)

    @cached_property
    def _index(self) -> _Index:
        # Most calls find known files, for which none is needed.
        index = _Index()
        for load in self._known:
            index.add(load)
        for load in self._by_uri.values():
            index.show(load)
        return index

    def _add(self, load: Known) -> None:
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
        map(Known._make, warehouse.rows(query)),
        {uri: (sha256, Stamp(*stamp)) for uri, sha256, *stamp in stamps},
    )


def _source_ids(uri: str, present: Known | None, generation: int) -> Iterator[str]:
    """Names for a source, the best first: a changed file stays the same source if it can."""
    if present:
        yield present.source_id
    yield content_id("source", uri)
    for number in count(generation):
        yield content_id("source", uri, number)
