"""Lines of a shape, cut at what stands between their values, many at once.

What is read so needs no two lines of one length, and costs more than `aligned`, where most are.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from .arrays import Places
from .found import Found
from .record import Field
from .segments import LOSS_NOTATION
from .template import LONGEST_KEPT, NUMBER, WHOLE, Slot, Template
from .timer_lines import TimerLine

LOSS = "^" + LOSS_NOTATION.pattern.replace("\\Z", "$")  # as Polars has it


def read_steps(template: Template, lines: pa.StringArray, places: Places) -> Found:
    """Those lines that have the shape, the goal of which is not looked at.

    Columns are those of `iterations`; `loss:NAME` and `more:NAME` are members of its maps. A line
    may have its end, and stands at the place that is given for it.
    """
    count = len(template.slots) + 1
    pieces = _texts(lines).str.splitn("|", count + 1).struct.unnest()
    pieces.columns = [f"piece{place}" for place in range(count + 1)]
    head = pl.col("piece0").str.extract_groups(template.head)
    fits = [pl.col(f"piece{count}").str.strip_chars(" ") == ""]
    fits += [pl.col(f"piece{s.piece}").str.starts_with(s.lead) for s in template.slots]
    texts = head.struct.rename_fields([f"text:{name}" for name, _ in template.groups])
    values = [_value(slot) for slot in template.slots]
    table = pieces.lazy().select(texts.alias("head"), *values, fits=pl.all_horizontal(fits))
    table = table.with_row_index("place").unnest("head")
    table = table.with_columns(_group(name, field) for name, field in template.groups)
    table = table.drop(f"text:{name}" for name, _ in template.groups)
    kinds = table.collect_schema()
    good = [pl.col(name).is_not_null() for name in kinds if name != "fits"]
    good += [pl.col(name).is_finite() for name, kind in kinds.items() if kind == pl.Float64]
    return _found(table.filter(pl.col("fits"), *good).drop("fits").collect(), places)


def read_timers(shape: TimerLine, lines: pa.StringArray, places: Places) -> Found:
    """The times of those lines that have the shape, at the places that are given."""
    names = [str(number) for number in range(len(shape.names))]
    groups = pl.col("line").str.extract_groups(shape.pattern).struct.rename_fields(names)
    table = _texts(lines).to_frame().lazy().select(groups).unnest("line")
    numbers = pl.col(names).cast(pl.Float64, strict=False)
    finite = pl.all_horizontal(pl.col(name).is_finite() for name in names)
    times = table.with_row_index("place").with_columns(numbers).filter(finite)
    return _found(times.collect(), places)


def _texts(lines: pa.StringArray) -> pl.Series:
    return pl.Series("line", lines, pl.String).str.strip_suffix("\n")


def _found(rows: pl.DataFrame, places: Places) -> Found:
    table = rows.drop("place").to_arrow()
    kinds = [(one.name, _plain(one.type)) for one in table.schema]
    return Found(places[rows["place"].to_numpy()], table.cast(pa.schema(kinds)))


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_large_string(kind) else kind


def _group(name: str, field: Field) -> pl.Expr:
    text = pl.col(f"text:{name}")
    return (_moment(text) if field.type == "timestamp" else _whole(text, field.type)).alias(name)


def _moment(text: pl.Expr) -> pl.Expr:
    """A time as it is printed, no time zone; Python has no year 0."""
    time = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return pl.when(time.dt.year() > 0).then(time)


def _value(slot: Slot) -> pl.Expr:
    # No other blank is taken off: some end a line.
    text = pl.col(f"piece{slot.piece}").str.strip_prefix(slot.lead).str.strip_chars(" ")
    if slot.exponent:
        text = pl.when(text.str.contains(LOSS)).then(text)
    if slot.kind == "kept":
        short = (text.str.len_bytes() <= LONGEST_KEPT) & text.str.contains(NUMBER)
        return pl.when(short).then(text).alias(slot.column)
    if slot.kind == "loss":
        return _double(text, 0).alias(slot.column)
    if slot.field.type == "double":
        return _double(text, slot.field.shift).alias(slot.column)
    return _whole(text, slot.field.type).alias(slot.column)


def _double(text: pl.Expr, shift: int) -> pl.Expr:
    if shift:
        # The double nearest to the printed digits moved, as `cast.shifted` has it.
        text = pl.when(~text.str.contains_any(["e", "E"])).then(text + f"e{shift}")
    return text.cast(pl.Float64, strict=False)


def _whole(text: pl.Expr, kind: str) -> pl.Expr:
    whole = text.cast(pl.Int64, strict=False)
    return pl.when(whole.is_between(-WHOLE[kind], WHOLE[kind] - 1)).then(whole)
