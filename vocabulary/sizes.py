"""Size labels: 1.3B, 1B3, 1300M are one size; lengths of a training: 380B tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

# The experts of `8x22B` and `8×22B` are no model size.
_SIZE = re.compile(r"(?<![\w.×])(?<!\d,)(\d+(?:\.\d+)?)\s?([bBmMtT])(\d+)?(?![A-Za-z0-9])")
_ACTIVE = re.compile(r"\d[bB][-_ ]?[aA](\d{1,3}(?:\.\d{1,2})?)[bB](?![A-Za-z0-9])")
# The explicit count next to a name: `bloomz-7b1 (7B params)`.
_CALLED = re.compile(r"[(\[,]\s?[~≈]?(\d+(?:\.\d+)?\s?[BM])\s?(?:params?|parameters)\b", re.I)
_UNDERSCORED = re.compile(r"((?:^|(?<=-))[01])_(?=\d{1,2}[bB](?![A-Za-z0-9]))")  # Qwen-1_8B
_GIGA = re.compile(r"\s*(\d+(?:\.\d+)?)G\s*")  # 8.86G, in nanotron's notation
_COUNT = re.compile(r"(\d{1,30}(?:\.\d{1,30})?(?:e\+?\d{1,2})?)\s*([KMGBT]?)", re.I)
_TENS = {"": 0, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12}
_UNIT = {"b": 1.0, "m": 1e-3, "t": 1e3}


def find_size(text: str) -> tuple[str, float] | None:
    """The first size label in a text and its parameters in 1e9; None without one."""
    match = _SIZE.search(text)
    if not match:
        return None
    number = f"{match[1]}.{match[3]}" if match[3] else match[1]
    if match[3] and "." in match[1]:
        return None
    return match[0], round(float(number) * _UNIT[match[2].lower()], 9)


@lru_cache(1 << 12)  # a document has few labels, repeated in every row
def parse_size(text: str) -> float | None:
    """Parameters in 1e9 of a size label, alone or within a model's name."""
    called = _CALLED.search(text)
    plain = _UNDERSCORED.sub(r"\1.", called[1] if called else text)
    found = find_size(plain.replace("-", " ").replace("_", " "))
    return found[1] if found else None


def active_size(text: str) -> float | None:
    """Parameters in 1e9 that a token uses, by the label of a model with experts: 3 of 30B-A3B."""
    match = _ACTIVE.search(text)
    return float(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a training: tokens, or optimizer steps of each run's own batch."""

    tokens: int | None = None
    steps: int | None = None


def parse_length(text: str) -> Length | None:
    """A training's length: 380B or 380B tokens, 362_000 steps; None for anything else."""
    amount, _, unit = text.strip().partition(" ")
    count = parse_whole(amount)
    if count is None or unit not in ("", "tokens", "steps"):
        return None
    return Length(steps=count) if unit == "steps" else Length(tokens=count)


def parse_whole(text: str) -> int | None:
    """A positive whole number in usual notations: 380B, 1.3e12, 379,584,512,000, 362_000."""
    match = _COUNT.fullmatch(re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text.strip()))
    value = Decimal(match[1]).scaleb(_TENS[match[2].upper()]) if match else Decimal(0)
    return int(value) if value > 0 and value == int(value) else None


_POWERS = tuple(2**n for n in range(10, 21))
_MOST_THOUSANDS = 1e6  # of tokens of a sequence


def binary_length(thousands: float) -> int | None:
    """The tokens of a sequence of so many k: 8192 of 8, 262144 of 262; None for one that may be
    decimal.
    """
    if thousands % 8 == 0 and thousands % 10 and abs(thousands) < _MOST_THOUSANDS:
        return round(thousands * 1024)
    return next((n for n in _POWERS if thousands in (round(n / 1000), round(n / 1000, 1))), None)


def giga_of(text: str) -> float | None:
    """Parameters in 1e9 of a whole label in G; among other words that is memory."""
    match = _GIGA.fullmatch(text)
    return float(match[1]) if match else None


def count_of(text: str, unit: str | None) -> float | None:
    """Parameters in 1e9 of a bare number: in the unit of its heading (B, M), or in full."""
    plain = text.strip().replace(",", "")
    if not re.fullmatch(r"\d+(?:\.\d+)?", plain):
        return None
    number = float(plain)
    if unit:
        return round(number * _UNIT[unit.lower()], 9)
    return number / 1e9 if number >= 1e6 else None
