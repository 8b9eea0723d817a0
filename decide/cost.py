"""What a training costs: money from prices of a device-hour, energy from the power of devices.

Cost = device-hours x price; energy = device-hours x W / 1000. The power is what a row or a log
states of a device, else the rated power of the device, which answers name as an assumption. Hosts,
network and cooling are in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import median
from typing import Any

from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.hardware import device_of, watts_in
from ..vocabulary.prices import Price, Prices
from .provenance import Derivation, devices_of, input_number

COLUMNS = (
    "cost", "currency", "price_per_device_hour", "cost_per_100b_tokens", "energy_kwh",
    "joules_per_token", "power_w", "power_from",
)  # fmt: skip
NUMBERS = (
    "cost", "price_per_device_hour", "cost_per_100b_tokens", "energy_kwh", "joules_per_token",
    "power_w",
)  # fmt: skip
ORDERED = {"cost": "cost", "energy": "energy_kwh"}  # column by what --by names
STATED, LIMIT, RATED = "stated", "limit", "rated"
_UNIT = 100e9  # tokens
_TOO_MUCH = 1.5  # of the rated power: a larger number is not the power of one device
_STATED = """
    SELECT run_id, median(value) FROM (
        SELECT run_id, value FROM measured WHERE metric = 'power_w'
        UNION ALL
        SELECT run_id, try_cast(more['power per GPU (W/GPU)'] AS DOUBLE) FROM effective_steps
        WHERE more['power per GPU (W/GPU)'] IS NOT NULL
        UNION ALL
        SELECT run_id, try_cast(value AS DOUBLE) FROM facts
        WHERE scope = 'power' AND field = 'power_w'
    ) SEMI JOIN selected USING (run_id) WHERE value > 0 AND isfinite(value) GROUP BY run_id"""


def powers(warehouse: Warehouse) -> dict[str, float]:
    """W of a device, as the runs of the temporary table `selected` state it, by run."""
    return dict(warehouse.rows(_STATED))


def add_costs(row: dict[str, Any], prices: Prices) -> None:
    """Add to a row that has days and device-hours its cost and energy; None if unknown."""
    price = prices.of(row["device"])
    power, source, known = _power(row)
    hours, rate, devices = row["device_hours"], row["tokens_per_s"], row["device_count"]
    row |= {
        "price_per_device_hour": price.amount if price else None,
        "currency": price.currency if price else None,
        "cost": hours * price.amount if hours and price else None,
        "cost_per_100b_tokens": _UNIT / rate / 3600 * devices * price.amount
        if price and devices and rate else None,
        "power_w": power,
        "power_from": source,
        "energy_kwh": hours * power / 1000 if hours and power else None,
        "joules_per_token": power * devices / rate if power and devices and rate else None,
    }  # fmt: skip
    many = devices_of(row)
    row["derivations"] = {**row["derivations"], **_derivations(many, price, known)}


def _power(row: Row) -> tuple[float | None, str | None, str]:
    """W of a device, whether it is stated, its limit or rated, and the source."""
    known = device_of(row["device"]) if row["device"] else None
    rated = known.power_w if known else None
    stated = [one for run in row.get("members") or (row,) if (one := run["power_stated_w"])]
    if stated and (rated is None or median(stated) <= _TOO_MUCH * rated):
        return median(stated), STATED, "power of a device, as its sources state it"
    limit = watts_in(row["device"]) if row["device"] else None
    if limit and (rated is None or limit <= rated):
        return limit, LIMIT, "power limit of the device, as its name states it"
    if known is None or rated is None:
        return None, None, ""
    return rated, RATED, f"rated power of {known.name}, assumed: {known.power_source}"


@lru_cache(maxsize=256)
def _derivations(many: str, price: Price | None, power: str) -> Mapping[str, Derivation]:
    """How costs are made, of devices counted by the column `many`: alike for most rows."""
    unit = price.currency or "" if price else ""
    return {
        "price_per_device_hour": Derivation(unit=unit, note=price.origin if price else ""),
        "cost": Derivation(
            expression="device_hours x price_per_device_hour",
            inputs=("device_hours", "price_per_device_hour"), unit=unit,
        ),
        "cost_per_100b_tokens": Derivation(
            expression=f"{_UNIT:.0e} / tokens_per_s / 3600 x {many} x price_per_device_hour",
            inputs=("tokens_per_s", many, "price_per_device_hour"), unit=unit,
        ),
        "power_w": Derivation(unit="W", note=power),
        "energy_kwh": Derivation(
            expression="device_hours x power_w / 1000", inputs=("device_hours", "power_w"),
            unit="kWh",
        ),
        "joules_per_token": Derivation(
            expression=f"power_w x {many} / tokens_per_s",
            inputs=("power_w", many, "tokens_per_s"), unit="J a token",
        ),
    }  # fmt: skip


def split(
    rows: Sequence[dict[str, Any]], column: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows that have a cost or an energy, and the others with the reason.

    Raises BenchError, saying how to state one, where no row has it.
    """
    if column not in ORDERED.values():
        return list(rows), []
    kept = [row for row in rows if row[column] is not None]
    judged = [{**row, "left_out": _lacks(row, column)} for row in rows if row[column] is None]
    if rows and not kept:
        reasons = Counter(row["left_out"] for row in judged)
        raise BenchError(
            f"no {'cost' if column == 'cost' else 'energy'} is known",
            why=reasons.most_common(1)[0][0],
            hint="--price 'USD 2.10' for a device-hour, or [prices] in bench.toml"
            if column == "cost" else "a column Power (W), a log's energy lines, or samples of"
            " nvidia-smi, DCGM or jpwr next to the log state it",
        )  # fmt: skip
    return kept, judged


def _lacks(row: Row, column: str) -> str:
    if not row["device_hours"]:
        return "no device-hours: devices or tokens/s are not known"
    device = row["device"] or "a device that is not stated"
    if column == "cost":
        return f"no price of {device}"
    return f"no power of {device}: neither a source nor hardware.toml has one"


def facts_of(rows: Sequence[Row]) -> dict[str, Any]:
    """The facts about prices and power, each once, and whether any energy is measured."""
    rated: dict[str, float] = {}
    for row in rows:
        known = device_of(row["device"]) if row["device"] else None
        if known and row["power_from"] == RATED:
            rated[f"{known.name} ({known.power_source})"] = row["power_w"]
    priced = {
        (row["currency"], row["price_per_device_hour"],
         row["derivations"]["price_per_device_hour"].note)
        for row in rows if row["price_per_device_hour"] is not None
    }  # fmt: skip
    numbers = [
        input_number("price", amount, currency or "", note) for currency, amount, note in priced
    ]
    numbers += [
        input_number("power", watts, "W", f"rated: {name}") for name, watts in rated.items()
    ]
    return {
        "prices": sorted(priced, key=str),
        "rated": sorted(rated.items()),
        "stated_power": any(row["power_from"] == STATED for row in rows),
        "cost_numbers": numbers,
    }
