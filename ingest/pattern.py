"""Records that one verbose regex with named groups reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .record import Field, Record
from .segments import group_fields


@dataclass(frozen=True, slots=True)
class Pattern:
    """The reader of one pattern declaration."""

    pattern: re.Pattern[str]
    groups: dict[str, Field]

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The first record on this line."""
        found = self.pattern.search(text)
        if found is None:
            return None
        fields, misfits = group_fields(found, self.groups)
        before, after = text[: found.start()], text[found.end() :]
        return Record(dialect, reads, fields, found.group(), before, after, misfits)

    def cut_off(self, text: str) -> bool:
        """Whether text behind a record is the start of a segment that was cut off."""
        return False
