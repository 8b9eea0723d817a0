"""How the numbers of a comparison are made, for `bench explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..schema.warehouse import Row
from .provenance import Column, Derivation, Derivations, Number, input_number
from .spreads import Spread
from .statistics import ENOUGH, LEVEL, Effect

# Columns that a pair's row also shows of its base.
OF_BASE = ("step_time_s", "tokens_per_s", "tflops", "memory_gb")


def derivations_of(side: Row, base: Row, result: Effect, known: Spread | None) -> Derivations:
    """How the numbers of a pair are made, of a side and its base."""
    bounded = f"interval by {result.method}" if result.low is not None else result.method
    tested = ("speedup", *((known.number,) if known and result.method.startswith("spread") else ()))
    deviates = "100 x standard deviation / mean of the jobs' pace"
    seen = "the least change that 4 of 5 such trials detect"
    return {
        **side["derivations"],
        **{f"{name}_base": Column(name, base) for name in OF_BASE},
        "speedup": Derivation(
            expression="pace_of_the_base / pace", note=bounded,
            inputs=(Column("pace", base, "pace_of_the_base"), Column("pace", side)),
        ),
        "change_percent": Derivation(
            expression="100 x (1 / speedup - 1)", inputs=("speedup",), unit="%"
        ),
        "p_value": Derivation(expression=f"p of {result.method}", inputs=tested),
        "q_value": Derivation(
            expression="p after Benjamini and Hochberg over all pairs", inputs=tested
        ),
        "could_see_percent": Derivation(expression=seen, inputs=tested, unit="%"),
        **{
            name: Derivation(expression=deviates, inputs=(Column("pace", jobs_of),), unit="%")
            for name, jobs_of in (("cv_percent", side), ("cv_base_percent", base))
        },
    }  # fmt: skip


def numbers_of(
    rows: Sequence[Row], levels: Sequence[dict[str, Any]], spreads: Sequence[Spread]
) -> Iterator[Number]:
    """Numbers of the sentences: means and tests over all pairs of a level, and counts."""
    pairs = [row for row in rows if row["speedup"] and not row["also_differs"]]
    for level in levels:
        what, count = f"{level['level']} against {level['base']}", level["count"]
        ups = tuple(
            Column("speedup", row)
            for row in pairs
            if (row["level"], row["base"]) == (level["level"], level["base"])
        )
        mean = Derivation(expression=f"geometric mean of {count} speed-ups", inputs=ups)
        faster = Derivation(expression="count of speed-ups above 1", inputs=ups)
        yield Number(f"mean of {what}", level["mean"], mean)
        yield Number("faster", level["faster"], faster)
        yield Number(
            "slower", level["slower"], replace(faster, expression="count of speed-ups below 1")
        )
        # If all are slower, the sentence prints by how many times.
        for up in (level["least"], level["most"]):
            yield Number("slower by", 1 / up, Derivation(expression="1 / speed-up", inputs=ups))
        sure = level["surely_faster"] + level["surely_slower"]
        yield input_number("significant alone", sure, note=what)
        yield input_number("configurations", count, note=what)
        if level["p"] is not None:
            ranks = "p of Wilcoxon's signed ranks over ln(speed-up)"
            yield Number("p", level["p"], Derivation(expression=ranks, inputs=ups, note=what))
    blind = sum(row["p_value"] is None for row in pairs)
    yield input_number("pairs", len(rows), note="all pairs of the answer")
    yield input_number("pairs tested", len(pairs), note="pairs that differ in nothing else")
    yield input_number("pairs without a verdict", blind, note="no spread is known")
    yield input_number("pairs that differ in more", sum(bool(row["also_differs"]) for row in rows))
    yield input_number("jobs a side", ENOUGH, note="the least for a rank test")
    yield input_number("level", LEVEL, note="of the tests; 95% intervals")
    yield from (known.number for known in spreads)
