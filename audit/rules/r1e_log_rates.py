"""R1e: the lines of a log against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ...vocabulary.cell_pieces import half_digit_of
from ..finding import Finding, Place
from ..input import AuditInput, Log, Step, logs
from ..rule import declared

RULE = declared(__name__)


_OFF = 0.02
_UNITS = {
    1000.0: "a thousandth of what batch and time give, as if they were a millisecond's",
    0.001: "a thousandfold of what batch and time give, as if the time were in milliseconds",
}
Value = Callable[[Log, Step], float | None]


def _samples(log: Log, step: Step) -> float | None:
    gbs = step.gbs or log.gbs
    return step.samples * step.time / gbs if step.samples and step.time and gbs else None


def _tokens(log: Log, step: Step) -> float | None:
    gbs, s = step.gbs or log.gbs, step.seq_len or log.seq_len
    return step.tokens * step.time / (gbs * s) if step.tokens and step.time and gbs and s else None


def _work(log: Log, step: Step) -> float | None:
    gbs = step.gbs or log.gbs
    return step.tflops * step.time / gbs if step.tflops and step.time and gbs else None


def _coarse(*values: float | None) -> float:
    """The relative precision of the printed digits."""
    return sum(half_digit_of(value) / value for value in values if value)


RELATIONS: tuple[tuple[str, str, Value, bool], ...] = (
    ("samples/s x time / GBS", "samples per second", _samples, True),
    ("tokens/s x time / (GBS x sequence length)", "tokens per second", _tokens, True),
    ("TFLOPs x time / GBS", "TFLOPs", _work, False),
)


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Lines whose rates differ from the run's other lines, and counters that jump."""
    for log in logs(data):
        for quotient, name, value, is_one in RELATIONS:
            yield from _relation(log, quotient, name, value, is_one)
        yield from _consumed(log)


def _relation(log: Log, quotient: str, name: str, value: Value, is_one: bool) -> Iterator[Finding]:
    found = [(step, one) for step in log.steps if (one := value(log, step))]
    if not found:
        return
    middle = median(one for _, one in found)
    good = [step for step, one in found if abs(one / middle - 1) <= _allowed(step, name)]
    if len(found) >= 3 and 4 * len(good) < 3 * len(found):
        return  # batch or sequence length change in between, or the rate is of another window
    if is_one and good and abs(middle - 1) > _allowed(good[0], name) and len(good) >= 2:
        yield _constant(log, quotient, name, middle, good)
    if len(found) < 3:
        return
    for step, one in found:
        if abs(one / middle - 1) > 2 * _allowed(step, name) and not _is_first(step, log):
            yield RULE.finding(
                "line",
                (Place(log.uri, step.line, "", log.run_id),),
                name=name,
                quotient=quotient,
                one=one,
                middle=middle,
            )


def _allowed(step: Step, name: str) -> float:
    rate = {"samples per second": step.samples, "tokens per second": step.tokens}
    return _OFF + 2 * _coarse(rate.get(name, step.tflops))


def _is_first(step: Step, log: Log) -> bool:
    """The first line of a run may include its start in one of the two."""
    return step is log.steps[0]


def _constant(log: Log, quotient: str, name: str, middle: float, good: Sequence[Step]) -> Finding:
    unit = next((text for scale, text in _UNITS.items() if abs(middle * scale - 1) < 0.2), "")
    whole = round(1 / middle) if middle < 1 else round(middle)
    of_one = whole > 1 and abs((1 / middle if middle < 1 else middle) / whole - 1) < 0.02
    why = (
        f": {unit}" if unit else f": it counts 1 of {whole} units" if of_one and middle < 1 else ""
    )
    return RULE.finding(
        "unit" if unit else "factor",
        (Place(log.uri, good[0].line, "", log.run_id),),
        name=name,
        quotient=quotient,
        middle=middle,
        number=len(good),
        why=why,
        fix=f"{name} {('x' if middle < 1 else '/')} 1000" if unit else "",
    )


def _consumed(log: Log) -> Iterator[Finding]:
    """Samples consumed between two lines against iterations x GBS."""
    pairs = list(_counted(log))
    odd = [pair for pair in pairs if pair.used != pair.wanted]
    once = list(_first_wrong(odd))
    if odd and 4 * len(once) <= len(pairs):
        for wrong in once:
            yield RULE.finding(
                "consumed",
                (Place(log.uri, wrong.line, "", log.run_id),),
                wrong=wrong,
                more="; the line after it is right again" if wrong.back else "",
                fix=f"consumed samples {wrong.before + wrong.wanted}" if wrong.back else "",
            )
    elif odd and len(pairs) >= 3:
        yield RULE.finding(
            "growth",
            (Place(log.uri, odd[0].line, "", log.run_id),),
            number=len(odd),
            total=len(pairs),
            odd=odd,
        )


class _Pair(NamedTuple):
    """Two lines that follow each other: samples used between them, and iterations x GBS."""

    first: int  # line of the first
    line: int
    before: int
    used: int
    wanted: int
    back: bool = False  # the excess here is missing on the next line


def _counted(log: Log) -> Iterator[_Pair]:
    for first, second in pairwise(log.steps):
        gone = second.iteration - first.iteration
        same = first.segment == second.segment and first.gbs == second.gbs and gone == second.length
        if not same or gone <= 0 or first.consumed is None or second.consumed is None:
            continue
        if second.gbs:
            used, wanted = second.consumed - first.consumed, gone * second.gbs
            yield _Pair(first.line, second.line, first.consumed, used, wanted)


def _first_wrong(odd: Sequence[_Pair]) -> Iterator[_Pair]:
    """Each wrong counter once: it is off against the line before it and the one after."""
    by_first = {pair.first: pair for pair in odd}
    echoes: set[int] = set()
    for pair in odd:
        if pair.line in echoes:
            continue
        after = by_first.get(pair.line)
        back = after is not None and pair.used + after.used == pair.wanted + after.wanted
        if after is not None and back:
            echoes.add(after.line)
        yield pair._replace(back=back)
