"""R6c: time and TFLOPs under each other's heading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ..finding import Finding
from ..input import AuditInput, Row, Table
from ..interval import Printed
from ..rule import declared
from ..same_configuration import device_name, model

RULE = declared(__name__)


_FAR = 3.0
_FEWEST = 3  # rows of a device that make a column


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows with another row's numbers swapped, or numbers of the other column."""
    doubted = data.doubted()
    for document in data.documents:
        rows = [row for row in document.rows if row.time and row.tflops and row.origin == "row"]
        pairs: dict[tuple[float, float], list[Row]] = {}
        for row in rows:
            pairs.setdefault(_pair(row), []).append(row)
        for table in document.tables:
            of_device = _columns(table)
            for row in table.rows:
                columns = of_device.get(device_name(row))
                if not (row.time and row.tflops) or (row.uri, row.line) in doubted:
                    continue
                time, rate = _pair(row)
                twin = _twin(row, pairs.get((rate, time), ())) if time != rate else None
                if twin is not None and not _first_stated(row, twin, table):
                    yield _finding(
                        row,
                        f"line {twin.line} has the same set-up with {rate:g} s and {time:g} TFLOPs",
                    )
                elif twin is None and columns and (why := _out_of_place(columns, row)):
                    yield _finding(row, why)


def _pair(row: Row) -> tuple[float, float]:
    assert row.time is not None and row.tflops is not None
    return row.time.value, row.tflops.value


def _twin(row: Row, others: Sequence[Row]) -> Row | None:
    names = ("nodes", "dp", "tp", "pp", "mbs", "gbs")
    for other in others:
        same = all(getattr(row, name) == getattr(other, name) for name in names)
        if same and model(row) == model(other) and other is not row:
            return other
    return None


def _first_stated(row: Row, twin: Row, table: Table) -> bool:
    """Whether the first of two is right: the one with more similar rows, else the earlier."""
    near = [other.time.value for other in table.rows if other.time and other is not row]
    if twin.table_id != row.table_id or len(near) < 3:
        return row.line < twin.line
    middle = median(near)
    assert row.time is not None and twin.time is not None
    return abs(row.time.value - middle) <= abs(twin.time.value - middle)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a column as printed, in order, and counts of their decimals."""

    values: list[float]
    decimals: Counter[int]

    def without(self, value: float) -> tuple[float, float]:
        """Smallest and largest, without one row's."""
        low = self.values[1] if self.values[0] == value else self.values[0]
        return low, self.values[-2] if self.values[-1] == value else self.values[-1]


def _columns(table: Table) -> dict[str | None, tuple[_Numbers, _Numbers]]:
    """Both columns by device: the rates of another kind of device are no reference for a row."""
    of_device: dict[str | None, list[tuple[Printed, Printed]]] = {}
    for row in table.rows:
        if row.time and row.tflops:
            of_device.setdefault(device_name(row), []).append((row.time, row.tflops))
    return {
        device: (_column([time for time, _ in both]), _column([rate for _, rate in both]))
        for device, both in of_device.items()
        if len(both) >= _FEWEST
    }


def _column(numbers: Sequence[Printed]) -> _Numbers:
    read = [_as_printed(number) for number in numbers]
    return _Numbers(sorted(value for value, _ in read), Counter(places for _, places in read))


def _as_printed(number: Printed) -> tuple[float, int]:
    """Value and decimals in the unit of the cell."""
    match = re.search(r"\d[\d,]*(?:\.(\d+))?", number.raw)
    if match is None:
        return number.value, 0
    return float(match[0].replace(",", "")), len(match[1] or "")


def _out_of_place(columns: tuple[_Numbers, _Numbers], row: Row) -> str:
    """Both numbers far from their columns, and both typical of the other's."""
    assert row.time is not None and row.tflops is not None
    (time, time_decimals), (rate, rate_decimals) = _as_printed(row.time), _as_printed(row.tflops)
    times, rates = columns
    low, high = rates.without(rate)
    inside = low / _FAR <= time <= high * _FAR
    if inside and not low / _FAR <= rate <= high * _FAR:
        others = f"the {low:g} to {high:g} of the other rows"
        return f"{rate:g} TFLOPs is far from {others}, and {time:g} is not"
    number = len(times.values)
    own = times.decimals[time_decimals] == 1 and rates.decimals[rate_decimals] == 1
    swapped = times.decimals[rate_decimals] == number - 1 == rates.decimals[time_decimals]
    if own and swapped and number >= 4 and time_decimals != rate_decimals:
        return "both are printed with as many decimals as the other column has in every row"
    return ""


def _finding(row: Row, why: str) -> Finding:
    time, rate = _pair(row)
    assert row.time is not None and row.tflops is not None
    printed = row.tflops.raw or f"{rate:g}", row.time.raw or f"{time:g}"
    return RULE.finding(
        "swapped", (row.at("step_time"), row.at("tflops")), why=why, printed=printed
    )
