"""Steps of a log in which no line numbers them: an excerpt, or a trainer that prints values alone.

Values follow each other; one that comes again begins the next step. They are counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .dialect import Dialect
from .record import NO_COLUMNS, Fields, Record
from .step import readings

COUNTED = "counted: no line numbers the steps"
MOST_KEPT = 100_000
OF_EPOCHS = re.compile(r"\b[Ee]poch:?\s{0,2}\[?\d{1,6}\s?/\s?(?!1\b)\d")  # `Epoch 1/5`
LONGEST_NAME = 200  # characters in front of a bar
Part = tuple[Dialect, Record, int]


@dataclass(slots=True)
class UnnumberedSteps:
    """Values without a step, until it is known that no line numbers steps."""

    kept: list[Part] = field(default_factory=list)

    def keep(self, dialect: Dialect, record: Record, line: int) -> None:
        """One more line; the copy of another process right behind it is none."""
        copy = bool(self.kept) and self.kept[-1][1].raw.strip() == record.raw.strip()
        if not copy and len(self.kept) < MOST_KEPT:
            self.kept.append((dialect, record, line))

    def steps(self) -> Iterator[Part]:
        """The lines of each step as one record with its number, marked as counted."""
        first: Part | None = None
        fields: Fields = {}
        number = 0
        for dialect, record, line in self.kept:
            if first is not None and _names(fields) & _names(record.fields):
                number += 1
                yield _numbered(first, fields, number)
                first, fields = None, {}
            if first is None:
                first = dialect, record, line
            fields = _joined(fields, record.fields)
        if first is not None:
            yield _numbered(first, fields, number + 1)


def _numbered(first: Part, fields: Fields, number: int) -> Part:
    dialect, record, line = first
    note: Fields = {"more": {"step": f"{number}, {COUNTED}"}}
    own = _joined(fields, note) | {"iteration": number}
    return dialect, replace(record, reads="iteration", fields=own), line


def _names(fields: Fields) -> set[str]:
    more = fields.get("more")
    names = set(fields) - NO_COLUMNS - {"printed_at"} | readings(fields)
    return names | {f"more: {name}" for name in more} if isinstance(more, dict) else names


def _joined(fields: Fields, others: Fields) -> Fields:
    joined = {**others, **fields}
    for name in ("more", "losses", "memory"):
        one, other = fields.get(name), others.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            joined[name] = {**other, **one}
    return joined


def of_all_epochs(record: Record, first: int | None) -> tuple[Record, int | None]:
    """A step counted within its epoch as one of the whole run, and the first epoch of the run."""
    epoch, step, length = (record.fields.get(n) for n in ("epoch", "iteration", "train_iters"))
    if not isinstance(epoch, int) or not isinstance(step, int) or not isinstance(length, int):
        return record, first
    first = epoch if first is None else first
    step += max(0, epoch - first) * length
    fields = record.fields | {"iteration": step}
    if OF_EPOCHS.search(record.before + record.raw, 0, LONGEST_NAME):
        del fields["train_iters"]  # the length of one of several epochs is no plan
    return replace(record, fields=fields), first
