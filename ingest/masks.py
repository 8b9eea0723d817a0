"""Masked lines: lines that differ in their digits alone have one mask, with every digit a zero.

Most lines of a log repeat a mask that was seen before. What a format that cannot tell one digit
from another makes of one line of a mask, it makes of all of them, with the same places for values.
"""

from __future__ import annotations

import functools
import re

from .dialect import Dialect
from .readers import Pairs, Pattern
from .segments import Segments

ZERO, NINE = ord("0"), ord("9")
ZEROS = bytes(ZERO if ZERO <= byte <= NINE else byte for byte in range(256))
# Of a regular expression: how often a part may stand, and what one letter may be.
COUNT, CLASS = re.compile(r"\{\d*,?\d*\}"), re.compile(r"(?<!\\)\[[^\]]*\]")
PARTS = re.compile(rf"{COUNT.pattern}|{CLASS.pattern}|\d")
# What must not follow or gives nothing back finds less, not more, where its digits are any; and
# digits of escapes, of what a class excludes and of its ranges between letters are no digits.
UNTOLD = re.compile(
    r"\(\?(?:!|<!|>|P=|\()|[*+?}]\+|\\[\dxuUN\]]"
    r"|\[\^(?!0-9\])[^\]]*\d|\[[^\]]*(?:[^\d[]-\d|\d-\D[^\]])"
)
DIGIT = re.compile(r"\d")


def mask_digits(text: str) -> str:
    """A text with every ASCII digit a zero."""
    return text.encode("utf-8", "surrogatepass").translate(ZEROS).decode("utf-8", "surrogatepass")


def tells_digits(pattern: str) -> bool:
    """Whether a regular expression may tell one digit from another."""
    plain = CLASS.sub(lambda found: found[0].replace("0-9", ""), COUNT.sub("", pattern))
    return re.search(r"\d|\(\?P=|\\N", plain) is not None


def may_read(dialect: Dialect, mask: str) -> bool:
    """Whether a format may read a line of a mask, as a whole; False is certain."""
    reader = dialect.reader
    loose = any_digits(reader.pattern if isinstance(reader, Pattern) else reader.anchor)
    return loose is None or loose.search(mask) is not None


@functools.lru_cache(maxsize=1024)
def any_digits(pattern: re.Pattern[str]) -> re.Pattern[str] | None:
    """A pattern that takes any digit where `pattern` wants one; None where none can be told."""
    # A pattern that is blind to digits finds in a mask what it finds in its lines.
    if not tells_digits(pattern.pattern):
        return pattern
    if UNTOLD.search(pattern.pattern):
        return None
    text = PARTS.sub(lambda found: _any_digit(found[0]), pattern.pattern)
    return re.compile(text, pattern.flags)


def _any_digit(part: str) -> str:
    """A class, count or digit of a regular expression, with zero, as in a mask, for its digits."""
    return part if part.startswith(("{", "[^")) else re.sub(r"\d-\d|\d", "0", part)


@functools.lru_cache(maxsize=1024)
def is_digit_blind(dialect: Dialect) -> bool:
    """Whether a format reads either all lines of a mask or none, and finds values at one place."""
    reader = dialect.reader
    if isinstance(reader, Pattern):
        return not tells_digits(reader.pattern.pattern)
    if isinstance(reader, Pairs):
        return not (tells_digits(reader.anchor.pattern) or tells_digits(reader.pair.pattern))
    if isinstance(reader, Segments):
        words = [
            *reader.keys,
            *reader.nested_key,
            *(key for group in reader.requires for key in group),
        ]
        return not (tells_digits(reader.anchor.pattern) or DIGIT.search(" ".join(words)))
    return False  # in JSON and Python `00` is no number
