"""Interval arithmetic over positive numbers, for the range of printed digits."""

from __future__ import annotations

from dataclasses import dataclass

_HAIR = 1e-9  # relative tolerance for floating-point noise at the ends


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers from `low` to `high`, both included."""

    low: float
    high: float

    def __mul__(self, other: Interval | float) -> Interval:
        other = _interval(other)
        return Interval(self.low * other.low, self.high * other.high)

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | float) -> Interval:
        other = _interval(other)
        high = self.high / other.low if other.low > 0 else float("inf")
        return Interval(self.low / other.high, high)

    def meets(self, other: Interval | float) -> bool:
        """Whether the two intersect."""
        other = _interval(other)
        hair = _HAIR * max(abs(self.high), abs(other.high))
        return self.low <= other.high + hair and other.low <= self.high + hair

    def widened(self, share: float) -> Interval:
        """The interval with both ends moved outwards by a relative amount."""
        return Interval(self.low * (1 - share), self.high * (1 + share))

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


def _interval(value: Interval | float) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, value)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as printed; `half` is half a unit of its last digit, both in our unit."""

    value: float
    half: float
    unit: str = ""
    scope: str | None = None
    raw: str = ""

    @property
    def rounded(self) -> Interval:
        """The possible values if the number was rounded."""
        return Interval(max(self.value - self.half, 0.0), self.value + self.half)

    @property
    def either(self) -> Interval:
        """The possible values if it was rounded or truncated."""
        return Interval(max(self.value - self.half, 0.0), self.value + 2 * self.half)

    @property
    def shown(self) -> str:
        """The number as the source writes it."""
        return self.raw or str(self.value)

    @property
    def percent(self) -> float:
        """A share in percent."""
        return 100 * self.value

    @property
    def digits(self) -> int:
        """Significant digits."""
        step = 2 * self.half
        return len(str(round(abs(self.value) / step))) if step > 0 else 17


def largest_agreement(intervals: list[Interval]) -> list[int]:
    """Indices of the largest set of intervals with a common number; the first such set."""
    ends = [(interval.low * (1 - _HAIR), 0) for interval in intervals]
    ends += [(interval.high * (1 + _HAIR), 1) for interval in intervals]
    inside, most, point = 0, 0, 0.0
    for value, closes in sorted(ends):
        inside += -1 if closes else 1
        if inside > most:
            most, point = inside, value
    at = Interval(point, point)
    return [place for place, one in enumerate(intervals) if one.widened(2 * _HAIR).meets(at)]
