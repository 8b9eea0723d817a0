"""Money and energy of trainings: prices, stated and rated power, orders and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.decide.answers import lasting, ranked
from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.ingest.pipeline import ingest_into
from bench.project.settings import read_file
from bench.schema.errors import BenchError
from bench.schema.warehouse import Warehouse, in_memory
from bench.vocabulary.prices import Price, Prices, parse_price

HEAD = "| Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it | Power (W) |"
ROWS = ("1 | 1.3B | 8 | 1 | 1 | 1 | 512 | 20.0 | 320", "2 | 1.3B | 16 | 1 | 1 | 1 | 512 | 11.0 | ")
PRICED = Query(tokens=10**11, prices=Prices(Price(2.0, "USD")))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A sweep of two sizes, one of which states its power."""
    folder = tmp_path_factory.mktemp("cost")
    rows = "".join(f"| {row} |\n" for row in ROWS)
    head = f"# S\n\nA100 80GB, 8 GPUs per node, SEQ_LEN=2048\n\n{HEAD}\n{'| --: ' * 9}|\n"
    (folder / "a.md").write_text(head + rows)
    found = in_memory()
    ingest_into(found, [folder / "a.md"], folder)
    return found


def test_cost_and_energy_of_stated_and_rated_power(warehouse: Warehouse) -> None:
    made = ranked(warehouse, candidates(warehouse, PRICED), PRICED)
    fast, slow = made.rows
    assert fast["cost"] == pytest.approx(fast["device_hours"] * 2) and fast["currency"] == "USD"
    assert (fast["power_w"], fast["power_from"]) == (400, "rated")
    assert (slow["power_w"], slow["power_from"]) == (320, "stated")
    assert slow["joules_per_token"] == pytest.approx(320 * 8 * 20 / (512 * 2048))
    assert slow["energy_kwh"] == pytest.approx(slow["joules_per_token"] * 1e11 / 3.6e6)
    [front] = made.facts["cost_fronts"]
    assert [row["nodes"] for row in front] == [1, 2]


@pytest.mark.parametrize("by", ["cost", "energy"])
def test_days_by_what_costs_least(warehouse: Warehouse, by: str) -> None:
    query = Query(tokens=10**11, prices=PRICED.prices, by=by)
    assert [row["nodes"] for row in lasting(warehouse, query).rows] == [1, 2]


def test_no_price_is_an_error_that_says_how_to_state_one(warehouse: Warehouse) -> None:
    query = Query(by="cost")
    with pytest.raises(BenchError, match="no cost is known") as error:
        ranked(warehouse, candidates(warehouse, query), query)
    assert "--price" in (error.value.hint or "")
    plain = Query()
    assert ranked(warehouse, candidates(warehouse, plain), plain).rows[0]["cost"] is None


def test_prices_as_people_write_them(tmp_path: Path) -> None:
    assert parse_price("2.10") == Price(2.1) and parse_price("eur 3") == Price(3.0, "EUR")
    assert [parse_price(text) for text in ("0", "-1", "USD", "nan", "USD 1 EUR")] == [None] * 5
    file = tmp_path / "bench.toml"
    file.write_text('[prices]\ncurrency = "USD"\ndefault = 3\n[prices.devices]\nA100 = 2.1\n')
    prices = read_file(file).prices
    for device, amount in (("A100-80GB", 2.1), ("H100", 3.0), (None, 3.0)):
        price = prices.of(device)
        assert price is not None and price.amount == amount
    file.write_text('[prices]\ncurrency = "USD"\ndefault = -1\n')
    with pytest.raises(BenchError, match=r"prices\.default"):
        read_file(file)
