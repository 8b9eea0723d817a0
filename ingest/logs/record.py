"""The record that a dialect reads from a line, and the declaration of a field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..cast import CASTS, double, is_absent, shifted

Fields = dict[str, object]
# Of a step: its number, and fields without a column in the iterations.
NO_COLUMNS = frozenset((
    "iteration", "samples", "train_iters", "memory", "losses", "more", "epoch",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One printed value: our column (None: kept as printed), its SQL type, its unit."""

    column: str | None
    type: str = "varchar"
    shift: int = 0  # powers of ten from the printed unit to ours: -3 for milliseconds
    unit: str | None = None
    add: int = 0  # 1 for a count that starts at zero
    memory: str | None = None  # a reading of memory of this kind, not a column

    @property
    def cast(self) -> Callable[[str], object]:
        """Text to value in our unit; None where the text does not fit."""
        plain = CASTS[self.type]
        if self.add:
            return lambda text: _added(plain(text), self.add)
        if self.shift == 0:
            return plain
        if self.type == "double":
            return lambda text: shifted(text, self.shift)
        if self.type == "instant":
            return lambda text: plain(text) and shifted(text.partition("/")[0], self.shift)
        return lambda text: _scaled(plain(text), self.shift)


@dataclass(slots=True)  # frozen ones take three times as long to make
class Record:
    """One record of a log: the dialect that read it, its fields by our column names, its text.

    `before` and `after` are the rest of the line; `invalid` the keys whose value is damaged.
    """

    dialect: str
    reads: str
    fields: Fields
    raw: str
    before: str = ""
    after: str = ""
    invalid: tuple[str, ...] = ()


def _added(value: object, add: int) -> object:
    return value + add if isinstance(value, int) else None


def _scaled(value: object, shift: int) -> float | None:
    return shifted(repr(value), shift) if isinstance(value, float) else None


def is_invalid(text: str, spec: Field | None = None) -> bool:
    """Whether text that gave no value is damage, and not nan, inf, None, or a rate too short."""
    return not is_absent(text) and not is_inexact(text, spec)


def is_inexact(text: str, spec: Field | None) -> bool:
    """Whether a rate is printed with too few digits to compute a time."""
    return spec is not None and spec.type.startswith("inverse") and double(text) is not None
