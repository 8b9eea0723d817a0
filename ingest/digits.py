"""Lines that differ in their digits alone have one outline: the line with every digit a zero."""

from __future__ import annotations

ZERO, NINE = ord("0"), ord("9")
ZEROS = bytes(ZERO if ZERO <= byte <= NINE else byte for byte in range(256))


def outline(text: str) -> str:
    """A text with every digit a zero."""
    return text.encode("utf-8", "surrogatepass").translate(ZEROS).decode("utf-8", "surrogatepass")
