"""The rows below a heading of several meanings, and what they show it to mean."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from ...vocabulary.cells import parse_cell
from ...vocabulary.device_names import counted_of
from ...vocabulary.headings import Column
from .grid import Table
from .results import in_seconds


@dataclass(frozen=True, slots=True)
class Doubt:
    """A warning about a column: its code and message."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ResolvedHeading:
    """The column that a heading means; None with the reason."""

    column: Column | None
    doubt: Doubt | None = None


@dataclass(frozen=True)  # without slots: names are worked out once for all headings
class Rows:
    table: Table
    columns: Sequence[Column | None]
    accumulations: Set[int]
    batches: dict[str, Column | None]
    stated: int | None = None

    @cached_property
    def named(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns if column)

    def numbers(self, at: int, column: Column) -> list[float | None]:
        """The number of each row under a heading; a time is in seconds."""
        found: list[float | None] = []
        for row in self.table.rows:
            raw = row.cells[at] if at < len(row.cells) else ""
            cell = parse_cell(raw, column)
            known = not cell.invalid and cell.kind in ("number", "pair", "settings")
            value = cell.value if known else None
            if value is not None and column.type == "time":
                value *= in_seconds(cell.unit or column.unit or "s") or 1.0
            found.append(value)
        return found

    def of(self, name: str) -> list[float | None]:
        """The numbers of the column of this name, None for each row without one."""
        for at, column in enumerate(self.columns):
            if column and column.name == name:
                return self.numbers(at, column)
        return [None] * len(self.table.rows)

    def step_times(self) -> list[float | None]:
        times, rates = self.of("step_time"), self.of("steps_per_s")
        return [
            time or (1 / rate if rate else None) for time, rate in zip(times, rates, strict=True)
        ]

    def tokens_of_a_sample(self, batches: Sequence[float | None]) -> list[float]:
        """Tokens/s x step time a sample of each row with all of them, in stated lengths if any."""
        lengths = self.of("seq_len") if "seq_len" in self.named else [1.0] * len(batches)
        rates, times = self.of("tokens_per_s"), self.step_times()
        return [
            rate * time / batch / length
            for rate, time, batch, length in zip(rates, times, batches, lengths, strict=True)
            if rate and time and batch and length
        ]

    def devices(self) -> list[float | None]:
        """Devices as counted in their column, or before their name: `1 x A100`."""
        counted = self.of("devices")
        at = next((n for n, one in enumerate(self.columns) if one and one.name == "device"), None)
        cells = [row.cells[at] if at is not None and at < len(row.cells) else ""
                 for row in self.table.rows]  # fmt: skip
        named = [counted_of(cell) for cell in cells]
        return [
            count or (float(one[0]) if one and one[0] else None)
            for count, one in zip(counted, named, strict=True)
        ]
