"""A bare `Batch size: 2` among settings: of a step or a micro-batch, by gradient accumulation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .markdown import TextLine
from .row import PublishedRow

_ACCUMULATES = re.compile(
    r"grad(?:ient)?[ _-]acc[a-z]{0,10}(?:[ _-]steps?)?\W{1,4}(?P<behind>\d{1,6})\b"
    r"|(?<![\w.,])(?P<before>\d{1,6})\s(?:steps? of\s)?grad(?:ient)?[ _-]acc[a-z]{0,10}",
    re.I,
)
_LISTED = re.compile(r"\W*grad(?:ient)?[ _-]acc[a-z]{0,10}(?:[ _-]steps?)?\W{0,4}[:：]\W*", re.I)
_LISTED_ITEM = re.compile(r"\s*[-*+•]\s+[^:：\d]{1,40}[:：]\s*(\d{1,6})\W*")
_BARE_BATCH = re.compile(
    r"(?:(?:[-*+•]|\d{1,2}[.)])\s*)?[*_`]{0,3}batch[ _-]?size[*_`]{0,3}"
    r"\s?[:=：]\s?[*_`]{0,3}(\d{1,5})[*_`.]{0,3}",
    re.I,
)


def accumulations_in(text: str) -> set[int]:
    """The numbers of micro-batches per step, above one, in a line."""
    return {
        count
        for match in _ACCUMULATES.finditer(text)
        if (count := int(match["behind"] or match["before"])) > 1
    }


@dataclass(slots=True)
class UnscopedBatches:
    """Reads the lines of a document in order; `accumulations`: micro-batches per step, above one.

    Several may be listed below `Gradient accumulation:`.
    """

    accumulations: set[int]
    listing: bool = False

    def read(self, line: TextLine) -> list[tuple[int, TextLine]]:
        """The batch that a line states without a qualifier, if any."""
        self.accumulations |= accumulations_in(line.text)
        item = _LISTED_ITEM.fullmatch(line.text) if self.listing else None
        if item:
            self.accumulations |= {int(item[1])} - {0, 1}
        else:
            self.listing = not line.code and bool(_LISTED.fullmatch(line.text))
        found = None if line.code else _BARE_BATCH.fullmatch(line.text.strip())
        return [(int(found[1]), line)] if found else []


def with_open_batches(rows: Sequence[PublishedRow]) -> Sequence[PublishedRow]:
    """Rows of which several numbers of devices have one bare batch: it may be of each device."""
    named = {(batch, row.devices()) for row in rows if (batch := row.bare_batch())}
    is_open = len({batch for batch, _ in named}) < len(named)
    return [replace(row, batch_is_open=True) for row in rows] if is_open else rows
