"""The first steps of a run in columns, and the equations between them.

Each equation is a ratio that is 1 where both sides agree. Batches are counted, printed or stated;
clocks are the time stamps in front of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import isfinite, log
from statistics import median

from .record import Fields

MOST_STEPS = 32  # the first ones of a run are enough: an equation applies to all or to none
# A mean and an instant differ by some tenths; two scopes by a whole number, from 2 on.
SLACK = 0.25
# Clocks also run while a program evaluates and saves, and loads its data.
SLACK_OF_CLOCK = 0.6
SCATTER = 0.15  # more than that and a ratio is no factor, but noise
LEAST_STEPS = 3  # after the first one, whose time includes the start
TICKS = 10  # of a clock, between two lines that it can time

COLUMNS = (
    "step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device",
)  # fmt: skip
WORDS = {
    "step_time_s": "step time", "samples_per_s": "samples/s", "tokens_per_s": "tokens/s",
    "tokens_per_s_per_device": "tokens/s of a device",
}  # fmt: skip
_USED = frozenset((
    *COLUMNS, "gbs", "seq_len", "consumed_samples", "consumed_tokens", "printed_at", "tflops",
))  # fmt: skip
Values = list[float | None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a run states of its batch and its devices; None where it does not."""

    gbs: int | None = None  # sequences
    seq_len: int | None = None  # tokens
    grad_accum: int | None = None  # micro-batches a step
    replicas: int | None = None
    devices: int | None = None


