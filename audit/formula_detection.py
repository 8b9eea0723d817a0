"""Detect which formula, factor and divisor a table's TFLOPs follow, by majority of its rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from .formulas import assumptions, divisor, flops, needs, readings, values_of
from .input import Detected, Document, Reading, Row, Table
from .interval import Interval, largest_agreement

_SAMPLE = 40  # rows of a table to test each reading on
_PROBE = 12  # rows of the sample that every reading is tested on
_FITTED_ON = 60  # rows of a document to fit an unknown vocabulary on
_VOCABULARY = Interval(8_000, 600_000)  # wider than those of tokenizers in use
_HAIR = 1 + 1e-9  # tolerance for floating-point noise at the ends
# The mean of a rate is not the rate of the mean time: steps that vary by 10% put them 1% apart.
_AVERAGED = 0.01
_PADDING = 0.01  # of a vocabulary


def testable(row: Row) -> bool:
    """Whether the row prints a time and TFLOPs that a formula can relate."""
    time, rate = row.time, row.tflops
    return bool(time and rate and time.value > 0 and rate.value > 0 and not row.invalid)


def time_of(row: Row) -> Interval:
    """The printed time, rounded or cut off; of a mean with its allowance."""
    assert row.time is not None, "callers pass testable rows only"
    return row.time.either.widened(_AVERAGED) if "averaged" in row.flags else row.time.either


def expected(row: Row, reading: Reading, gbs: int | None = None) -> Interval | None:
    """The TFLOPs that the printed time allows under a reading; None if inputs are missing."""
    total, by = flops(row, reading, values_of(row, gbs)), divisor(row, reading)
    if total is None or not by or row.time is None:
        return None
    return Interval(total / 1e12 / by, total / 1e12 / by) / time_of(row)


def rate_of(row: Row, reading: Reading) -> Interval:
    """The TFLOPs as printed; a node's value is its processes' rounded value, times their number."""
    rate = row.tflops
    assert rate is not None, "callers pass testable rows only"
    times = 1
    if reading.divisor == "nodes" and row.nodes and row.world and row.world % row.nodes == 0:
        times = row.world // row.nodes
    return Interval(max(0.0, rate.value - times * rate.half), rate.value + times * rate.half)


def fits(row: Row, reading: Reading) -> bool | None:
    """Whether some time that prints as shown gives TFLOPs that print as shown; None: unknown."""
    wanted = expected(row, reading)
    return None if wanted is None else wanted.meets(rate_of(row, reading))


def detect(document: Document) -> None:
    """Set `detected` of every table of a document."""
    samples = [[row for row in table.rows if testable(row)][:_SAMPLE] for table in document.tables]
    everything = [row for rows in samples for row in rows]
    if not everything:
        return
    tried = readings(everything)
    counts = [_count(rows, tried) for rows in samples]
    known = sum(max(count.values(), default=0) for count in counts)
    if 3 * known < 2 * len(everything):
        fitted = list(_fitted(tried, everything[:_FITTED_ON]))
        tried += fitted
        for count, rows in zip(counts, samples, strict=True):
            count.update(_count(rows, fitted))
    cost = {one: assumptions(everything[0], one) for one in tried}
    tried.sort(key=lambda one: cost[one])  # stable: the likely ones stay first among equals
    around: Counter[Reading] = Counter()
    for count in counts:
        around.update(count)
    rank = {reading: place for place, reading in enumerate(tried)}
    previous: Reading | None = None
    for table, rows, count in zip(document.tables, samples, counts, strict=True):
        if not rows:
            continue
        best = max(tried, key=lambda one: (count[one], one == previous, around[one], -rank[one]))
        few = 2 * count[best] <= len(rows) and len(rows) > 1
        stray = len(rows) <= 2 and around[best] < 4
        if previous and around[previous] >= 4 and (few or stray):
            best = previous
        if around[best]:
            _set(table, Detected(best, count[best], len(rows), around[best]))
            previous = best


def _set(table: Table, detected: Detected) -> None:
    table.detected = detected
    for row in table.rows:
        row.vocab_fitted = detected.reading.vocab


def _count(rows: Sequence[Row], tried: Sequence[Reading]) -> Counter[Reading]:
    """How many rows fit each reading; drops a reading that fits none of a dozen rows."""
    step = max(1, len(rows) // _PROBE)
    probe = rows[::step]
    count = _fitting(probe, tried)
    if step > 1:
        rest = [row for place, row in enumerate(rows) if place % step]
        count += _fitting(rest, [reading for reading in tried if count[reading]] or tried)
    return count


def _fitting(rows: Sequence[Row], tried: Sequence[Reading]) -> Counter[Reading]:
    count: Counter[Reading] = Counter()
    for row in rows:
        values, limits = values_of(row), time_of(row)
        known = {name for name, value in values._asdict().items() if value is not None}
        rates: dict[str, tuple[float, float]] = {}
        totals: dict[
            tuple[object, ...], float | None
        ] = {}  # FLOP of the job, shared by all divisors
        for reading in tried:
            if not needs(reading.formula) <= known or _contradicts(row, reading):
                continue
            key = (reading.formula, reading.factor, reading.vocab, reading.exact)
            if key not in totals:
                totals[key] = flops(row, reading, values)
            total, by = totals[key], divisor(row, reading)
            if total is None or not by:
                continue
            if reading.divisor not in rates:
                rate = rate_of(row, reading)
                rates[reading.divisor] = rate.low, rate.high
            low, high = rates[reading.divisor]
            unit = total / 1e12 / by
            if unit <= high * limits.high * _HAIR and low * limits.low <= unit * _HAIR:
                count[reading] += 1
    return count


def _contradicts(row: Row, reading: Reading) -> bool:
    """Whether a reading takes another vocabulary than the row states; padding is no other."""
    stated, taken = row.vocab, reading.vocab
    return bool(stated and taken) and not math.isclose(stated or 0, taken or 0, rel_tol=_PADDING)


def _fitted(tried: Sequence[Reading], rows: Sequence[Row]) -> Iterator[Reading]:
    """Readings with the vocabulary that most rows imply, if none is stated."""
    open_rows = [row for row in rows if row.vocab is None]
    bases = {
        (reading.formula, reading.factor, reading.divisor) for reading in tried if reading.vocab
    }
    for formula, factor, by in sorted(bases, key=str) if len(open_rows) >= 4 else ():
        needed = [_vocabulary(row, Reading(formula, factor, by)) for row in open_rows]
        known = [interval for interval in needed if interval and interval.meets(_VOCABULARY)]
        best = [known[place] for place in largest_agreement(known)]
        if len(best) >= 4 and 2 * len(best) > len(open_rows):
            low, high = max(one.low for one in best), min(one.high for one in best)
            middle = round((max(low, _VOCABULARY.low) + min(high, _VOCABULARY.high)) / 2)
            yield Reading(formula, factor, by, middle, exact=True, fitted=True)


def _vocabulary(row: Row, reading: Reading) -> Interval | None:
    """The vocabulary at which a row fits: every formula is linear in it."""
    values, by = values_of(row), divisor(row, reading)
    lean, full = (
        flops(row, Reading(reading.formula, reading.factor, reading.divisor, v, exact=True), values)
        for v in (1, 1_000_001)
    )
    if lean is None or full is None or not by or full <= lean:
        return None
    needed = rate_of(row, reading) * time_of(row) * (by * 1e12)
    slope = (full - lean) / 1e6
    return Interval((needed.low - lean) / slope, (needed.high - lean) / slope)
