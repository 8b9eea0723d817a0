"""Size labels: 1.3B, 1B3, 1300M are one size."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([bBmMtT])(\d+)?(?![A-Za-z0-9])")
_GIGA = re.compile(r"\s*(\d+(?:\.\d+)?)G\s*")  # 8.86G, as nanotron writes
_UNIT = {"b": 1.0, "m": 1e-3, "t": 1e3}


def find_size(text: str) -> tuple[str, float] | None:
    """The first size label in a text and its parameters in 1e9; None when there is none."""
    found = _SIZE.search(text)
    if not found:
        return None
    number = f"{found[1]}.{found[3]}" if found[3] else found[1]
    if found[3] and "." in found[1]:
        return None
    return found[0], round(float(number) * _UNIT[found[2].lower()], 9)


def parse_size(text: str) -> float | None:
    """Parameters in 1e9 of a size label, alone or within a model's name."""
    found = find_size(text.replace("-", " ").replace("_", " "))
    return found[1] if found else None


def giga_of(text: str) -> float | None:
    """Parameters in 1e9 of a whole label in G; within other words that is memory."""
    found = _GIGA.fullmatch(text)
    return float(found[1]) if found else None


def count_of(text: str, unit: str | None) -> float | None:
    """Parameters in 1e9 of a bare number: in the unit of its heading (B, M), or in full."""
    plain = text.strip().replace(",", "")
    if not re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return None
    number = float(plain)
    if unit:
        return round(number * _UNIT[unit.lower()], 9)
    return number / 1e9 if number >= 1e6 else None
