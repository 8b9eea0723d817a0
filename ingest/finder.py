"""The records on a line, whoever printed them: its pieces are looked at until nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .candidates import candidates_of
from .dialect import Dialect
from .record import Record

# Lines of many processes may be glued together; the rest of a line with more is told, not read.
MOST_RECORDS = 1024
MOST_LETTERS = 16 << 20  # looked at in all pieces of a line


class Finder:
    """Finds records of some formats; `left_over` counts those of a line that holds still more."""

    def __init__(self, formats: Sequence[Dialect]) -> None:
        self._formats = formats
        self._candidates = candidates_of(tuple(formats))
        self.left_over = 0

    def records(
        self, text: str, block: Callable[[], str | None]
    ) -> Iterator[tuple[Dialect, Record]]:
        """The records of a line; `block` says what is open by now, which a record may change."""
        self.left_over = count = 0
        # Pieces of the line hold no hint that the line has not.
        candidates = self._candidates.of(text)
        waiting = [text] if candidates else []
        letters = max(MOST_LETTERS, 2 * len(text))
        while waiting and count < MOST_RECORDS and letters > 0:
            piece = waiting.pop()
            letters -= len(piece)
            found = self._first(piece, candidates, block())
            if found is None:
                continue
            count += 1
            yield found
            dialect, record = found
            if not dialect.alone:
                waiting += [rest for rest in (record.after, record.before) if rest.strip()]
        self.left_over = count if waiting else 0

    def _first(
        self, text: str, candidates: Iterable[int], block: str | None
    ) -> tuple[Dialect, Record] | None:
        for order in candidates:
            dialect = self._formats[order]
            if dialect.within is None or dialect.within == block:
                record = dialect.read(text)
                if record is not None and record.raw and _usable(record):
                    return dialect, record
        return None


def _usable(record: Record) -> bool:
    return record.reads != "iteration" or "iteration" in record.fields
