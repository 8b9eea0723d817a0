"""Prices of a device-hour: `2.10`, `USD 2.10`, or per device from bench.toml."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .hardware import device_of

_CURRENCY = r"[A-Za-z]{3}|[€$£¥]"
_PRICE = re.compile(rf"(?:({_CURRENCY})\s*)?(\d{{1,9}}(?:\.\d{{1,9}})?)(?:\s*({_CURRENCY}))?")


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a device-hour; `currency` is None if unstated."""

    amount: float
    currency: str | None = None
    origin: str = "as requested with --price"


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices by name of the device, and the default."""

    default: Price | None = None
    devices: Mapping[str, Price] = field(default_factory=dict)

    def of(self, device: str | None) -> Price | None:
        """The price of a device by its name in a source, in hardware.toml, by its family, else the
        default."""
        if not device or not self.devices:
            return self.default
        known = device_of(device)
        names = (device, known.name, known.family) if known else (device,)
        by_name = {name.casefold(): price for name, price in self.devices.items()}
        found = (by_name.get(name.casefold()) for name in names)
        return next((price for price in found if price), self.default)


def parse_price(text: str) -> Price | None:
    """The price in a text; None for anything else, and for 0."""
    match = _PRICE.fullmatch(text.strip())
    if not match or (match[1] and match[3]):
        return None
    amount, currency = float(match[2]), match[1] or match[3]
    if not amount or not math.isfinite(amount):
        return None
    return Price(amount, currency.upper() if currency else None)


NO_PRICES = Prices()
