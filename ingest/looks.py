"""What the bytes of a file are: read, or known by what the file system says of the file."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ..records import reading as records
from ..schema.ledger import Ledger, Stamp
from .content import Print, fingerprint, print_of, stamp_of
from .inputs import Input
from .source import LONG_BYTES

Stamps = dict[str, tuple[str, Stamp]]


@dataclass(slots=True)
class Looks:
    """Looks at files; a known one that was not touched since it was read is not read again."""

    ledger: Ledger
    meanwhile: Callable[[], object] = lambda: None  # done while a long file is hashed
    _stamps: Stamps = field(default_factory=dict)

    def print_of(
        self, item: Input, earlier: Callable[[str, Stamp], Print | None], head: int | None = None
    ) -> Print:
        """What all bytes of a file are; `earlier` may have read them. Raises OSError.

        Also of the first `head` of them.
        """
        stamp = stamp_of(item.path)
        if known := self.ledger.unchanged(item.uri, stamp):
            return Print(known.sha256, known.size)
        if head is None:
            found = earlier(item.uri, stamp) or self._hashed(item, stamp)
        else:
            found = print_of(item.path, head=head)
        self.note(item, found.sha256, stamp)
        return found

    def note(self, item: Input, sha256: str, stamp: Stamp) -> None:
        """Keep what the file system said of a file before these bytes of it were read."""
        # A file that was unpacked for the time being, or stands for others, says nothing.
        if item.stays and not records.is_marker(item.path):
            self._stamps[item.uri] = sha256, stamp

    def _hashed(self, item: Input, stamp: Stamp) -> Print:
        if stamp.bytes < LONG_BYTES:
            return Print(*fingerprint(item.path), stamp=stamp)
        with ThreadPoolExecutor(1) as beside:
            ready = beside.submit(self.meanwhile)
            found = Print(*fingerprint(item.path), stamp=stamp)
            ready.result()
            return found

    def taken(self) -> Stamps:
        """What the file system said of the files that were read and are known now, told once."""
        found, self._stamps = self._stamps, {}
        return {
            uri: (sha256, stamp)
            for uri, (sha256, stamp) in found.items()
            if (present := self.ledger.newest(uri)) and present.sha256 == sha256
        }
