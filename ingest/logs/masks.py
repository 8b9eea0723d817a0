"""Masked lines: lines that differ only in digits have one mask, with every digit a zero.

Most lines of a log repeat an earlier mask. A format that does not distinguish digits reads all
lines of a mask alike, with values at the same places.
"""

from __future__ import annotations

import functools
import re

from .dialect import Dialect
from .readers import PairsReader, PatternReader
from .segments import Segments
from .settings import Settings

ZERO, NINE = ord("0"), ord("9")
ZEROS = bytes(ZERO if ZERO <= byte <= NINE else byte for byte in range(256))
# Of a regular expression: counts and character classes.
COUNT, CLASS = re.compile(r"\{\d*,?\d*\}"), re.compile(r"(?<!\\)\[[^\]]*\]")
PARTS = re.compile(rf"{COUNT.pattern}|{CLASS.pattern}|\d")
# Negative lookarounds and possessive repeats match less, not more, when they accept any digit; and
# digits in escapes, excluded classes and ranges between letters are not digits of the text.
NOT_GENERALIZED = re.compile(
    r"\(\?(?:!|<!|>|P=|\()|[*+?}]\+|\\[\dxuUN\]]"
    r"|\[\^(?!0-9\])[^\]]*\d|\[[^\]]*(?:[^\d[]-\d|\d-\D[^\]])"
)
DIGIT = re.compile(r"\d")


def mask_digits(text: str) -> str:
    """A text with every ASCII digit a zero."""
    return text.encode("utf-8", "surrogatepass").translate(ZEROS).decode("utf-8", "surrogatepass")


def is_digit_sensitive(pattern: str) -> bool:
    """Whether a regular expression may match one digit and not another."""
    plain = CLASS.sub(lambda match: match[0].replace("0-9", ""), COUNT.sub("", pattern))
    return re.search(r"\d|\(\?P=|\\N", plain) is not None


def may_read(dialect: Dialect, mask: str) -> bool:
    """Whether a format may read a line of a mask, as a whole; False is certain."""
    reader = dialect.reader
    loose = any_digits(reader.pattern if isinstance(reader, PatternReader) else reader.anchor)
    return loose is None or loose.search(mask) is not None


@functools.lru_cache(maxsize=1024)
def any_digits(pattern: re.Pattern[str]) -> re.Pattern[str] | None:
    """`pattern` generalized to any digit; None if it cannot be."""
    # A digit-blind pattern matches a mask exactly as its lines.
    if not is_digit_sensitive(pattern.pattern):
        return pattern
    if NOT_GENERALIZED.search(pattern.pattern):
        return None
    text = PARTS.sub(lambda match: _any_digit(match[0]), pattern.pattern)
    return re.compile(text, pattern.flags)


def _any_digit(part: str) -> str:
    """A class, count or digit of a regular expression, with zeros for its digits, as in a mask."""
    return part if part.startswith(("{", "[^")) else re.sub(r"\d-\d|\d", "0", part)


@functools.lru_cache(maxsize=1024)
def is_digit_blind(dialect: Dialect) -> bool:
    """Whether a format reads all lines of a mask or none, with values at the same places."""
    reader = dialect.reader
    if isinstance(reader, PatternReader):
        return not is_digit_sensitive(reader.pattern.pattern)
    if isinstance(reader, PairsReader):
        return not (
            is_digit_sensitive(reader.anchor.pattern) or is_digit_sensitive(reader.pair.pattern)
        )
    if isinstance(reader, Segments):
        keys = [
            *reader.keys,
            *reader.nested_key,
            *(key for group in reader.requires for key in group),
        ]
        return not (is_digit_sensitive(reader.anchor.pattern) or DIGIT.search(" ".join(keys)))
    return isinstance(reader, Settings)  # in JSON and Python `00` is no number
