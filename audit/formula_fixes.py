"""Single changes that make a row fit the formula of its table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from .formula_detection import expected, fits, rate_of, time_of
from .formulas import readings
from .input import Document, Reading, Row, Table, title
from .interval import Interval, Printed

_UNITS = ((1e-3, "ms"), (1e3, "s for ms"), (60.0, "min"), (3600.0, "h"))
_PRINTED_AS = {1e3: "ms", 1e6: "us", 1 / 60: "min", 1 / 3600: "h"}  # a second in that unit


@dataclass(frozen=True, slots=True)
class FormulaFix:
    """A change: its kind, the doubted cells, the suggestion and the evidence."""

    kind: str
    names: tuple[str, ...]
    suggestion: str
    evidence: str
    changed: Row | None = None  # the row after the change


def formula_fixes(
    document: Document, table: Table, row: Row, reading: Reading, consistent: Callable[[Row], bool]
) -> list[FormulaFix]:
    """The changes that explain a row, only those of the most likely kind.

    `consistent` tests whether the other numbers of a changed row agree with the change.
    """
    for kind in (_context, _other_formula, _other_row, _other_unit, _copied):
        found = [
            one for one in kind(document, table, row, reading) if consistent(one.changed or row)
        ]
        if found:
            return found
    return []


def with_value(row: Row, name: str, value: int) -> Row:
    """The row with one cell changed, and its number of processes updated."""
    changed = replace(row)
    setattr(changed, name, value)
    follows = name == "devices" or (name == "nodes" and not row.devices)
    if follows and row.world:
        per = row.world / (getattr(row, name) or 1)
        changed.world = round(value * per)
    return changed


def with_printed(row: Row, metric: str, scale: float) -> Row:
    """The row with one of its numbers scaled."""
    old = row.printed[metric]
    moved = Printed(old.value * scale, old.half * scale, old.unit, old.scope, old.raw)
    return replace(row, printed={**row.printed, metric: moved})


def _context(document: Document, table: Table, row: Row, reading: Reading) -> Iterator[FormulaFix]:
    """Another value of the same field, stated by the surrounding text."""
    for name in ("gbs", "seq_len", "layers", "hidden"):
        seen = set()
        for field, text, line in reversed(document.stated):
            if field != name or not text.isdigit() or line > row.line or text in seen:
                continue
            seen.add(text)
            value = int(text)
            if value != getattr(row, name) and fits(with_value(row, name, value), reading):
                was = _needed(row, reading)
                yield FormulaFix(
                    "context",
                    (name,) if name in table.columns else ("tflops",),
                    f"{title(name)}={value}",
                    f"{title(name)} {getattr(row, name)} would be {was} TFLOPs; "
                    f"line {line} states {value}, which gives the printed {_printed(row)}",
                    with_value(row, name, value),
                )
                break


def _other_formula(
    document: Document, table: Table, row: Row, reading: Reading
) -> Iterator[FormulaFix]:
    """Another formula that the row fits to the last digit; those the document uses go first."""
    used = [t.detected.reading for t in document.tables if t.detected and t.detected.agree]
    switched = [replace(reading, factor=factor) for factor in (3, 4) if reading.factor is not None]
    tried = [*dict.fromkeys(used), *switched]
    if row.tflops and row.tflops.digits >= 4:  # fewer digits fit some formula by chance
        vocab = reading.vocab
        tried += [reading for reading in readings([row]) if reading.vocab in (None, vocab)]
    for other in dict.fromkeys(tried):
        differs = (other.formula, other.factor) != (reading.formula, reading.factor)
        same_factor = other.factor in (0, reading.factor) and other.formula == reading.formula
        if differs and not same_factor and fits(row, other) and not _same(row, other, reading):
            yield FormulaFix(
                "formula",
                ("tflops",),
                f"TFLOPs {_needed(row, reading)} for comparison",
                f"{reading} gives {_needed(row, reading)} TFLOPs; {other.long} gives the printed "
                f"{_printed(row)}: another formula",
            )
            return


def _same(row: Row, first: Reading, second: Reading) -> bool:
    one, two = expected(row, first), expected(row, second)
    return bool(one and two and abs(one.middle / two.middle - 1) < 1e-6)


def _other_row(
    document: Document, table: Table, row: Row, reading: Reading
) -> Iterator[FormulaFix]:
    """The value of another row of the table, as if cells had slipped a line."""
    for name in ("nodes", "devices", "gbs", "layers", "hidden", "seq_len"):
        if name not in table.columns or getattr(row, name) is None:
            continue
        near = table.near(row)
        values = dict.fromkeys(getattr(other, name) for other in near)
        for value in values:
            if not value or value == getattr(row, name):
                continue
            if fits(with_value(row, name, value), reading):
                owner = next(other for other in near if getattr(other, name) == value)
                yield FormulaFix(
                    "row",
                    (name, "step_time", "tflops"),
                    f"{title(name)}={value}, as line {owner.line} has",
                    f"{_printed_time(row)} with {title(name)} {getattr(row, name)} would be "
                    f"{_needed(row, reading)} TFLOPs; {_printed(row)} fits {value}, that of "
                    f"line {owner.line}",
                    # Results that slipped a line: the row without results is complete.
                    with_value(row, name, value)
                    if owner.measured
                    else replace(owner, printed=row.printed),
                )


def _other_unit(
    document: Document, table: Table, row: Row, reading: Reading
) -> Iterator[FormulaFix]:
    time, wanted = row.time, expected(row, reading)
    if time is None or wanted is None:
        return
    for scale, name in _UNITS:
        changed = with_printed(row, "step_time_s", scale)
        if fits(changed, reading):
            yield FormulaFix(
                "unit",
                ("step_time",),
                f"Sec/it {time.value * scale:g}",
                f"{_printed_time(row)} would be {_needed(row, reading)} TFLOPs; it fits as {name}",
                changed,
            )
    per = row.world // row.nodes if row.nodes and row.world else 1
    for scale, name in ((per, "a node"), (row.world or 1, "the job")):
        if scale > 1 and (wanted * float(scale)).meets(rate_of(row, reading)):
            yield FormulaFix(
                "unit",
                ("tflops",),
                f"TFLOPs {_needed(row, reading)}",
                f"{_printed(row)} fits as the TFLOPs of {name}, not of one process",
                with_printed(row, "tflops", 1 / scale),
            )


def _copied(document: Document, table: Table, row: Row, reading: Reading) -> Iterator[FormulaFix]:
    """A time or TFLOPs identical to a neighbour's, to the last digit."""
    near = table.near(row)
    for metric, name in (("step_time_s", "step_time"), ("tflops", "tflops")):
        mine = row.printed[metric]
        for other in near:
            theirs = other.printed.get(metric)
            if theirs and theirs.value == mine.value and mine.digits >= 3 and fits(other, reading):
                wanted = expected(row, reading)
                off = wanted.middle / row.tflops.value if wanted and row.tflops else 1.0
                yield FormulaFix(
                    "copy",
                    (name,),
                    suggestion(row, reading, name),
                    f"{mine.value:g} is what line {other.line} has, and there it fits",
                    with_printed(row, metric, off),
                )
                break


