"""Runs reduced in SQL: a page shows of them what it would show had it looked at each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.decide.answers import summaries
from bench.decide.budget_choice import planned
from bench.decide.eligible import candidates
from bench.decide.jobs import by_configuration
from bench.decide.page_rows import PageRows
from bench.decide.query import Query
from bench.decide.ranking import ranking
from bench.decide.scaling_curves import curves_among
from bench.decide.spreads import spreads
from bench.reports import page_answers
from bench.reports.page import page
from bench.terminal.source import Source
from tests.deciding import table

DATA = Path(__file__).parent.parent / "data"
JOB = "{nodes} | {size} | {dp} | {tp} | 1 | {mbs} | {gbs} | 20GB | {time} | | "


def sweep(folder: Path) -> tuple[Path, ...]:
    """Two documents with repeats, ties, two models, and curves of two to five sizes."""
    rows = [
        JOB.format(nodes=2**at, size=size, dp=8 * 2**at // tp, tp=tp, mbs=tp,
                   gbs=512 * (1 + at % 2), time=round((40 + 3 * job + tp) / 2**at, 2))
        for size in ("1.3B", "13B")
        for at in range(5)
        for tp in (1, 2, 4)
        for job in range(1 + (at + tp) % 3)
    ]  # fmt: skip
    return table(folder / "a.md", rows), table(folder / "b.md", rows[::2])


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("of", ["sweep", "data"])
def test_the_first_of_a_ranking_and_the_longest_curves(folder: Path, of: str, most: int) -> None:
    paths = sweep(folder) if of == "sweep" else (DATA,)
    with Source(paths=paths).opened() as warehouse:
        chosen = candidates(warehouse, Query())
        plan = planned(warehouse, Query())
        reduced = PageRows(warehouse)
        rows, timed = reduced.fastest(most)
        assert ranking(rows, plan, most, timed) == ranking(chosen.rows, plan, most)
        every = list(curves_among(chosen.eligible("rate").kept))
        few = reduced.longest(most)
    assert len(rows) < len(chosen.rows) and len(every) > most
    assert few is not None and len(few) < len(every)
    assert summed(few, most) == summed(every, most)


def test_a_page_of_few_runs_is_that_of_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Source(paths=sweep(folder)).opened() as warehouse:
        few = page(warehouse, "model", Query(model="1.3B")).markdown()
        monkeypatch.setattr(page_answers, "FEW", 0)
        assert page(warehouse, "model", Query(model="1.3B")).markdown() == few
    assert "Fastest" in few and "efficiency" in few


def test_repeats_by_the_device_days_that_they_may_print(folder: Path) -> None:
    with Source(paths=sweep(folder)).opened() as warehouse:
        chosen = candidates(warehouse, Query())
        for query in (Query(tokens=300_000_000_000), Query(steps=1000)):
            plan = planned(warehouse, query)
            pooled = [row for row in ranking(chosen.rows, plan, 0) if row["jobs"] > 1]
            wanted = pooled[len(pooled) // 2]["device_days"]
            found = PageRows(warehouse).repeated(plan, [(0.94 * wanted, 1.06 * wanted)])
            days = [row["device_days"] for row in ranking(found, plan, 0)]
            assert wanted in days and len(days) < len(pooled)


def test_spreads_are_those_of_runs_looked_at_one_by_one(folder: Path) -> None:
    with Source(paths=sweep(folder)).opened() as warehouse:
        chosen = candidates(warehouse, Query())
    assert chosen.spreads == spreads(chosen.eligible("pace").kept)
    assert sum(len(row["runs"]) > 1 for row in by_configuration(chosen.rows)) > 5


def summed(found: Any, most: int) -> list[dict[str, Any]]:
    return [
        {**one, "base": one["base"]["where"]}
        for one in summaries([replace(curve) for curve in found], most)
    ]
