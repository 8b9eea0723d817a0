"""How many nodes train a model in a number of days: `bench predict --days`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.decide.query import Query
from bench.foresight.answers import predicted
from bench.foresight.deadline import within_days
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse
from tests.deciding import published
from tests.program import quick

TABLE = Path(__file__).resolve().parent.parent / "data/tables/004_tr3m-1B3.md"
ASKED = Query(model="1.3B", tokens=300_000_000_000, document=TABLE.name)


@pytest.fixture(scope="module")
def warehouse() -> Warehouse:
    return published("004*.md")


def test_the_fewest_nodes_are_found_for_the_prediction_and_for_its_slow_end(
    warehouse: Warehouse,
) -> None:
    found = within_days(warehouse, ASKED, {}, 22.0).facts
    likely, sure = found["likely"], found["sure"]
    assert likely["days"] <= 22 < likely["days_high"] and sure["days_high"] <= 22
    assert likely["nodes"] < sure["nodes"]
    for nodes in range(likely["nodes"] - 1, 1, -1):
        try:
            every = predicted(warehouse, ASKED, {"nodes": nodes}, every=True)
        except BenchError:  # no split of so many nodes
            continue
        assert min(row["days"] for row in every.rows) > 22
        break


@pytest.mark.parametrize(
    "asked, days, message",
    [
        ({"nodes": 4}, 30.0, "--days asks for nodes"),
        ({}, 0.0, "has to be above 0"),
        ({}, float("nan"), "has to be above 0"),
        ({}, 0.01, "no number of nodes"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    warehouse: Warehouse, asked: dict[str, int], days: float, message: str
) -> None:
    with pytest.raises(BenchError, match=message):
        within_days(warehouse, ASKED, asked, days)


def test_the_answer_is_one_sentence_before_the_table(tmp_path: Path) -> None:
    done = quick(tmp_path, "predict", str(TABLE), "--model", "1.3B",
                 "--tokens", "300B", "--days", "22", "--format", "md")  # fmt: skip
    assert done.code == 0, done.text
    assert done.out.startswith("At most 22 days for 300B tokens: "), done.out
    assert "Also at the slow end of the interval: " in done.out
