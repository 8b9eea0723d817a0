"""What the warehouse holds of which file, and what a load of new bytes has to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
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


class Ledger:
    """What the warehouse holds, as read at one moment; `plan` answers whether bytes are new.

    The rows of a load carry ids made from its source, so two loads that show at once must not
    share a source: files with the same bytes share the load itself, others get another source.
    """

    def __init__(self, known: Iterable[Known] = ()) -> None:
        self._by_uri: dict[str, Known] = {}
        self._by_content: dict[tuple[str, int], dict[str, Known]] = defaultdict(dict)
        self._uris_of_source: dict[str, set[str]] = defaultdict(set)
        self._uris_of_bytes: dict[str, set[str]] = defaultdict(set)
        self._uris_of_folder: dict[str, set[str]] = defaultdict(set)
        self._loads: set[str] = set()
        self._sizes: set[int] = set()
        self._stamps: dict[str, tuple[str, Stamp]] = {}
        for load in known:
            self._add(load)

    def note(self, load: Known) -> list[Known]:
        """Count `load` as stored; gives it and the other uris of the same bytes that move along.

        They do when new code has read the bytes again: once is enough for all.
        """
        followers = [
            Known(uri, old.generation + 1, load.load_id, load.source_id, *load.content, load.size)
            for uri in sorted(self._uris_of_bytes[load.sha256] - {load.uri})
            if (old := self._by_uri[uri]).parser_version != load.parser_version
        ]
        noted = [load, *followers]
        for one in noted:
            self._add(one)
        return noted

    def newest(self, uri: str) -> Known | None:
        """The load that shows for a uri."""
        return self._by_uri.get(uri)

    def stamp(self, uri: str, sha256: str, stamp: Stamp) -> None:
        """Keep what the file system said of a file before these bytes of it were read."""
        self._stamps[uri] = sha256, stamp

    def unchanged(self, uri: str, stamp: Stamp) -> Known | None:
        """The load that shows for a uri, where the file system says that it is still that."""
        present, (sha256, before) = self.newest(uri), self._stamps.get(uri, ("", None))
        if present is None or before is None or present.sha256 != sha256:
            return None
        return present if before.settled and before.same(stamp) else None

    def shows_elsewhere(self, load: Known) -> list[Known]:
        """The same load where other uris show it."""
        others = sorted(self._uris_of_source[load.source_id] - {load.uri})
        found = (self._by_uri[other] for other in others)
        return [known for known in found if known.load_id == load.load_id]

    def beside(self, uri: str) -> list[Known]:
        """The loads that show for other files of its folder, the longest first."""
        others = self._uris_of_folder[uri.rpartition("/")[0]] - {uri}
        return sorted((self._by_uri[other] for other in others), key=lambda o: (-o.size, o.uri))

    def holds(self, load_id: str) -> bool:
        """Whether the rows of a load are stored, or on their way."""
        return load_id in self._loads

    def holds_size(self, size: int) -> bool:
        """Whether any load is of so many bytes."""
        return size in self._sizes

    def plan(self, uri: str, sha256: str, parser_version: int, size: int = 0) -> Known | None:
        """The load to make for these bytes at this uri; None when they are known there.

        `load_id` is that of a stored load when the same bytes lie at another path.
        """
        present = self._by_uri.get(uri)
        if present and present.content == (sha256, parser_version):
            return None
        generation = present.generation + 1 if present else 1
        for twin in self._by_content[sha256, parser_version].values():
            if self._free(twin.source_id, uri, sha256):
                return Known(uri, generation, twin.load_id, twin.source_id, *twin.content, size)
        source_id = next(
            source_id
            for source_id in _source_ids(uri, present, generation)
            if self._free(source_id, uri, sha256)
        )
        load_id = content_id("load", uri, generation, sha256, parser_version)
        return Known(uri, generation, load_id, source_id, sha256, parser_version, size)

    def _add(self, load: Known) -> None:
        self._loads.add(load.load_id)
        self._sizes.add(load.size)
        self._by_content[load.content].setdefault(load.load_id, load)
        present = self._by_uri.get(load.uri)
        if present and present.generation >= load.generation:
            return
        if present:
            self._uris_of_source[present.source_id].discard(load.uri)
            self._uris_of_bytes[present.sha256].discard(load.uri)
        self._by_uri[load.uri] = load
        self._uris_of_folder[load.uri.rpartition("/")[0]].add(load.uri)
        self._uris_of_source[load.source_id].add(load.uri)
        self._uris_of_bytes[load.sha256].add(load.uri)

    def _free(self, source_id: str, uri: str, sha256: str) -> bool:
        """Whether no other uri shows other bytes under this source."""
        others = self._uris_of_source[source_id] - {uri}
        return all(self._by_uri[other].sha256 == sha256 for other in others)


def read_ledger(warehouse: Warehouse) -> Ledger:
    """Every load of the warehouse, oldest first."""
    query = """SELECT uri, generation, load_id, source_id, sha256, parser_version, to_byte
               FROM raw.loads ORDER BY loaded_at, uri, generation"""
    ledger = Ledger(Known(*row) for row in warehouse.rows(query))
    for uri, sha256, *stamp in warehouse.rows("SELECT * FROM raw.stamps ORDER BY seen_ns"):
        ledger.stamp(uri, sha256, Stamp(*stamp))
    return ledger


def _source_ids(uri: str, present: Known | None, generation: int) -> Iterator[str]:
    """Names for a source, the best first: a changed file stays the same source if it can."""
    if present:
        yield present.source_id
    yield content_id("source", uri)
    for number in count(generation):
        yield content_id("source", uri, number)
