"""R1d: tokens/s, samples/s, MFU, HFU, TFLOPs and time against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..alike import set_apart
from ..book import Book, Row, Table
from ..finding import Finding, Place
from ..interval import Interval
from ..mend import mends, suggestion
from ..relations import Held, held
from ..rule import Rule

_TOLD = 3  # quotients that a finding tells; there are more where a table has many columns
_CELLS = {"step_time_s": "step_time"}


def check(book: Book) -> Iterator[Finding]:
    """Rows for which a quotient is not what it is for the other rows of their table."""
    doubted = book.doubted()
    for table in book.tables:
        broken: dict[int, list[tuple[Row, Held, Interval]]] = {}
        for one in held(table):
            if set(one.relation.metrics) == {"tflops", "aggregate_pflops"}:
                continue  # R3 knows how aggregates are counted
            yield from _meaning(table, one)
            for row, value in one.breaks():
                if (row.uri, row.line) not in doubted:
                    broken.setdefault(row.line, []).append((row, one, value))
        for found in broken.values():
            yield _finding(table, found)
        yield from _hardware_below_model(table, doubted)


def _meaning(table: Table, one: Held) -> Iterator[Finding]:
    """Rates that fit time and batch only as those of a device, or only as those of the job."""
    relation = one.relation
    worlds = {row.world for row in one.others()}
    at_one = relation.identity and one.span.meets(1.0)
    if relation.plain or not at_one or worlds <= {1, None}:
        return
    for metric in relation.metrics:
        plain_power = metric.endswith("_per_device")
        counted = relation.powers.get("world", 0) * relation.powers[metric]
        if metric != "step_time_s" and bool(counted) != plain_power:
            yield Finding(
                ("R1d",),
                "warning",
                "medium",
                "a rate is of the whole job, though its heading says a device"
                if plain_power
                else "a rate is of one device, though its heading does not say so",
                f"only so {relation} is 1, on {len(one.agreeing)} of {len(one.rows)} rows",
                (Place(table.uri, table.header_line),),
            )


def _finding(table: Table, found: Sequence[tuple[Row, Held, Interval]]) -> Finding:
    row = found[0][0]
    apart = all(not one.relation.identity and set_apart(row, one.others()) for _, one, _ in found)
    told = [
        f"{one.relation} is {value.middle:.4g}, in the other rows {one.span.middle:.4g} "
        f"(such as l.{one.example.line})"
        for _, one, value in found[:_TOLD]
    ]
    repairs = [] if apart else mends(table, row)
    names = [one.name for one in repairs] or [
        _CELLS.get(name, name) for _, one, _ in found for name in one.relation.metrics
    ]
    return Finding(
        ("R1d",),
        "note" if apart else "error",
        "low" if apart else "medium",
        "rates are not in proportion to those of the other rows: of another model or context, "
        "or wrong"
        if apart
        else "rates contradict each other as printed",
        "; ".join(told),
        tuple(row.at(name) for name in dict.fromkeys(names)),
        suggestion(repairs),
    )


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
    "tokens/s, samples/s (of job or device), MFU, HFU, % of peak, aggregates, TFLOPs, time, GBS "
    "and devices give the same quotients in all rows of a table",
    "printed digits and 2%, since columns may be means; where three quarters of the rows, three "
    "or more, agree; a note where a note or an unknown column may tell another model or context; "
    "a rate that is a device's under a heading that does not say so is a warning; HFU is at least "
    "MFU, which it is where a row tells that nothing is recomputed, and compared among rows of one "
    "recompute only",
    "error",
    check,
)
