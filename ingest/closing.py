"""Whether the lines of steps close: what the numbers of a run say of one another.

A line of a step is over-determined: samples/s x step time is the batch, tokens/s x step time its
tokens, consumed samples grow by it, and clocks tell how long it all took. What closes has the
scope that its column declares. What is off by a number that the run states (micro-batches,
replicas, devices, the steps between two lines) has another one; what closes in no way has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise, product
from math import exp, isfinite, log
from statistics import median

from .record import Fields

MOST_STEPS = 256  # of a run are looked at, the first ones: an equation holds for all or for none
# A mean and an instant differ by some tenths; two scopes by a whole number, from 2 on.
SLACK = 0.25
# Clocks also run while a program evaluates and saves, and loads its data.
SLACK_OF_CLOCK = 0.6
EXACT = 0.08
SCATTER = 0.15  # more than that and a ratio is no factor, but noise
LEAST_STEPS = 3  # behind the first one, whose time is that of starting
TICKS = 10  # of a clock, between two lines that it can time
HALF = 0.64  # nearly a factor of two
UNIT = 1000.0  # what a time is off by where ms are taken for s
ALIKE, VARIED = 0.02, 0.05  # products of steps whose times are not alike
UNKNOWN = 1.5  # against one known scope: what closes in no way explains less

COLUMNS = (
    "step_time_s", "samples_per_s", "tokens_per_s", "tokens_per_s_per_device",
)  # fmt: skip
_COUNTS = ("gbs", "seq_len", "consumed_samples", "consumed_tokens", "printed_at")
DECLARED = {
    "step_time_s": "step", "samples_per_s": "job", "tokens_per_s": "job",
    "tokens_per_s_per_device": "device",
}  # fmt: skip
_WORDS = {
    "step_time_s": "step time", "samples_per_s": "samples/s", "tokens_per_s": "tokens/s",
    "tokens_per_s_per_device": "tokens/s of a device",
}  # fmt: skip

_OF = {
    "interval": "all steps of a line taken for one", "job": "the job",
    "step, in ms": "a step in ms", "job, a thousandth": "the job, divided by 1000",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a run states of its batch and its devices; None where it does not."""

    gbs: int | None = None  # sequences
    seq_len: int | None = None  # tokens
    grad_accum: int | None = None  # micro-batches a step
    replicas: int | None = None
    devices: int | None = None


def sizes_of(columns: Mapping[str, object]) -> Sizes:
    """Those of a run by its columns, as far as they tell."""

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


@dataclass(frozen=True, slots=True)
class Quantity:
    """A printed quantity: the scope that its equation gives it (None: it closes in no way).

    `residual` is left / right - 1 of the equation with that scope; None where nothing checks it.
    """

    column: str
    scope: str | None
    equation: str | None = None
    residual: float | None = None
    steps: int = 0

    @property
    def is_used(self) -> bool:
        """Whether its values are what their column holds, as far as can be told."""
        return self.scope == DECLARED[self.column]


@dataclass(slots=True)
class FirstSteps:
    """The first steps of a run, as far as equations need them, by segment and iteration."""

    rows: dict[tuple[int, int], Fields] = field(default_factory=dict)

    @property
    def room(self) -> int:
        """How many more are of interest."""
        return MOST_STEPS - len(self.rows)

    def add(self, segment: int, iteration: int, fields: Mapping[str, object]) -> None:
        """One more step, or more of a step that was added."""
        row = self.rows.get((segment, iteration))
        if row is None:
            if self.room <= 0:
                return
            row = self.rows[segment, iteration] = {}
        for column in (*COLUMNS, *_COUNTS):
            if (value := fields.get(column)) is not None:
                row[column] = value


@dataclass(frozen=True, slots=True)
class _Equation:
    """A ratio that is 1 where both sides agree, as its logarithm, and the columns in it.

    A column's own scale multiplies the ratio with `power`.
    """

    text: str
    ratio: float
    powers: Mapping[str, int]
    steps: int
    slack: float = SLACK