def sizes_of(columns: Mapping[str, object]) -> Sizes:
    """The sizes of a run, as far as its columns state them."""

    def count(name: str) -> int | None:
        value = columns.get(name)
        return value if isinstance(value, int) and value > 0 else None

    devices = count("devices") or count("ranks")
    model = (count("tp") or 1) * (count("pp") or 1) * (count("cp") or 1)
    known = devices if devices and (count("tp") or devices == 1) else None
    replicas = count("dp") or (known // model if known else None)
    gbs, mbs, parts = count("gbs"), count("mbs"), count("grad_accum")
    if mbs and replicas:
        if gbs is None and parts:
            gbs = mbs * parts * replicas
        if parts is None and gbs and gbs % (mbs * replicas) == 0:
            parts = gbs // (mbs * replicas)
    return Sizes(gbs, count("seq_len"), parts, replicas, devices)


@dataclass(slots=True)
class FirstSteps:
    """The first steps of a run, as far as equations need them, by segment and iteration."""

    rows: dict[tuple[int, int], Fields] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """How many more are needed."""
        return MOST_STEPS - len(self.rows)

    def add(self, segment: int, iteration: int, fields: Mapping[str, object]) -> None:
        """One more step, or more of a step that was added."""
        key = segment, iteration
        if key in self.rows:
            self.rows[key] = self.rows[key] | _used(fields)
        elif len(self.rows) < MOST_STEPS:
            self.rows[key] = _used(fields)


def _used(fields: Mapping[str, object]) -> Fields:
    return {name: fields[name] for name in _USED & fields.keys()}


@dataclass(frozen=True, slots=True)
class Columns:
    """The first steps in order, column by column; None where no positive number is printed."""

    keys: list[tuple[int, int]]  # segment and iteration
    values: dict[str, Values]
    clocks: Values  # seconds a step, by the stamps of a line and the one before it

    @classmethod
    def of(cls, first: FirstSteps) -> Columns:
        """The columns with a value in any step."""
        keys = sorted(first.rows)
        rows = [first.rows[key] for key in keys]
        names = {name for row in rows for name in row} - {"printed_at"}
        values = {name: [_positive(row.get(name)) for row in rows] for name in sorted(names)}
        values = {name: column for name, column in values.items() if any(column)}
        return cls(keys, values, _clocks(keys, rows))

    def column(self, name: str) -> Values:
        """One column; all None if no step has it."""
        return self.values.get(name) or [None] * len(self.keys)


@dataclass(frozen=True, slots=True)
class Equation:
    """A ratio that is 1 where both sides agree, as its logarithm, and the columns in it.

    A column's own scale multiplies the ratio with `power`.
    """

    text: str
    ratio: float
    powers: Mapping[str, int]
    steps: int
    slack: float = SLACK


def equations_of(table: Columns, sizes: Sizes) -> Iterator[Equation]:
    time, samples, tokens, of_device = (table.column(name) for name in COLUMNS)
    # The first line has the time of starting in it.
    start = 1 if len(table.keys) > LEAST_STEPS else 0
    batch, length, whole = _batches(table, sizes)
    t, s, k, d = COLUMNS
    if t in table.values and any(table.clocks):
        yield from _equation("clock = step time", table.clocks, time, {t: -1}, SLACK_OF_CLOCK)
    for name, rate, word, right in (
        (s, samples, "batch", batch), (k, tokens, "tokens of the batch", whole),
    ):  # fmt: skip
        if name not in table.values:
            continue
        if t in table.values:
            left = _product(rate, time)[start:]
            text = f"{WORDS[name]} x step time = {word}"
            yield from _equation(text, left, right[start:], {name: 1, t: 1})
        left = _product(rate, table.clocks)
        text = f"{WORDS[name]} x clock = {word}"
        yield from _equation(text, left, right, {name: 1}, SLACK_OF_CLOCK)
    if s in table.values and k in table.values:
        left, right = tokens[start:], _product(samples, length)[start:]
        yield from _equation("tokens/s = samples/s x length", left, right, {k: 1, s: -1})
    if sizes.devices and d in table.values:
        job = [rate * sizes.devices if rate else None for rate in of_device]
        text = "tokens/s of a device x devices"
        if k in table.values:
            powers = {d: 1, k: -1}
            yield from _equation(f"{text} = tokens/s", job[start:], tokens[start:], powers)
        left = _product(job, time)[start:]
        text = f"{text} x step time = tokens of the batch"
        yield from _equation(text, left, whole[start:], {d: 1, t: 1})


def _batches(table: Columns, sizes: Sizes) -> tuple[Values, Values, Values]:
    """Sequences, their length and tokens of each step: counted, printed, else stated."""
    none: Values = [None] * len(table.keys)
    counted = _growth(table, "consumed_samples")
    batch = [counted or one or sizes.gbs for one in table.values.get("gbs", none)]
    samples, tokens = table.column("consumed_samples"), table.column("consumed_tokens")
    printed = table.column("seq_len")
    length = [
        after / before if before and after else one or sizes.seq_len
        for before, after, one in zip(samples, tokens, printed, strict=True)
    ]
    grown = _growth(table, "consumed_tokens")
    return batch, length, [grown or one for one in _product(batch, length)]


def _equation(
    text: str,
    left: Sequence[float | None],
    right: Sequence[float | None],
    powers: Mapping[str, int],
    slack: float = SLACK,
) -> Iterator[Equation]:
    """The equation, if its numbers scatter about one ratio."""
    ratios = [log(one / other) for one, other in zip(left, right, strict=True) if one and other]
    if not ratios:
        return
    middle = median(ratios)
    scatter = median([abs(ratio - middle) for ratio in ratios])
    if scatter <= SCATTER and (len(ratios) >= LEAST_STEPS or abs(middle) <= SLACK):
        yield Equation(text, middle, powers, len(ratios), slack)


def _clocks(keys: list[tuple[int, int]], rows: list[Fields]) -> Values:
    """Seconds a step, by the time stamps of a line and the one before it."""
    stamps = [row.get("printed_at") for row in rows]
    dates = [stamp for stamp in stamps if isinstance(stamp, datetime)]
    if len(dates) < 2:
        return [None] * len(keys)
    tick = 0.0 if any(stamp.microsecond for stamp in dates) else 1.0
    column: Values = [None]
    for (before, at), ((one, first), (other, last)) in zip(
        pairwise(stamps), pairwise(keys), strict=True
    ):
        apart = None
        if isinstance(before, datetime) and isinstance(at, datetime) and one == other:
            seconds = (at - before).total_seconds()
            apart = seconds / (last - first) if seconds > TICKS * tick else None
        column.append(apart)
    return column


def _growth(table: Columns, name: str) -> float | None:
    """The increase of a count in a step, if it is the same for most, and not rounded away."""
    column = table.values.get(name)
    if column is None:
        return None
    counts = [count for count in column if count]
    rounded = 1
    while all(count % (10 * rounded) == 0 for count in counts):
        rounded *= 10
    if rounded > 1 and max(counts) - min(counts) < TICKS * rounded * len(counts):
        return None
    grown = [
        (after - before) / (last - first)
        for (before, after), ((one, first), (other, last)) in zip(
            pairwise(column), pairwise(table.keys), strict=True
        )
        if one == other and before and after
    ]
    middle = median(grown) if grown else 0.0
    alike = sum(abs(each - middle) <= 0.01 * middle for each in grown)
    return middle if middle > 0 and 2 * alike > len(grown) else None


def _positive(value: object) -> float | None:
    if isinstance(value, (int, float)) and value > 0 and isfinite(value):
        return float(value)
    return None


def _product(one: Sequence[float | None], other: Sequence[float | None]) -> Values:
    return [a * b if a and b else None for a, b in zip(one, other, strict=True)]
