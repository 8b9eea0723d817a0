"""What a dialect makes of a line, and how it declares a field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .cast import CASTS, is_absent, shifted

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Field:
    """One printed value: our column (None: kept as printed), its SQL type, its unit."""

    column: str | None
    type: str = "varchar"
    shift: int = 0  # powers of ten from the printed unit to ours: -3 for milliseconds
    unit: str | None = None

    @property
    def cast(self) -> Callable[[str], object]:
        """Text to value in our unit; None where the text does not fit."""
        if self.shift == 0:
            return CASTS[self.type]
        return lambda text: shifted(text, self.shift)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log: the dialect that read it, its fields by our column names, its text.

    `before` and `after` are what else stood on the line; `misfits` the keys whose value is damaged.
    """

    dialect: str
    reads: str
    fields: Fields
    raw: str
    before: str = ""
    after: str = ""
    misfits: tuple[str, ...] = ()


def misfit(text: str) -> bool:
    """Whether text that gave no value is damage, and not a printed nan, inf or None."""
    return not is_absent(text)
