"""Columns of money and energy, formatted for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..schema.warehouse import Row
from ..vocabulary.format import significant

COSTS = (
    ("cost", "Cost"), ("energy_kwh", "kWh"), ("joules_per_token", "J/token"), ("power_w", "W"),
)  # fmt: skip
_OF_ENERGY = ("energy_kwh", "joules_per_token", "power_w")


def costs_headed(
    shown: Sequence[tuple[str, str]], facts: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """Columns as shown, cost with its currency, and energy if a source states power or energy is
    requested: rated power alone is equivalent to device-hours."""
    currencies = {currency for currency, _, _ in facts["prices"] if currency}
    head = f"Cost ({currencies.pop()})" if len(currencies) == 1 else "Cost"
    energy = facts["stated_power"] or by_energy(facts)
    return tuple(
        (name, head if name == "cost" else words)
        for name, words in shown
        if energy or name not in _OF_ENERGY
    )


def by_energy(facts: Mapping[str, Any]) -> bool:
    """Whether an answer is ordered by energy."""
    return bool(getattr(facts["order"], "column", facts["order"]) == "energy_kwh")


def cost_cells(row: Row) -> dict[str, Any]:
    """Money and energy to three digits; rated, unmeasured values are marked."""
    mark = "" if row["power_from"] == "stated" else "~"
    cells = {name: significant(row[name], 3) for name in ("cost", *_OF_ENERGY)}
    return {
        name: f"{mark}{text}" if text and name in _OF_ENERGY else text
        for name, text in cells.items()
    }
