"""Reader of lines whose numbers have names, in any order and with any text between them.

`step 10/500 | loss: 2.31 | dt: 512 ms` and `{"loss": 2.31, "step": 10}` are one grammar: a number
has its name in front of it, or its unit behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...vocabulary.measurement_lines import NUMBER
from .number_names import Number
from .number_shapes import Shape, is_full, shape_of
from .record import Field, Fields, Record, is_invalid

# In front of the numbers of a line: it is about other data than the training's, or no training.
OTHER_WORK = re.compile(
    r"(?i)(?<![a-z])(?:val|valid|validation|validating|eval|evaluation|evaluating|test|testing|dev"
    r"|infer\w{0,9}|prefill\w{0,9}|decod\w{1,9}|generat\w{1,9}|download\w{0,9}|best|quantiz\w{1,9}"
    r"|calibrat\w{1,9}|perplexity)(?![a-z])"
)

# A member with a number, as its name says; where it stands in the object tells nothing.
_MEMBER = re.compile(
    r"""["'][^"'{}\[\]:]{1,80}["']\s?:\s?(?=[-+.\d]|(?i:nan|null|none|true|false))"""
)

# Between the cells of a row; blanks or commas alone where no cell has one.
_GAP = re.compile(r"\s{0,40}[|│┃]\s{0,40}|\s{0,40}\t\s{0,40}|\s{2,}")
_NO_NUMBER = re.compile(r"(?i)no log|nan|none|null|n/a|-*")


def cells_of(text: str, count: int = 0) -> list[str]:
    """The cells of a row of a table, `count` of them if it has so many."""
    inner = text.strip().strip("|│┃").strip()
    cells = _GAP.split(inner)
    if len(cells) == count or (not count and len(cells) > 1):
        return cells
    separated = [cell.strip().strip('"') for cell in inner.split(",")]
    blanks = inner.split()
    is_separated = len(separated) == count if count else len(separated) > 1
    return separated if is_separated and len(blanks) != count else blanks


def row_of(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as a line of names and numbers; names that may be of other work are last."""
    pairs = sorted(
        zip(names, cells, strict=True), key=lambda pair: bool(OTHER_WORK.search(pair[0]))
    )
    return " | ".join(f"{name}: {cell}" for name, cell in pairs if name and cell)


@dataclass(frozen=True, slots=True)
class _Read:
    """How one number of a shape is read: its place, the letters behind it, and what it is.

    Without a field it is kept as printed.
    """

    place: int
    suffix: int
    name: str
    kept: str
    field: Field | None
    cast: Callable[[str], object] | None


@dataclass(frozen=True, slots=True)
class NamedNumbersReader:
    """The reader of lines with these names, in small letters without blanks and marks.

    A field of type `varchar` has the type of the number's own word and unit.
    """

    anchor: re.Pattern[str]  # of each line
    keys: Mapping[str, Field]
    requires: Sequence[frozenset[str]]
    columns: Sequence[str] = ()  # of a table, whose rows print no names
    _plans: dict[Shape, Sequence[_Read]] = field(default_factory=dict, compare=False, repr=False)

    def read(self, dialect: str, reads: str, text: str) -> Record | None:
        """The record of this line."""
        if self.anchor.search(text) is None:
            return None
        line, text = text, self._as_line(text) if self.columns else text
        shape, found = shape_of(text)
        plan = self._plans.get(shape)
        if plan is None:
            if is_full(self._plans, len(found)):
                self._plans.clear()
            plan = self._plans[shape] = self._plan(shape)
        if not plan:
            return None
        fields: Fields = {}
        more: dict[str, str] = {}
        invalid: tuple[str, ...] = ()
        for one in plan:
            match = found[one.place]
            printed = text[match.start() : match.end() + one.suffix]
            spec = one.field
            if spec and spec.column and one.cast and spec.column not in fields:
                value = one.cast(printed)
                invalid += (one.name,) if value is None and is_invalid(printed, spec) else ()
                if value is not None:
                    fields[spec.column] = value
                    continue
            more.setdefault(one.kept, printed)
        if more:
            fields["more"] = more
        return Record(dialect, reads, fields, line, invalid=invalid)

    def _as_line(self, row: str) -> str:
        """A row of the table with the names of its columns; empty for another line."""
        cells = cells_of(row, len(self.columns))
        if len(cells) != len(self.columns) or not all(map(_is_cell, cells)):
            return ""
        return row_of(self.columns, cells)

    def _plan(self, shape: Shape) -> Sequence[_Read]:
        """How lines of a shape are read; empty if they are none of these."""
        own: dict[str, Number] = {}
        for number in shape.numbers:
            if number.name in self.keys:
                own.setdefault(number.name, number)
        if not all(group & own.keys() for group in self.requires):
            return ()
        first = max(own[name].start for group in self.requires for name in group & own.keys())
        front = shape.text[:first]
        if OTHER_WORK.search(_MEMBER.sub("", front) if front.lstrip()[:1] == "{" else front):
            return ()
        return [
            self._read(number, suffix, own.get(number.name) is number)
            for number, suffix in zip(shape.numbers, shape.suffixes, strict=True)
        ]

    def _read(self, number: Number, suffix: int, is_own: bool) -> _Read:
        name = number.name
        kept = (number.column if number.column.startswith("more.") else name).removeprefix("more.")
        spec = self.keys.get(name) if is_own else None
        typed = _typed(spec, number) if spec and spec.type == "varchar" else spec
        return _Read(number.place, suffix, name, kept, typed, typed.cast if typed else None)

    def cut_off(self, text: str) -> bool:
        """Whether text after a record is the start of a value that was cut off."""
        return False


def _is_cell(text: str) -> bool:
    return bool(NUMBER.match(text)) or _NO_NUMBER.fullmatch(text) is not None


def _typed(spec: Field, number: Number) -> Field:
    return replace(spec, type=number.type, shift=number.shift)