def suggestion(row: Row, reading: Reading, name: str) -> str:
    """The value of one of the two that makes the other right."""
    if name == "tflops":
        return f"TFLOPs {_needed(row, reading)}"
    time = needed_time(row, reading)
    if time is None or row.time is None:
        return ""
    scale, unit = as_in_cell(row.time)
    return f"Sec/it {_between(time * Interval(scale, scale))}{unit}"


def needed_time(row: Row, reading: Reading) -> Interval | None:
    """The times at which the printed TFLOPs are right."""
    wanted = expected(row, reading)
    if wanted is None:
        return None
    limits = time_of(row)
    total = Interval(wanted.low * limits.high, wanted.low * limits.high)
    return total / rate_of(row, reading)


def _between(span: Interval) -> str:
    if span.high <= 0 or (span.high - span.low) / span.high < 0.002:
        return f"{span.middle:.6g}"
    return f"about {span.middle:.4g} ({span.low:.4g} to {span.high:.4g})"


def _needed(row: Row, reading: Reading) -> str:
    wanted, rate, time = expected(row, reading), row.tflops, row.time
    if wanted is None or rate is None or time is None:
        return "?"
    exact = wanted.low * time_of(row).high / time.value
    return number(exact, rate.half)


def as_in_cell(time: Printed) -> tuple[float, str]:
    """One second in the cell's unit, and that unit: a time may be printed in ms."""
    match = re.match(r"[\d.]+", (time.raw or "").replace(",", "").lstrip("*_`~ "))
    cell = float(match[0]) if match and match[0].count(".") < 2 and match[0] != "." else time.value
    for scale, unit in _PRINTED_AS.items():
        if abs(cell / time.value / scale - 1) < 1e-6:
            return scale, f" {unit}"
    return 1.0, ""


def in_thousands(rate: Printed) -> tuple[float, str]:
    """One unit in the scale of a rate's cell or column, and the suffix letter of the cell."""
    match = re.match(r"([\d.]+)\s?([kKM]?)", (rate.raw or "").replace(",", "").lstrip("*_`~ "))
    cell = float(match[1]) if match and match[1].count(".") < 2 and match[1] != "." else rate.value
    for scale in (1e-3, 1e-6):
        if rate.value and abs(cell / rate.value / scale - 1) < 1e-6:
            return scale, match[2] if match else ""
    return 1.0, ""


def number(value: float, half: float) -> str:
    """A value with as many decimals as a printed one."""
    decimals = 0
    while half < 0.4999 * 10**-decimals and decimals < 6:
        decimals += 1
    return f"{value:.{decimals}f}"


def _printed(row: Row) -> str:
    return row.tflops.raw or f"{row.tflops.value:g}" if row.tflops else ""


def _printed_time(row: Row) -> str:
    return f"{row.time.value:g} s" if row.time else ""
