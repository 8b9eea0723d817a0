"""Where the numbers of a decision come from, written down by the code that computes them.

Each row of a decision has `derivations`, by column. `bench explain` walks them: what has none is
a column of the row's runs, whose own derivations stand in the heads of SQL files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..schema.warehouse import Row


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a row, perhaps of another one than is explained and under another name."""

    name: str
    row: Row | None = None  # None: the row itself
    called: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """How a number was derived: arithmetic over the names of its inputs; '' for an input.

    `formula` is the id of a file of schema/formulas, which states the arithmetic if that is ''.
    """

    expression: str = ""
    # Names, not values: an explanation is rare, and looks up what it shows.
    inputs: tuple[str | Column | Number, ...] = ()  # a text is a column of the same row
    unit: str = ""
    formula: str = ""
    title: str = ""
    source: str = ""
    counts: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that stands in no column: in a sentence, or on the way to a column."""

    name: str
    value: Any
    derivation: Derivation = Derivation()
    low: float | None = None
    high: float | None = None
    line: tuple[str, int] | None = None  # uri and line that state it
    places: tuple[str, ...] = ()  # of the runs that it is made of, as FILE:LINE


Derivations = Mapping[str, Derivation | Column]  # a Column: the same number under another name


def input_number(name: str, value: Any, unit: str = "", note: str = "") -> Number:
    """A number that was requested or assumed; `note` states its origin."""
    return Number(name, value, Derivation(unit=unit, note=note))


def devices_of(row: Row) -> str:
    """The column that counts the devices of a row: processes, of a source that states none."""
    return "devices" if row["devices"] is not None else "world_size"


def device_hours_of(row: Row) -> Derivation:
    """How device-hours are made of the days of a row."""
    return _device_hours(devices_of(row))


@cache
def _device_hours(many: str) -> Derivation:
    return Derivation(expression=f"days x 24 x {many}", inputs=("days", many), unit="device-hours")
