"""Known files that nobody touched: told so by one look at what the file system says of them.

What reads files takes longer to import than to look at thousands of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..schema.ledger import Ledger
from .content import stamp_of
from .inputs import Input
from .names import is_packed_log
from .options import Options
from .tally import Summary
from .version import parser_version


@dataclass(slots=True)
class Untouched:
    """Counts files of which nothing is to be read."""

    ledger: Ledger
    summary: Summary
    options: Options
    _version: int = field(init=False)

    def __post_init__(self) -> None:
        self._version = parser_version(self.options.formats)

    def counts(self, item: Input) -> bool:
        """Whether a file is known and untouched; then it is counted.

        A log that is being written counts by its whole lines, and what is packed may have another
        name than before: at both it needs a closer look.
        """
        known = self.ledger.newest(item.uri)
        if known is None or known.parser_version != self._version or self.options.live:
            return False
        try:
            stamp = stamp_of(item.file)
        except OSError:
            return False
        if not self.ledger.unchanged(item.uri, stamp) or is_packed_log(item.file):
            return False
        if self.options.progress:
            self.options.progress(item.uri)
        self.summary.known += 1
        self.summary.uris.append(item.uri)
        return True
