"""Records of names and numbers in a row, whatever their names: `time (ms) | forward: 1.2 | ...`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .cast import double
from .record import Field, Record
from .segments import group_fields

MOST_PAIRS = 200


@dataclass(frozen=True, slots=True)
class Pairs:
    """Behind an anchor, pair after pair as long as they follow one another."""

    anchor: re.Pattern[str]
    groups: dict[str, Field]
    pair: re.Pattern[str]  # groups `key` and `value`

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        found = self.anchor.search(text)
        if found is None:
            return None
        fields, misfits = group_fields(found, self.groups)
        values: dict[str, float] = {}
        end = found.end()
        while len(values) < MOST_PAIRS and (pair := self.pair.match(text, end)):
            if pair.end() == end:
                break
            value = double(pair["value"])
            if value is not None:
                values.setdefault(pair["key"].strip(), value)
            end = pair.end()
        fields["values"] = values
        raw = text[found.start() : end]
        return Record(dialect, reads, fields, raw, text[: found.start()], text[end:], misfits)

    def cut_off(self, text: str) -> bool:
        """Whether text behind a record is the start of a pair that was cut off."""
        return False