def quantities(first: FirstSteps, sizes: Sizes) -> list[Quantity]:
    """What is printed of time and speed, each with its scope."""
    steps = [(key, row) for key, row in sorted(first.rows.items())]
    printed = [c for c in COLUMNS if any(_positive(row.get(c)) for _, row in steps)]
    if not printed:
        return []
    equations = list(_equations(steps, sizes))
    scopes = {c: _scopes(c, sizes, _length(first)) for c in printed}
    found = _solve(printed, equations, scopes)
    return [_told(column, found[column], scopes[column], equations) for column in printed]


def proof(first: FirstSteps) -> str | None:
    """An equation that holds among the numbers of steps alone, closely; None where none does.

    Without a batch to compare with, a rate times the step time is the same in steps of other times.
    """
    steps = sorted(first.rows.items())
    for equation in _equations(steps, Sizes()):
        wide = equation.slack == SLACK_OF_CLOCK
        if equation.steps >= LEAST_STEPS and -EXACT <= equation.ratio <= (SLACK if wide else EXACT):
            return equation.text
    times = [_positive(row.get(COLUMNS[0])) for _, row in steps]
    for column in COLUMNS[1:]:
        pairs = [(time, rate) for time, (_, row) in zip(times, steps, strict=True)
                 if time and (rate := _positive(row.get(column)))]  # fmt: skip
        if len(pairs) <= LEAST_STEPS or _are_alike([time for time, _ in pairs], VARIED):
            continue
        if _are_alike([time * rate for time, rate in pairs], ALIKE):
            return f"{_WORDS[column]} x step time is the same in every step"
    return None


def _are_alike(values: Sequence[float], error: float) -> bool:
    return max(values) - min(values) <= error * median(values)


def left_out(found: Iterable[Quantity]) -> Iterator[str]:
    """A sentence on each quantity that is no part of statistics."""
    for one in found:
        if one.is_used:
            continue
        word = _WORDS[one.column]
        if one.scope:
            why = f"it is that of {_OF.get(one.scope, f'a {one.scope}')}"
            yield f"{word} is left out of statistics: {why} ({one.equation})"
        else:
            off = "" if one.residual is None else f", off by a factor of {1 + one.residual:.3g}"
            yield f"{word} is left out of statistics: it does not close ({one.equation}{off})"


def _equations(steps: list[tuple[tuple[int, int], Fields]], sizes: Sizes) -> Iterator[_Equation]:
    later = steps[1:] if len(steps) > LEAST_STEPS else steps
    rows = [row for _, row in later]
    clocks = _clocks(steps)
    per_batch = _growth(steps, "consumed_samples")
    per_tokens = _growth(steps, "consumed_tokens")

    def batch(row: Fields) -> float | None:
        return per_batch or _number(row.get("gbs")) or sizes.gbs

    def length(row: Fields) -> float | None:
        samples, tokens = (_number(row.get(c)) for c in ("consumed_samples", "consumed_tokens"))
        if samples and tokens:
            return tokens / samples
        return _number(row.get("seq_len")) or sizes.seq_len

    def tokens_of(row: Fields) -> float | None:
        sequences, each = batch(row), length(row)
        return per_tokens or (sequences * each if sequences and each else None)

    def value(column: str, row: Fields) -> float | None:
        return _positive(row.get(column))

    time, samples, tokens, of_device = COLUMNS
    timed = [(clock, value(time, row)) for clock, (_, row) in zip(clocks, steps, strict=True)]
    yield from _equation("clock = step time", timed, {time: -1}, SLACK_OF_CLOCK)
    for column, text, right in (
        (samples, "batch", batch), (tokens, "tokens of the batch", tokens_of),
    ):  # fmt: skip
        pairs = [(_times(value(column, row), value(time, row)), right(row)) for row in rows]
        yield from _equation(f"{_WORDS[column]} x step time = {text}", pairs, {column: 1, time: 1})
        clocked = [(_times(value(column, row), clock), right(row))
                   for clock, (_, row) in zip(clocks, steps, strict=True)]  # fmt: skip
        text = f"{_WORDS[column]} x clock = {text}"
        yield from _equation(text, clocked, {column: 1}, SLACK_OF_CLOCK)
    pairs = [(value(tokens, row), _times(value(samples, row), length(row))) for row in rows]
    yield from _equation("tokens/s = samples/s x length", pairs, {tokens: 1, samples: -1})
    if sizes.devices:
        whole = [(_times(value(of_device, row), sizes.devices), row) for row in rows]
        pairs = [(left, value(tokens, row)) for left, row in whole]
        text = "tokens/s of a device x devices = tokens/s"
        yield from _equation(text, pairs, {of_device: 1, tokens: -1})
        pairs = [(_times(left, value(time, row)), tokens_of(row)) for left, row in whole]
        text = "tokens/s of a device x devices x step time = tokens of the batch"
        yield from _equation(text, pairs, {of_device: 1, time: 1})


