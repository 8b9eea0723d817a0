"""Losses printed late, through another stream: to which step of the progress bar each belongs.

A trainer draws its bar at once and prints losses through a buffer. A single loss between two
consecutive bars was not buffered, and belongs to the bar above. Losses flushed together print
their epoch alone: they come every so many steps, and mostly one interval and one first step fit
all of them. Where several do, or none, the losses have no step. If a finished training printed as
many lines as it took steps, they are those of the steps, in order. The lines
of a log that says nothing of steps before its end are counted, as long as their epochs grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from ...vocabulary.cell_pieces import half_digit
from .dialect import Dialect
from .record import Record
from .step import members_of
from .steps import Steps
from .unnumbered_steps import COUNTED

COPIES_WITHIN = 64  # losses
BAR_WITHIN = 2  # lines below the losses of its step
MOST_PENDING = 200_000
FINEST = 0.5e-9  # of an epoch or a rate: more digits are noise of a double
SLACK = 1.0  # steps: an epoch need not be a whole number of them


class Plan(NamedTuple):
    """What is stated of the training: its steps, those of an epoch, those between two lines."""

    goal: int | None
    per_epoch: float | None
    every: int | None
    is_stated: bool = False  # by the log's head or its bars, not by the summary at its end


@dataclass(frozen=True, slots=True)
class PendingRecord:
    """A line with losses whose step is not yet known, and its prefix by a launcher."""

    dialect: Dialect
    record: Record
    line: int
    rank_prefix: str
    place: int = 0  # among the lines with losses, from 1

    def numbered(self, step: int, by: str) -> Record:
        """The record with this step, and where that is from."""
        if self.step is not None:
            return self.record
        more = self.record.fields.get("more")
        note = {"step": f"{step}, {by}"}
        fields = self.record.fields | {"more": (more if isinstance(more, dict) else {}) | note}
        return replace(self.record, fields=fields)

    @property
    def epoch(self) -> float | None:
        """The epoch that the line prints, if any."""
        epoch = self.record.fields.get("epoch")
        return epoch if isinstance(epoch, float) else None

    @property
    def step(self) -> int | None:
        """The step that the line prints, if any."""
        step = self.record.fields.get("iteration")
        return step if isinstance(step, int) else None

    def may_be(self, step: int, per_epoch: float | None) -> bool:
        """Whether step and epoch agree, within the printed digits."""
        if self.step is not None:
            return self.step == step
        if self.epoch is None or per_epoch is None:
            return True
        error = _half(self.epoch) * per_epoch + SLACK
        return abs(self.epoch * per_epoch - step) <= error


@dataclass(slots=True)
class LateLosses:
    """Lines with losses until their steps are known."""

    waiting: list[PendingRecord] = field(default_factory=list)  # since the newest bar
    unplaced: list[PendingRecord] = field(default_factory=list)  # no bar gives their step
    is_direct: bool = False  # a single line came between consecutive bars
    last_epoch: float | None = None  # as printed at the end of the training
    count: int = 0  # lines that are no copies

    @property
    def has_any(self) -> bool:
        """Whether a line has no step yet."""
        return bool(self.waiting or self.unplaced)

    def is_behind(self, record: Record, last: int | None) -> bool:
        """Whether a record is of the next training: this one is over, and was further on."""
        epoch, step = record.fields.get("epoch"), record.fields.get("iteration")
        if self.last_epoch is None:
            return False
        again = isinstance(step, int) and last is not None and step < last
        return again or (isinstance(epoch, float) and epoch < self.last_epoch)

    def add(self, pending: PendingRecord) -> bool:
        """One more line; False for a copy by another rank."""
        if self.waiting and (joined := _restated(self.waiting[-1], pending)):
            self.waiting[-1] = joined
            return True
        text = pending.record.raw.strip()
        newest = self.unplaced + self.waiting if len(self.waiting) < COPIES_WITHIN else self.waiting
        if any(text == other.record.raw.strip() for other in newest[-COPIES_WITHIN:]):
            return False
        self.count += 1
        if len(self.unplaced) + len(self.waiting) < MOST_PENDING:
            self.waiting.append(replace(pending, place=self.count))
        return True

    def is_right_above(self, record: Record, line: int) -> bool:
        """Whether a bar at its first step is drawn below the losses of that step."""
        first = record.fields.get("iteration") == 1 and not self.unplaced
        return first and len(self.waiting) == 1 and line - self.waiting[0].line <= BAR_WITHIN

    def of_first_step(self, record: Record, steps: Steps) -> PendingRecord | None:
        """The single line above the first bar, which is that of the first step; taken once."""
        first = record.reads == "iteration" and record.fields.get("iteration") == 1
        only = first and len(self.waiting) == 1 and not (self.unplaced or steps.count)
        return self.waiting.pop() if only else None

    def settle(
        self, steps: Steps, plan: Callable[[], Plan], following: object = None
    ) -> PendingRecord | None:
        """At the next bar, or the end: the single waiting line that belongs to the bar above."""
        if not self.waiting:
            return None
        waiting, self.waiting = self.waiting, []
        bar, planned = steps.iteration, plan()
        between = isinstance(following, int) and bar is not None and 0 <= following - bar <= 1
        # After the last bar, only earlier lines show that the output is not buffered.
        at_end = following is None and self.is_direct
        first = waiting[0]
        alone = len(waiting) == 1 and not self.unplaced and (between or at_end)
        if bar is not None and alone and first.may_be(bar, planned.per_epoch):
            self.is_direct = self.is_direct or between
            return first
        self.unplaced += waiting
        return None

    def place(self, steps: Steps, plan: Plan) -> list[tuple[int, Record, int]]:
        """Rows of the unplaced losses, after all others: their steps, records and lines."""
        numbers = None if steps.segment > 1 else self._numbers(plan)
        by = "its place among as many lines as steps" if self._is_whole(plan) else "the epoch"
        by = f"derived from {by}"
        if numbers is None and not (steps.count or plan.is_stated):
            numbers, by = self._counted(), COUNTED
        if numbers is None:
            steps.lost += sum("loss" in pending.record.fields for pending in self.unplaced)
            return []
        known = zip(numbers, self.unplaced, strict=True)
        placed = [(step, pending.numbered(step, by), pending.line) for step, pending in known]
        steps.supply(placed)
        return placed

    def _counted(self) -> list[int] | None:
        """The lines in order, where one after the other is of a later time of one training."""
        epochs = [pending.epoch for pending in self.unplaced]
        known = [epoch for epoch in epochs if epoch is not None]
        own = len(known) == len(epochs) and all(a <= b for a, b in pairwise(known))
        numbered = any(pending.step is not None for pending in self.unplaced)
        return [*range(1, len(epochs) + 1)] if own and not numbered else None

    def _is_whole(self, plan: Plan) -> bool:
        """Whether the training is finished, and printed a line for each step."""
        return self.last_epoch is not None and self.count == plan.goal

    def _numbers(self, plan: Plan) -> list[int] | None:
        """A step for each unplaced line, from its epoch; None where the epochs leave it open."""
        printed = [pending.step for pending in self.unplaced if pending.step is not None]
        if len(printed) == len(self.unplaced):
            return printed
        if self._is_whole(plan):
            return [pending.place for pending in self.unplaced]
        epochs = [pending.epoch for pending in self.unplaced]
        known = [epoch for epoch in epochs if epoch is not None]
        half = min(map(_half, known), default=0.5)
        per_epoch = plan.per_epoch
        if per_epoch is None and plan.goal and self.last_epoch:
            per_epoch, half = plan.goal / self.last_epoch, 2 * half  # the last epoch is rounded too
        if per_epoch is None or len(known) < len(epochs):
            return None
        around = [epoch * per_epoch for epoch in known]
        return even_steps(around, half * per_epoch + SLACK, plan.every)


def _restated(first: PendingRecord, second: PendingRecord) -> PendingRecord | None:
    """Lines of one interval by the trainer and by LLaMA-Factory, which rounds, as one."""
    rounded, other = (first, second) if _is_rounded(first) else (second, first)
    epochs = rounded.epoch, other.epoch
    if not _is_rounded(rounded) or _is_rounded(other) or None in epochs:
        return None
    below, above = rounded.record.fields, other.record.fields
    apart = abs((epochs[0] or 0) - (epochs[1] or 0)) > _half(epochs[0] or 0)
    if apart or below.get("loss") != above.get("loss"):
        return None
    more = members_of(below.get("more")) | members_of(above.get("more"))
    return replace(first, record=replace(other.record, fields=below | above | {"more": more}))


def _is_rounded(pending: PendingRecord) -> bool:
    return "throughput" in members_of(pending.record.fields.get("more"))


def steps_in(seconds: object, rate: object) -> int | None:
    """The number of steps in this time at this rate, if its digits leave one whole number."""
    if not isinstance(seconds, float) or not isinstance(rate, float):
        return None
    error = _half(rate)
    low, high = math.ceil(seconds * (rate - error)), math.floor(seconds * (rate + error))
    return low if 0 < low == high else None


def even_steps(around: Sequence[float], error: float, every: int | None) -> list[int] | None:
    """Steps at a constant interval, each within `error` of its place; None if none or several fit.

    Of several series the one that begins after one interval, as a training does.
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


def _half(value: float) -> float:
    """Half of the last printed digit: trainers print a float as Python does, 3.0 as such."""
    return max(half_digit(repr(value)), FINEST)
