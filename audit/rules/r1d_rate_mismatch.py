"""R1d: tokens/s, samples/s, MFU, HFU, TFLOPs and time against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..finding import Finding, Place
from ..fixes import suggest_fixes, suggestion
from ..input import AuditInput, Row, Table
from ..interval import Interval
from ..relations import FittedRelation, fitted
from ..rule import declared
from ..same_configuration import set_apart

RULE = declared(__name__)


_SHOWN = 3  # quotients in one finding; tables with many columns have more
_CELLS = {"step_time_s": "step_time"}


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Rows with a quotient that differs from the other rows of their table."""
    doubted = data.doubted()
    for table in data.tables:
        broken: dict[int, list[tuple[Row, FittedRelation, Interval]]] = {}
        for one in fitted(table):
            if set(one.relation.metrics) == {"tflops", "aggregate_pflops"}:
                continue  # R3 checks how aggregates are counted
            yield from _meaning(table, one)
            for row, value in one.violations():
                if (row.uri, row.line) not in doubted:
                    broken.setdefault(row.line, []).append((row, one, value))
        for found in broken.values():
            yield _finding(table, found)


def _meaning(table: Table, fitted_relation: FittedRelation) -> Iterator[Finding]:
    """Rates that fit time and batch only as per-device values, or only as the job's."""
    relation = fitted_relation.relation
    worlds = {row.world for row in fitted_relation.others}
    at_one = relation.identity and fitted_relation.span.meets(1.0)
    if relation.plain or not at_one or worlds <= {1, None}:
        return
    for metric in relation.metrics:
        plain_power = metric.endswith("_per_device")
        counted = relation.powers.get("world", 0) * relation.powers[metric]
        if metric != "step_time_s" and bool(counted) != plain_power:
            yield RULE.finding(
                "of_job" if plain_power else "of_device",
                (Place(table.uri, table.header_line),),
                relation=relation,
                number=len(fitted_relation.agreeing),
                total=len(fitted_relation.rows),
            )


def _finding(table: Table, found: Sequence[tuple[Row, FittedRelation, Interval]]) -> Finding:
    row = found[0][0]
    apart = all(not one.relation.identity and set_apart(row, one.texts) for _, one, _ in found)
    quotients = [
        f"{one.relation} is {value.middle:.4g}, in the other rows {one.span.middle:.4g} "
        f"(such as line {one.example.line})"
        for _, one, value in found[:_SHOWN]
    ]
    fixes = [] if apart else suggest_fixes(table, row)
    names = [fix.name for fix in fixes] or [
        _CELLS.get(name, name) for _, one, _ in found for name in one.relation.metrics
    ]
    return RULE.finding(
        "apart" if apart else "contradicts",
        tuple(row.at(name) for name in dict.fromkeys(names)),
        quotients="; ".join(quotients),
        fix=suggestion(fixes),
    )