def _equation(
    text: str,
    pairs: Iterable[tuple[float | None, float | None]],
    powers: Mapping[str, int],
    slack: float = SLACK,
) -> Iterator[_Equation]:
    """The equation, where there are numbers for it that scatter about one ratio."""
    ratios = [log(left / right) for left, right in pairs if left and right]
    if not ratios:
        return
    middle = median(ratios)
    scatter = median(abs(ratio - middle) for ratio in ratios)
    if scatter <= SCATTER and (len(ratios) >= LEAST_STEPS or abs(middle) <= SLACK):
        yield _Equation(text, middle, powers, len(ratios), slack)


def _scopes(column: str, sizes: Sizes, length: int | None) -> dict[str, float]:
    """The scopes that a quantity may have, each with what is printed over what is declared."""
    replicas, devices = sizes.replicas, sizes.devices
    parts: dict[str, float | None]
    match column:
        case "step_time_s":
            parts = {"micro-batch": _part(sizes.grad_accum), "interval": length,
                     "step, in ms": UNIT}  # fmt: skip
        case "tokens_per_s_per_device":
            of_replica = devices / replicas if devices and replicas else None
            parts = {"replica": of_replica, "job": devices, "device, a thousandth": 1 / UNIT}
        case _:
            parts = {"replica": _part(replicas), "device": _part(devices),
                     "interval": _part(length), "job, a thousandth": 1 / UNIT}  # fmt: skip
    known = {scope: scale for scope, scale in parts.items() if scale and abs(log(scale)) > SLACK}
    return {DECLARED[column]: 1.0, **known}


def _solve(
    printed: list[str], equations: list[_Equation], scopes: Mapping[str, Mapping[str, float]]
) -> dict[str, str | None]:
    """The scope of each quantity by the fewest that are not as declared; None where none fits.

    Where several ways are as good, what they disagree on has no scope.
    """
    best: list[tuple[str | None, ...]] = []
    least = float("inf")
    choices = [[*scopes[column], *_no_scope(column, equations)] for column in printed]
    for chosen in product(*choices):
        cost = sum(_cost(column, scope) for column, scope in zip(printed, chosen, strict=True))
        if cost > least:
            continue
        scales = {column: None if scope is None else log(scopes[column][scope])
                  for column, scope in zip(printed, chosen, strict=True)}  # fmt: skip
        if all(_closes(equation, scales) for equation in equations):
            best = [*(best if cost == least else ()), chosen]
            least = cost
    if not best:
        return dict.fromkeys(printed)
    return {
        column: one if len({way[place] for way in best}) == 1 else None
        for place, column in enumerate(printed)
        for one in (best[0][place],)
    }


