"""Whether the lines of steps close: whether their numbers agree with one another.

A line of a step is over-determined: samples/s x step time is the batch, tokens/s x step time its
tokens, consumed samples grow by it, and clocks measure all of it. A quantity that closes has the
scope that its column declares. One that is off by a number that the run states (micro-batches,
replicas, devices, the steps between two lines) has another scope; else it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import exp, log
from statistics import median

from ...vocabulary.cell_pieces import half_digit_of
from ...vocabulary.hardware import highest_peak
from .equations import (
    COLUMNS,
    LEAST_STEPS,
    SLACK,
    SLACK_OF_CLOCK,
    WORDS,
    Columns,
    Equation,
    FirstSteps,
    Sizes,
    equations_of,
)

EXACT = 0.08  # for another scope than the declared one: a stronger claim needs a closer fit
HALF = 0.64  # nearly a factor of two
UNIT = 1000.0  # the factor where ms are read as s
COARSEST = 0.03  # digits of a time: coarser ones are too few to compare
ALIKE, VARIED = 0.02, 0.05  # products of steps whose times are not alike
TENSORS = 2.0  # times the highest peak of a device: no machine is faster
UNKNOWN = 1.5  # against one known scope: a quantity without scope explains less

DECLARED = {
    "step_time_s": "step", "samples_per_s": "job", "tokens_per_s": "job",
    "tokens_per_s_per_device": "device", "tflops": "device",
}  # fmt: skip
_OF = {
    "interval": "all steps of a line taken for one", "job": "the job",
    "step, in ms": "a step in ms", "job, a thousandth": "the job, divided by 1000",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantity:
    """A printed quantity: its scope by an equation (None: no scope makes it close).

    `residual` is left / right - 1 of the equation with that scope; None if no equation has it.
    """

    column: str
    scope: str | None
    equation: str | None = None
    residual: float | None = None
    steps: int = 0

    @property
    def is_used(self) -> bool:
        """Whether its values have the scope of their column, as far as equations show."""
        return self.scope == DECLARED[self.column]


def quantities(first: FirstSteps, sizes: Sizes) -> list[Quantity]:
    """The printed times and rates, each with its scope."""
    table = Columns.of(first)
    flops = list(_beyond_devices(table))
    printed = [column for column in COLUMNS if column in table.values]
    if not printed:
        return flops
    equations = list(equations_of(table, sizes))
    scopes = {c: _scopes(c, sizes, _length(table.keys)) for c in printed}
    found = _solve(printed, equations, scopes)
    return [
        _quantity(column, found[column], scopes[column], equations) for column in printed
    ] + flops


def _beyond_devices(table: Columns) -> Iterator[Quantity]:
    """TFLOP/s that no device reaches, whatever they count."""
    values = [value for value in table.column("tflops") if value]
    highest = TENSORS * highest_peak()
    if values and (middle := median(values)) > highest:
        text = "TFLOP/s of a device <= twice the highest peak"
        yield Quantity("tflops", None, text, middle / highest - 1, len(values))


def proof(first: FirstSteps) -> str | None:
    """An equation that the numbers of steps satisfy closely; None if there is none.

    Without a batch to compare with, a rate times the step time is the same in steps of other times.
    """
    table = Columns.of(first)
    for equation in equations_of(table, Sizes()):
        wide = equation.slack == SLACK_OF_CLOCK
        if equation.steps >= LEAST_STEPS and -EXACT <= equation.ratio <= (SLACK if wide else EXACT):
            return equation.text
    times = table.column(COLUMNS[0])
    for column in COLUMNS[1:]:
        pairs = [(time, rate) for time, rate in zip(times, table.column(column), strict=True)
                 if time and rate]  # fmt: skip
        own = [time for time, _ in pairs]
        rounding = min(map(half_digit_of, own)) / min(own) if own else 1.0
        if len(pairs) <= LEAST_STEPS or rounding > COARSEST:
            continue
        if _are_alike(own, VARIED + 2 * rounding):
            continue
        if _are_alike([time * rate for time, rate in pairs], ALIKE + rounding):
            return f"{WORDS[column]} x step time is the same in every step"
    return None


def _are_alike(values: Sequence[float], error: float) -> bool:
    return max(values) - min(values) <= error * median(values)


def left_out(found: Iterable[Quantity]) -> Iterator[str]:
    """A sentence on each quantity that is left out of statistics."""
    for quantity in found:
        if quantity.is_used:
            continue
        word = WORDS.get(quantity.column, "TFLOP/s")
        if quantity.scope:
            why = f"it is that of {_OF.get(quantity.scope, f'a {quantity.scope}')}"
            yield f"{word} is left out of statistics: {why} ({quantity.equation})"
        else:
            off = (
                ""
                if quantity.residual is None
                else f", off by a factor of {1 + quantity.residual:.3g}"
            )
            yield f"{word} is left out of statistics: it does not close ({quantity.equation}{off})"


def _scopes(column: str, sizes: Sizes, length: int | None) -> dict[str, float]:
    """The possible scopes of a quantity, each with the ratio of printed to declared values."""
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
    printed: list[str], equations: list[Equation], scopes: Mapping[str, Mapping[str, float]]
) -> dict[str, str | None]:
    """The scope of each quantity, with as few as possible not as declared; None if none fits.

    Where several solutions are as good, quantities on which they disagree have no scope.
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


def _no_scope(column: str, equations: list[Equation]) -> list[None]:
    """None as a choice; not for a step time that is off by less than a factor of two."""
    own = [abs(equation.ratio) for equation in equations if column in equation.powers]
    return [None] if column != COLUMNS[0] or max(own, default=0.0) > HALF else []


def _cost(column: str, scope: str | None) -> float:
    return UNKNOWN if scope is None else float(scope != DECLARED[column])


def _closes(equation: Equation, scales: Mapping[str, float | None]) -> bool:
    """Whether it closes, or is not tested, since one of its quantities has no scope."""
    off, exact = equation.ratio, False
    for column, power in equation.powers.items():
        scale = scales.get(column)
        if scale is None:
            return True
        off -= power * scale
        exact = exact or scale != 0
    # Another scope is a stronger claim: it has to fit better than a mean fits single values.
    return -EXACT <= off <= EXACT if exact else -SLACK <= off <= equation.slack


def _quantity(
    column: str, scope: str | None, scopes: Mapping[str, float], equations: list[Equation]
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


def _length(keys: list[tuple[int, int]]) -> int | None:
    """The steps between two lines, where they are always as many."""
    lengths = {b[1] - a[1] for a, b in pairwise(keys) if a[0] == b[0]}
    return lengths.pop() if len(lengths) == 1 else None


def _part(count: int | None) -> float | None:
    return 1 / count if count else None
