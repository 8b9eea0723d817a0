"""R1d: tokens/s, samples/s, MFU, HFU, TFLOPs and time against each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from ..alike import model
from ..book import Book, Row, Table
from ..finding import Finding
from ..interval import Interval, largest_agreement
from ..rule import Rule

_MEANS = 0.02  # columns are often means over steps, and a mean of rates is not the rate of a mean


@dataclass(frozen=True, slots=True)
class Relation:
    """A quotient that is one number for all rows of a table with the same `key`."""

    names: tuple[str, str]
    says: str
    factor: Callable[[Row], float | None]
    key: Callable[[Row], Hashable]
    inverse: bool = False  # first x second is constant, not first / second


def _whole(row: Row) -> Hashable:
    return ()


def _work(row: Row) -> Hashable:
    return (model(row), row.seq_len, row.recompute, row.heads)


def _fast(row: Row) -> Hashable:
    return (_work(row), row.device, row.dtype)


def _kind(row: Row) -> Hashable:
    return (row.device, row.dtype)


def _one(row: Row) -> float | None:
    return 1.0


def _batch(row: Row) -> float | None:
    return 1.0 / row.gbs if row.gbs else None


def _tokens(row: Row) -> float | None:
    return 1.0 / (row.gbs * row.seq_len) if row.gbs and row.seq_len else None


def _sequence(row: Row) -> float | None:
    return 1.0 / row.seq_len if row.seq_len else None


def _world(row: Row) -> float | None:
    return 1.0 / row.world if row.world else None


def _world_batch(row: Row) -> float | None:
    return row.world / (row.gbs * row.seq_len) if row.world and row.gbs and row.seq_len else None


RELATIONS = (
    Relation(("samples_per_s", "step_time_s"), "samples/s x time / GBS", _batch, _whole, True),
    Relation(
        ("tokens_per_s", "step_time_s"),
        "tokens/s x time / (GBS x sequence length)",
        _tokens,
        _whole,
        True,
    ),
    Relation(
        ("tokens_per_s_per_device", "step_time_s"),
        "tokens/s/device x devices x time / (GBS x sequence length)",
        _world_batch,
        _whole,
        True,
    ),
    Relation(
        ("tokens_per_s", "samples_per_s"),
        "tokens/s / (samples/s x sequence length)",
        _sequence,
        _whole,
    ),
    Relation(
        ("tokens_per_s", "tokens_per_s_per_device"),
        "tokens/s / (tokens/s/device x devices)",
        _world,
        _whole,
    ),
    Relation(("tflops", "mfu"), "TFLOPs / MFU, the peak", _one, _kind),
    Relation(("hfu", "mfu"), "HFU / MFU", _one, _work),
    Relation(("tflops", "tokens_per_s_per_device"), "TFLOPs / (tokens/s/device)", _one, _work),
    Relation(("mfu", "tokens_per_s_per_device"), "MFU / (tokens/s/device)", _one, _fast),
    Relation(
        ("tflops", "tokens_per_s"),
        "TFLOPs x devices / (tokens/s)",
        lambda row: float(row.world) if row.world else None,
        _work,
    ),
)


def check(book: Book) -> Iterator[Finding]:
    """Rows for which a quotient is not what it is for the other rows of their table."""
    doubted = book.doubted()
    for table in book.tables:
        for relation in RELATIONS:
            groups: dict[Hashable, list[tuple[Row, Interval]]] = {}
            for row in table.rows:
                value = _value(row, relation)
                if value is not None and (row.uri, row.line) not in doubted and not row.misfits:
                    groups.setdefault(relation.key(row), []).append((row, value))
            for members in groups.values():
                yield from _judge(table, relation, members)
        yield from _hardware_below_model(table, doubted)


def _value(row: Row, relation: Relation) -> Interval | None:
    first, second = (row.printed.get(name) for name in relation.names)
    factor = relation.factor(row)
    if first is None or second is None or factor is None or first.value <= 0 or second.value <= 0:
        return None
    one, two = first.either, second.either
    return (one * two if relation.inverse else one / two) * factor


def _judge(
    table: Table, relation: Relation, members: Sequence[tuple[Row, Interval]]
) -> Iterator[Finding]:
    values = [value.widened(_MEANS / 2) for _, value in members]
    main = largest_agreement(values)
    if len(members) < 3 or len(main) < 3 or 4 * len(main) < 3 * len(members):
        return
    low, high = max(values[p].low for p in main), min(values[p].high for p in main)
    for place, (row, value) in enumerate(members):
        if place in main or values[place].meets(Interval(low, high)):
            continue
        yield Finding(
            ("R1d",),
            "error",
            "medium",
            "rates contradict each other as printed",
            f"{relation.says} is {value.middle:.4g}, in the other rows {(low + high) / 2:.4g} "
            "(such as "
            f"l.{members[main[0]][0].line})",
            tuple(row.at(_column(table, name)) for name in relation.names),
        )


def _column(table: Table, metric: str) -> str:
    return {"step_time_s": "step_time"}.get(metric, metric)


def _hardware_below_model(table: Table, doubted: set[tuple[str, int]]) -> Iterator[Finding]:
    for row in table.rows:
        mfu, hfu = row.printed.get("mfu"), row.printed.get("hfu")
        if mfu and hfu and hfu.either.high < mfu.rounded.low and (row.uri, row.line) not in doubted:
            yield Finding(
                ("R1d",),
                "error",
                "high",
                "HFU is below MFU",
                f"HFU {hfu.raw or hfu.value}, MFU {mfu.raw or mfu.value}: hardware FLOPs contain "
                "the model's",
                (row.at("mfu"), row.at("hfu")),
            )


RULE = Rule(
    "R1d",
    44,
    "Rates against each other",
    "tokens/s, samples/s, MFU, HFU, TFLOPs, time, GBS and devices give the same quotients in all "
    "rows of a table",
    "printed digits and 2%, since columns may be means; where three quarters of the rows, three "
    "or more, agree; HFU "
    "is at least MFU",
    "error",
    check,
)
