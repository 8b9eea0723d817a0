"""A cell as typed pieces, and its text formatted from them.

Pieces are small lists `[kind, ...]` so that they can be stored as JSON:
`["number", value, decimals, width, grouped]`, `["unit", text]`, `["mark", text]`,
`["missing", text]`, `["word", text]`, `["date", text]`, `["job", text]`,
`["set", name, value]`, `["gap", text]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Piece = list[Any]

NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+"
MARK = r"\[\^[\w-]{1,20}\]|\^++|\*++|†++|‡++|§++|¶++|\?++|[★☆]++"
MARKS = re.compile(MARK)
_MOST_POWER = 300  # of ten in a double: what prints more is 0 or no number


def number_piece(text: str) -> Piece:
    """The piece of a printed number: value, decimals, width of zero padding, grouping."""
    plain = text.replace(",", "")
    mantissa = re.split("[eE]", plain)[0]
    decimals = len(mantissa.partition(".")[2])
    digits = mantissa.partition(".")[0].lstrip("+-")
    width = len(digits) if len(digits) > 1 and digits.startswith("0") else 0
    return ["number", float(plain), decimals, width, "," in text]


def half_digit(text: str) -> float:
    """Half of the last printed digit of a number: 0.005 of 12.34, 50 of 1.2e3."""
    mantissa, _, exponent = text.replace(",", "").lower().partition("e")
    # Six characters of an exponent are beyond every double.
    power = int(exponent[:6] or 0) - len(mantissa.partition(".")[2])
    return float(0.5 * 10.0 ** max(-_MOST_POWER, min(_MOST_POWER, power)))


def half_digit_of(value: float) -> float:
    """The same of a number without its text: of its shortest one, so that 45.0 is 45."""
    return 0.5 if value.is_integer() else half_digit(repr(value))


def mark_pieces(text: str) -> list[Piece]:
    """The marks of a text, and the text between them."""
    if not text:
        return []
    parts = re.split(rf"({MARK})", text)
    return [["mark" if place % 2 else "gap", part] for place, part in enumerate(parts) if part]


def closing_marks(raw: str) -> tuple[str, tuple[str, ...]]:
    """A text without its closing footnote marks, and these marks."""
    # One scan from the left: `(?:MARK)+$` tries every split of a long row of asterisks.
    marks: list[str] = []
    start = end = 0
    for match in MARKS.finditer(raw):
        if match.start() != end:
            marks, start = [], match.start()
        marks.append(match[0])
        end = match.end()
    return (raw[:start], tuple(marks)) if marks and end == len(raw) else (raw, ())


def format_pieces(pieces: Iterable[Piece]) -> str:
    """The text of the pieces, formatted from their typed values."""
    return "".join(_format(piece) for piece in pieces)


def _format(piece: Piece) -> str:
    if piece[0] == "number":
        _, value, decimals, width, grouped = piece
        text = f"{abs(value):{',' if grouped else ''}.{decimals}f}"
        padded = text.zfill(width + (decimals + 1 if decimals else 0)) if width else text
        return f"-{padded}" if value < 0 else padded
    if piece[0] == "set":
        return f"{piece[1]}={piece[2]}"
    return str(piece[1])
