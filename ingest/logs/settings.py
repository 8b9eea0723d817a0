"""Reader of settings by their names, wherever a program prints them.

`--seq-length 4096`, `seq_len: 4096,`, `'trainer.nnodes=2'`, `seq_length ...... 4096` and a cell of
a boxed table are one grammar: a name, a mark or blanks, and a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from .record import Field, Fields, Record

MOST_PAIRS = 400  # of a line
LONGEST = 32_768  # characters looked at at once
DIGIT = re.compile(r"\d")
# A member of a dict within a dict, as `pprint` breaks it: what it is of stands on a line above.
INNER = re.compile(r"\s{20,200}+'\w{1,60}': ")
VALUE = r"(?P<value>\d{1,3}(?:,\d{3}){1,4}+(?![\w.])|[\w.]{1,40}+)"
PAIR = re.compile(
    r"(?<![\w./-])(?:--)?(?P<name>[A-Za-z_][\w-]{1,60}+(?:[./][\w-]{1,60}+){0,6}+)"
    r"['\"]?\s{0,40}+(?:[:=|│]|\.{3,80}+|(?<=\s))\s{0,40}+['\"]?"
    + VALUE
    + r"(?=['\"]?(?:[\s,;)\]}|│]|$))"
)
# `Sequence length: 4096`: words with blanks between them, and a mark behind.
PHRASE = re.compile(
    r"(?:^|(?<=[|,;({\[│])|(?<= - )|(?<=  ))\s{0,12}+"
    r"(?P<name>[A-Za-z]\w{0,30}+(?: \w{1,30}+){1,4}+)"
    r"\s{0,40}+(?:[:=|│]|\.{3,80}+)\s{0,40}+" + VALUE + r"(?=[\s,;)\]}|│]|$)"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The reader of these names, in small letters with `_`; a name counts in these groups only.

    `trainer.nnodes` is `nnodes` of the group `trainer`; without a group it always counts. Digits
    of names are zeros (`bf00`), so that all lines of a mask have the same settings.
    """

    anchor: re.Pattern[str]
    keys: Mapping[str, Field]
    groups: frozenset[str]
    grouped: frozenset[str] = frozenset()  # names that do not count where their group is unknown

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """All settings of a line."""
        if self.anchor.search(text) is None:
            return None
        fields: Fields = {}
        spans: list[tuple[int, int]] = []
        unknown = self.grouped if INNER.match(text) else frozenset()
        # The next call reads what is behind: scanned by each, a long line would be quadratic.
        pairs = chain(PHRASE.finditer(text, 0, LONGEST), PAIR.finditer(text, 0, LONGEST))
        for _, pair in zip(range(MOST_PAIRS), pairs, strict=False):
            name = DIGIT.sub("0", re.sub("[- ]", "_", pair["name"].casefold()))
            *groups, last = re.split(r"[./]", name)
            spec = self.keys.get(name)
            if spec is None and self.groups.issuperset(groups):
                spec = self.keys.get(last)
            if spec is None or spec.column is None or name in unknown:
                continue
            spans.append(pair.span())
            # `bf16: True` names the type itself.
            is_switch = spec.type == "dtype" and pair["value"].casefold() == "true"
            value = spec.cast(pair["name"][-len(last) :] if is_switch else pair["value"])
            if value is None or value == 0:
                continue
            if fields.setdefault(spec.column, value) != value:
                fields[spec.column] = None  # stated twice, and not alike
        stated = {column: value for column, value in fields.items() if value is not None}
        if not spans:
            return None
        start, end = min(spans)[0], max(end for _, end in spans)
        return Record(dialect, reads, stated, text[start:end], text[:start], text[end:])

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a value that was cut off."""
        return False
