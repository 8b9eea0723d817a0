"""Reader of lines whose numbers have names, in any order and with any text between them.

`step 10/500 | loss: 2.31 | dt: 512 ms` and `{"loss": 2.31, "step": 10}` are one grammar: a number
has its name in front of it, or its unit behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .number_names import Number, numbers_on
from .record import Field, Fields, Record, is_invalid

MOST_NUMBERS = 200
# In front of the numbers of a line: it is about other data than the training's, or no training.
OTHER_WORK = re.compile(
    r"(?i)(?<![a-z])(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev"
    r"|infer\w{0,9}|prefill\w{0,9}|decod\w{1,9}|generat\w{1,9}|download\w{0,9}|best|quantiz\w{1,9}"
    r"|calibrat\w{1,9}|perplexity)(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Named:
    """The reader of lines with these names, in small letters without blanks and marks.

    A field of type `varchar` has the type of the number's own word and unit.
    """

    anchor: re.Pattern[str]  # of each line
    keys: Mapping[str, Field]
    requires: Sequence[frozenset[str]]

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The record of this line."""
        if self.anchor.search(text) is None:
            return None
        numbers = numbers_on(text)[:MOST_NUMBERS]
        own: dict[str, Number] = {}
        for number in numbers:
            if number.name in self.keys:
                own.setdefault(number.name, number)
        if not all(group & own.keys() for group in self.requires):
            return None
        first = max(own[name].start for group in self.requires for name in group & own.keys())
        if OTHER_WORK.search(text[:first]):
            return None
        fields, invalid = self._fields(text, numbers, own)
        return Record(dialect, reads, fields, text, invalid=invalid)

    def _fields(
        self, text: str, numbers: Sequence[Number], own: Mapping[str, Number]
    ) -> tuple[Fields, tuple[str, ...]]:
        fields: Fields = {}
        more: dict[str, str] = {}
        invalid: tuple[str, ...] = ()
        for number in numbers:
            printed, value = text[number.start : number.end], None
            spec = self.keys.get(number.name)
            if spec and spec.column and own[number.name] is number and spec.column not in fields:
                typed = spec if spec.type != "varchar" else _typed(spec, number)
                value = typed.cast(printed)
                invalid += (number.name,) if value is None and is_invalid(printed, typed) else ()
                if value is not None:
                    fields[spec.column] = value
                    continue
            kept = number.column if number.column.startswith("more.") else number.name
            more.setdefault(kept.removeprefix("more."), printed)
        if more:
            fields["more"] = more
        return fields, invalid

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a value that was cut off."""
        return False


def _typed(spec: Field, number: Number) -> Field:
    return replace(spec, type=number.type, shift=number.shift)
