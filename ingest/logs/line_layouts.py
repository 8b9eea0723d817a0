"""The layout of a line: places and columns of its numbers, the same for all lines of a mask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...vocabulary.secrets import is_secret_name, redact_text
from ..cast import LIMITS
from .dialect import Dialect
from .lines import peel, printed_at
from .masks import DIGIT
from .readers import PairsReader, PatternReader
from .record import Field
from .segments import LOSS_NOTATION, Layout, Segments
from .step import CLOCK, rank_prefix_of

NUMBER = re.compile(r"[-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?")  # no thousands separators
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
LONGEST_KEPT = 12  # letters of a value kept as printed: no secret is as short and a number
WHOLE = LIMITS | {"count": LIMITS["bigint"]}
Kind = Literal["whole", "double", "kept", "time"]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Value:
    """A number of a line, by the column that it is for; `loss:NAME` and `more:NAME` are of maps."""

    column: str
    kind: Kind
    span: Span
    limit: int = 0  # of a whole number
    shift: int = 0  # powers of ten from the printed unit to ours


@dataclass(frozen=True, slots=True)
class StepSeries:
    """The common part of lines of steps with numbers at different places."""

    dialect: Dialect
    columns: tuple[str, ...]
    main: str | None  # the name of the main loss
    rank_prefix: str  # distinguishes the process that prints them

    def names(self, kind: str) -> list[str]:
        """The names of the losses (`loss`) or of what is kept as printed (`more`)."""
        front = f"{kind}:"
        return [name.removeprefix(front) for name in self.columns if name.startswith(front)]


@dataclass(frozen=True, slots=True)
class StepLayout:
    """The numbers of a line of a step."""

    series: StepSeries
    values: tuple[Value, ...]
    literals: tuple[Span, ...]  # digits that belong to names and prefixes


@dataclass(frozen=True, slots=True)
class ArgumentLayout:
    """The name and the value of an argument."""

    dialect: Dialect
    name: Span
    value: Span | None

    def read(self, line: str) -> tuple[str, str]:
        """Name and value as a line of the mask prints them."""
        return line[slice(*self.name)], line[slice(*self.value)] if self.value else ""


@dataclass(frozen=True, slots=True)
class TimerLayout:
    """The times of a line of timers, by their names."""

    dialect: Dialect
    names: tuple[str, ...]
    values: tuple[Value, ...]
    literals: tuple[Span, ...]


def layout_of(dialect: Dialect, line: str) -> StepLayout | TimerLayout | ArgumentLayout | None:
    """The layout of a line, on which `dialect` has read exactly one record."""
    match dialect.reads:
        case "iteration":
            return step_layout(dialect, line)
        case "timers":
            return timer_layout(dialect, line)
        case "argument":
            return argument_layout(dialect, line)
    return None


def step_layout(dialect: Dialect, line: str) -> StepLayout | None:
    """The layout of a line of a step; None if it has to be read by itself, such as one of ranks.

    `dialect` has read nothing but one record on the line.
    """
    reader, (prefixes, text) = dialect.reader, peel(line)
    if dialect.reads != "iteration" or not isinstance(reader, Segments) or not line.isascii():
        return None
    if not _is_plain(dialect, reader) or printed_at(prefixes) or not line.endswith(text):
        return None
    match = reader.anchor.search(text)
    if match is None:
        return None
    start = len(line) - len(text)
    pieces = text[match.end() :].split("|")[:-1]
    keys = [piece.partition(reader.assign)[0].strip() for piece in pieces]
    layout = reader.layout(tuple(keys))
    if layout is None or layout.memory or len(set(keys)) < len(keys):
        return None
    groups = _groups(match, reader.groups, start)
    slots = _slots(reader, layout, pieces, start + match.end())
    if groups is None or slots is None:
        return None
    # Lines with the same columns in other widths are one series, whose rows are joined.
    values = (*groups, *slots)
    columns = tuple(value.column for value in values)
    losses = {column.removeprefix("loss:") for column in columns if column.startswith("loss:")}
    # A line without a loss may be of a diverged run; steps are numbered again in each epoch.
    if len(set(columns)) < len(columns) or not ({"loss"} & set(columns) or losses):
        return None
    mains = reader.losses.main if reader.losses else ()
    main = next((name for name in mains if name in losses), None)
    series = StepSeries(dialect, columns, main, rank_prefix_of(prefixes))
    return StepLayout(series, values, _digits_outside(line, values))


def _is_plain(dialect: Dialect, reader: Segments) -> bool:
    odd = reader.unterminated or reader.ends or reader.nested_key or dialect.set
    return (
        not odd
        and dialect.within is None
        and reader.separator == "|"
        and not dialect.every_rank
        and not dialect.progress_bar
    )


def _groups(match: re.Match[str], declared: dict[str, Field], start: int) -> list[Value] | None:
    """The numbers of the anchor; None where the step is not among them."""
    values = []
    for name, text in match.groupdict().items():
        if text is None:
            continue
        field = declared[name]
        column = field.column or name
        span = start + match.start(name), start + match.end(name)
        if field.shift or field.add or field.memory or column == "epoch":
            return None
        if field.type in WHOLE and text.isascii() and text.isdigit():
            values.append(Value(column, "whole", span, WHOLE[field.type]))
        elif field.type == "timestamp" and TIME.fullmatch(text):
            values.append(Value(column, "time", span))
        else:
            return None
    return values if any(value.column == "iteration" for value in values) else None


def _slots(
    reader: Segments, layout: Layout, pieces: Sequence[str], start: int
) -> list[Value] | None:
    """The numbers after the keys; `start` is where the first piece begins."""
    values = []
    for place, piece in enumerate(pieces):
        key, assigned, text = piece.partition(reader.assign)
        at = start + len(key) + len(assigned) + len(text) - len(text.lstrip())
        key, text = key.strip(), text.strip()
        start += len(piece) + 1
        if not assigned or not key or redact_text(key) != key or not NUMBER.fullmatch(text):
            return None
        span = at, at + len(text)
        if place in layout.losses:
            if reader.by_notation(key) and LOSS_NOTATION.match(text) is None:
                return None
            values.append(Value(f"loss:{key}", "double", span))
        elif place in layout.kept:
            if is_secret_name(key) or len(text) > LONGEST_KEPT:
                return None
            values.append(Value(f"more:{key}", "kept", span))
        else:
            value = _column(reader.keys[key], text, span)
            if value is None:
                return None
            values.append(value)
    return values


def _column(field: Field, text: str, span: Span) -> Value | None:
    column = field.column or ""
    if field.add or column == "epoch":
        return None
    if field.type in ("double", "instant"):  # of one number an `instant` is that
        plain = not (field.shift and "e" in text.lower())
        return Value(column, "double", span, shift=field.shift) if plain else None
    if field.type in WHOLE and text.lstrip("+-").isdigit():
        return Value(column, "whole", span, WHOLE[field.type])
    return None


def timer_layout(dialect: Dialect, line: str) -> TimerLayout | None:
    """The layout of a line of timers; None if it has more than names and times.

    `dialect` has read nothing but one record on the line.
    """
    reader, (_, text) = dialect.reader, peel(line)
    if (
        dialect.reads != "timers"
        or not isinstance(reader, PairsReader)
        or reader.groups
        or dialect.set
    ):
        return None
    match = reader.anchor.search(text)
    if match is None or not line.endswith(text) or not line.isascii():
        return None
    names, values, end = [], [], match.end()
    start = len(line) - len(text)
    while (pair := reader.pair.match(text, end)) and pair.end() > end:
        end, name = pair.end(), pair["key"].strip()
        if not DECIMAL.fullmatch(pair["value"]) or name in names:
            return None
        names.append(name)
        span = start + pair.start("value"), start + pair.end("value")
        values.append(Value(name, "double", span))
    literals = _digits_outside(line, values)
    return TimerLayout(dialect, tuple(names), tuple(values), literals) if names else None


def argument_layout(dialect: Dialect, line: str) -> ArgumentLayout | None:
    """The layout of an argument's line; None if it has more than name and value.

    `dialect` has read nothing but one record on the line.
    """
    reader, (prefixes, text) = dialect.reader, peel(line)
    if dialect.reads != "argument" or not isinstance(reader, PatternReader) or dialect.set:
        return None
    # A value with a type or a unit would have to be cast.
    columns = {field.column: name for name, field in reader.groups.items()}
    plain = all(field == Field(field.column) for field in reader.groups.values())
    match = reader.pattern.search(text)
    if match is None or not plain or columns.keys() != {"name", "value"}:
        return None
    # A time in front would date the run; text removed from within a line moves the rest.
    if any(CLOCK.search(prefix) for prefix in prefixes) or not line.endswith(text):
        return None
    start = len(line) - len(text)
    name, value = (_stripped(match, columns[column], start) for column in ("name", "value"))
    return ArgumentLayout(dialect, name, value) if name else None


def _stripped(match: re.Match[str], group: str, start: int) -> Span | None:
    """The span of the text of a group, without blanks; None if it has no part."""
    text = match[group]
    if text is None:
        return None
    begin = start + match.start(group) + len(text) - len(text.lstrip())
    return begin, begin + len(text.strip())


def _digits_outside(line: str, values: Iterable[Value]) -> tuple[Span, ...]:
    """The digits of a line outside of its values."""
    inside = {at for value in values for at in range(*value.span)}
    return tuple(
        (match.start(), match.end())
        for match in DIGIT.finditer(line)
        if match.start() not in inside
    )
