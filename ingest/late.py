"""Losses that come on a stream of their own, late: to which step of the bar each belongs.

A trainer draws its bar at once and prints losses through a buffer. Where a loss stands alone
between two neighbouring bars nothing was held back, and it belongs to the bar above. What came in
one go tells its epoch alone: lines come at even distances, and mostly one distance and one start
fit all of them. Where several do, or none, the losses have no step. Where a training that is over
has printed as many lines as it took steps, they are those of the steps, in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .dialect import Dialect
from .record import Record
from .steps import Steps

COPIES_WITHIN = 64  # losses
MOST_HEARD = 200_000
MOST_DECIMALS = 9
SLACK = 1.0  # steps: an epoch need not be a whole number of them


class Plan(NamedTuple):
    """What is stated of the training: its steps, those of an epoch, those between two lines."""

    goal: int | None
    per_epoch: float | None
    every: int | None


@dataclass(frozen=True, slots=True)
class Heard:
    """A line with losses, and what launchers put in front of it."""

    dialect: Dialect
    record: Record
    line: int
    rank_prefix: str
    place: int = 0  # among the lines heard, from 1

    def numbered(self, step: int, by: str) -> Record:
        """The line as one of this step, which says that it was derived."""
        if self.step is not None:
            return self.record
        more = self.record.fields.get("more")
        told = {"step": f"{step}, derived from {by}"}
        fields = self.record.fields | {"more": (more if isinstance(more, dict) else {}) | told}
        return replace(self.record, fields=fields)

    @property
    def epoch(self) -> float | None:
        """The epoch that the line tells, if any."""
        epoch = self.record.fields.get("epoch")
        return epoch if isinstance(epoch, float) else None

    @property
    def step(self) -> int | None:
        """The step that the line prints, if any."""
        step = self.record.fields.get("iteration")
        return step if isinstance(step, int) else None

    def may_be(self, step: int, per_epoch: float | None) -> bool:
        """Whether the epoch is that of the step, as far as it is printed."""
        if self.step is not None:
            return self.step == step
        if self.epoch is None or per_epoch is None:
            return True
        error = 0.5 * 10.0 ** -_decimals(self.epoch) * per_epoch + SLACK
        return abs(self.epoch * per_epoch - step) <= error


@dataclass(slots=True)
class Late:
    """Lines of losses until it is known to which steps they belong."""

    waiting: list[Heard] = field(default_factory=list)  # since the newest bar
    apart: list[Heard] = field(default_factory=list)  # those of which no bar tells the step
    is_direct: bool = False  # a line stood alone between neighbouring bars
    last_epoch: float | None = None  # as the end of the training tells it
    heard: int = 0  # lines that are no copies

    @property
    def has_any(self) -> bool:
        """Whether a line was heard that no step has got."""
        return bool(self.waiting or self.apart)

    def hear(self, heard: Heard) -> bool:
        """One more line; False for a copy by another rank."""
        text = heard.record.raw.strip()
        newest = self.apart + self.waiting if len(self.waiting) < COPIES_WITHIN else self.waiting
        if any(text == one.record.raw.strip() for one in newest[-COPIES_WITHIN:]):
            return False
        self.heard += 1
        if len(self.apart) + len(self.waiting) < MOST_HEARD:
            self.waiting.append(replace(heard, place=self.heard))
        return True

    def settle(self, steps: Steps, plan: Callable[[], Plan], following: object = None) -> None:
        """Now that the next bar comes, or none does: what stands alone belongs to the bar above."""
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, []
        bar, planned = steps.iteration, plan()
        between = isinstance(following, int) and bar is not None and 0 <= following - bar <= 1
        # Behind the last bar nothing but lines before it tells that no buffer held a line back.
        at_end = following is None and self.is_direct
        one = waiting[0]
        alone = len(waiting) == 1 and not self.apart and (between or at_end)
        if bar is not None and alone and one.may_be(bar, planned.per_epoch):
            self.is_direct = self.is_direct or between
            steps.part(one.dialect, one.record, one.line, one.rank_prefix)
        else:
            self.apart += waiting

    def place(self, steps: Steps, plan: Plan) -> Heard | None:
        """Rows of what stands apart, behind all others; gives the first line with a step."""
        numbers = None if steps.segment > 1 else self._numbers(plan)
        if numbers is None:
            steps.lost += sum("loss" in heard.record.fields for heard in self.apart)
            return None
        by = "its place among as many lines as steps" if self._is_whole(plan) else "the epoch"
        placed = zip(numbers, self.apart, strict=True)
        steps.supply([(number, one.numbered(number, by), one.line) for number, one in placed])
        return self.apart[0] if self.apart else None

    def _is_whole(self, plan: Plan) -> bool:
        """Whether the training is over, and has printed a line for each step."""
        return self.last_epoch is not None and self.heard == plan.goal

    def _numbers(self, plan: Plan) -> list[int] | None:
        """A step for each line that stands apart, from its epoch; None where it does not tell."""
        printed = [heard.step for heard in self.apart if heard.step is not None]
        if len(printed) == len(self.apart):
            return printed
        if self._is_whole(plan):
            return [heard.place for heard in self.apart]
        epochs = [heard.epoch for heard in self.apart]
        known = [epoch for epoch in epochs if epoch is not None]
        half = 0.5 * 10.0 ** -max(map(_decimals, known), default=0)
        per_epoch = plan.per_epoch
        if per_epoch is None and plan.goal and self.last_epoch:
            per_epoch, half = plan.goal / self.last_epoch, 2 * half  # the last epoch is rounded too
        if per_epoch is None or len(known) < len(epochs):
            return None
        around = [epoch * per_epoch for epoch in known]
        return even_steps(around, half * per_epoch + SLACK, plan.every)


def steps_in(seconds: object, rate: object) -> int | None:
    """The steps that take so long at this rate, where its digits leave one whole number."""
    if not isinstance(seconds, float) or not isinstance(rate, float):
        return None
    error = 0.5 * 10.0 ** -_decimals(rate)
    low, high = math.ceil(seconds * (rate - error)), math.floor(seconds * (rate + error))
    return low if 0 < low == high else None


def even_steps(around: Sequence[float], error: float, every: int | None) -> list[int] | None:
    """The steps at even distances that lie within `error` of these places; None for none or many.

    Of several the one that begins with the first distance, as a training does.
    """
    distances = [every] if every else _distances(around, error)
    found = [
        (distance, start) for distance in distances for start in _starts(around, error, distance)
    ]
    one_distance = len({distance for distance, _ in found}) == 1
    first = [(distance, start) for distance, start in found if start == 1]
    chosen = first if first and one_distance else found
    if not found and len(around) > 1 and around[0] <= 1 + error:
        behind = even_steps(around[1:], error, every)  # the first step is printed too
        return [1, *behind] if behind and behind[0] > 1 else None
    if len(chosen) != 1:
        return None
    [(distance, start)] = chosen
    return [distance * (start + place) for place in range(len(around))]


def _distances(around: Sequence[float], error: float) -> range:
    if len(around) < 2:
        return range(0)
    mean = (around[-1] - around[0]) / (len(around) - 1)
    spread = 2 * error / (len(around) - 1)
    return range(max(1, math.ceil(mean - spread)), math.floor(mean + spread) + 1)


def _starts(around: Sequence[float], error: float, distance: int) -> range:
    low = max(math.ceil((one - error) / distance - place) for place, one in enumerate(around))
    high = min(math.floor((one + error) / distance - place) for place, one in enumerate(around))
    return range(max(1, low), high + 1)


def _decimals(value: float) -> int:
    return min(len(repr(value).partition(".")[2]), MOST_DECIMALS)
