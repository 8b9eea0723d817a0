"""Products that a cell spells out before their result: `17.23 * 2048 / 8 = 4410 tokens/s`."""

from __future__ import annotations

import re

_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_SPELLED = re.compile(rf"({_NUMBER}(?:\s?[*x×/÷]\s?{_NUMBER}){{1,6}})\s?[=≈]\s?(?=[\d~])")
_FACTOR = re.compile(rf"([*x×/÷]?)\s?({_NUMBER})")


def spelled_product(text: str) -> tuple[str, float] | None:
    """The text of a product up to its result, and what it gives; None if there is none."""
    found = _SPELLED.match(text)
    if not found:
        return None
    product = 1.0
    for sign, number in _FACTOR.findall(found[1]):
        factor = float(number)
        if sign in ("/", "÷") and not factor:
            return None
        product = product / factor if sign in ("/", "÷") else product * factor
    return found[0], product
