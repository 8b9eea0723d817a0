"""Money and energy of trainings: prices, stated and rated power, orders and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.decide.answers import lasting, ranked
from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.ingest.files.pipeline import ingest_into
from bench.ingest.kinds import may_be_sidecar
from bench.ingest.sidecars.files import SAMPLES, read_sidecar
from bench.project.settings import read_file
from bench.schema.errors import BenchError
from bench.schema.opening import in_memory
from bench.schema.sidecars import find_links, store_links
from bench.schema.warehouse import Warehouse
from bench.trainer.energy import meter
from bench.vocabulary.prices import Price, Prices, parse_price

ROOT = Path(__file__).resolve().parent.parent
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


def test_a_limit_in_the_name_of_a_device_is_its_power(tmp_path: Path) -> None:
    head = f"# S\n\nSEQ_LEN=2048\n\n| Device {HEAD}\n{'| --: ' * 10}|\n"
    (tmp_path / "a.md").write_text(head + f"| H100 at 500 W | {ROWS[1]} |\n")
    found = in_memory()
    ingest_into(found, [tmp_path / "a.md"], tmp_path)
    [row] = ranked(found, candidates(found, PRICED), PRICED).rows
    assert (row["power_w"], row["power_from"]) == (500, "limit")


SMI = """timestamp, index, power.draw [W], temperature.gpu
2026/03/01 00:00:00.000, 0, 61.20 W, 30
2026/03/01 00:00:01.000, 0, 301.50 W, 55
2026/03/01 00:00:02.000, 0, 310.25 W, 56
2026/03/01 00:00:03.000, 0, 320.00 W, 57
2026/03/01 00:00:04.000, 0, [N/A], 57
"""
DMON = """#Entity   POWER     TOTEC     SMCLK
ID        W         mJ        MHz
GPU 0     60.5      1000      345
GPU 0     310.25    1410      1410
GPU 1     N/A       1410      1410
"""
JPWR = ",timestamps,pynvml:0,pynvml:1,gh:Module\n0,1.7e9,20.0,310.25\n1,1.7e9,309.0,311.0,700.0\n"


@pytest.mark.parametrize("text", [SMI, DMON, JPWR], ids=["nvidia-smi", "dcgmi dmon", "jpwr"])
def test_power_is_the_middle_of_the_samples_while_a_device_works(text: str) -> None:
    assert may_be_sidecar("power.csv", text.encode())
    found = read_sidecar("power.csv", text)
    assert found is not None and found.format == SAMPLES
    [stated] = found.stated.every()
    assert (stated.name, stated.value) == ("power_w", "310.25")
    assert text.split("\n")[stated.line - 1].count("310.25") == 1


def test_tables_of_no_power_are_no_samples() -> None:
    for text in ("a,b\n1,2\n", "timestamp, index\n1, 2\n", "", "# Entity\n", SMI.split("\n")[0]):
        found = read_sidecar("t.csv", text)
        assert found is None or found.format != SAMPLES


def test_samples_beside_a_log_are_the_power_of_its_run(tmp_path: Path) -> None:
    log = ROOT / "data" / "logs" / "megatron_lm_dp2.log"
    (tmp_path / "run.log").write_bytes(log.read_bytes())
    (tmp_path / "run.power.csv").write_text(SMI)
    found = in_memory()
    ingest_into(found, [tmp_path], tmp_path)
    store_links(found, find_links(found))
    rows = candidates(found, Query()).rows
    assert [row["power_stated_w"] for row in rows] == [310.25]


def test_packages_are_counted_once_and_counters_turn_over(tmp_path: Path) -> None:
    def count(zone: str, name: str, joules: float) -> None:
        folder = tmp_path / zone
        folder.mkdir(exist_ok=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "energy_uj").write_text(f"{round(joules * 1e6)}\n")
        (folder / "max_energy_range_uj").write_text("1000000000\n")

    count("intel-rapl:0", "package-0", 990)
    count("intel-rapl:0:0", "core", 5)
    count("intel-rapl:1", "psys", 7)
    node = meter(tmp_path)
    assert node.take() is None
    count("intel-rapl:0", "package-0", 20)
    assert node.take() == pytest.approx(30)
    assert meter(tmp_path / "none").take() is None


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