def _no_scope(column: str, equations: list[_Equation]) -> list[None]:
    """A time is of a part of a step or of several: off by less than two, it is not to blame."""
    own = [abs(equation.ratio) for equation in equations if column in equation.powers]
    return [None] if column != COLUMNS[0] or max(own, default=0.0) > HALF else []


def _cost(column: str, scope: str | None) -> float:
    return UNKNOWN if scope is None else float(scope != DECLARED[column])


def _closes(equation: _Equation, scales: Mapping[str, float | None]) -> bool:
    """Whether it does, or cannot be asked, since one of its quantities has no scope."""
    off, exact = equation.ratio, False
    for column, power in equation.powers.items():
        scale = scales.get(column)
        if scale is None:
            return True
        off -= power * scale
        exact = exact or scale != 0
    # Another scope is a claim of its own: it has to fit better than means fit instants.
    return -EXACT <= off <= EXACT if exact else -SLACK <= off <= equation.slack


def _told(
    column: str, scope: str | None, scopes: Mapping[str, float], equations: list[_Equation]
) -> Quantity:
    own = [equation for equation in equations if column in equation.powers]
    if not own:
        return Quantity(column, scope)
    if scope is None:
        worst = max(own, key=lambda one: abs(one.ratio))
        return Quantity(column, None, worst.text, _off(worst.ratio), worst.steps)
    shift = log(scopes[scope])
    offs = [(one.ratio - one.powers[column] * shift, one) for one in own]
    off, closest = min(offs, key=lambda pair: abs(pair[0]))
    return Quantity(column, scope, closest.text, _off(off), closest.steps)


def _off(ratio: float) -> float:
    return exp(ratio) - 1


def _clocks(steps: list[tuple[tuple[int, int], Fields]]) -> list[float | None]:
    """Seconds a step, by the time stamps of a line and the one before it."""
    stamps = [row.get("printed_at") for _, row in steps]
    dates = [stamp for stamp in stamps if isinstance(stamp, datetime)]
    tick = 0.0 if any(stamp.microsecond for stamp in dates) else 1.0
    found: list[float | None] = [None] if steps else []
    for ((one, first), _), ((other, last), row) in pairwise(steps):
        before, at = stamps[len(found) - 1], row.get("printed_at")
        apart = None
        if isinstance(before, datetime) and isinstance(at, datetime) and one == other:
            seconds = (at - before).total_seconds()
            apart = seconds / (last - first) if seconds > TICKS * tick else None
        found.append(apart)
    return found


def _growth(steps: list[tuple[tuple[int, int], Fields]], column: str) -> float | None:
    """What a count grows by in a step, where it is the same for most, and not rounded away."""
    counts = [count for _, row in steps if (count := _number(row.get(column)))]
    rounded = 1
    while counts and all(count % (10 * rounded) == 0 for count in counts):
        rounded *= 10
    if counts and rounded > 1 and max(counts) - min(counts) < TICKS * rounded * len(counts):
        return None
    grown = [
        (after - before) / (last - first)
        for ((one, first), low), ((other, last), high) in pairwise(steps)
        if one == other
        and (before := _number(low.get(column))) is not None
        and (after := _number(high.get(column))) is not None
    ]
    middle = median(grown) if grown else 0.0
    alike = sum(abs(each - middle) <= 0.01 * middle for each in grown)
    return middle if middle > 0 and 2 * alike > len(grown) else None


def _length(first: FirstSteps) -> int | None:
    """The steps between two lines, where they are always as many."""
    lengths = {b[1] - a[1] for a, b in pairwise(sorted(first.rows)) if a[0] == b[0]}
    return lengths.pop() if len(lengths) == 1 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and isfinite(value) else None


def _positive(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and number > 0 else None


def _times(one: float | None, other: float | None) -> float | None:
    return one * other if one and other else None


def _part(count: int | None) -> float | None:
    return 1 / count if count else None
