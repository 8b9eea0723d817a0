"""What pydantic says is wrong with a value, in the words of our errors."""

from __future__ import annotations

import re

_WORDS = [
    (re.compile(r"Value error, "), ""),
    (re.compile(r"Input should be greater than or equal to "), "it must be at least "),
    (re.compile(r"Input should be less than or equal to "), "it must be at most "),
    (re.compile(r"Input should be greater than "), "it must be above "),
    (re.compile(r"Input should be less than "), "it must be below "),
    (re.compile(r"Input should be a valid integer.{0,80}"), "it must be a whole number"),
    (re.compile(r"Input should be a valid number.{0,80}"), "it must be a number"),
    (re.compile(r"Input should be a valid string"), "it must be a text"),
    (re.compile(r"Input should be a valid boolean.{0,80}"), "it must be true or false"),
    (re.compile(r"Input should be a valid (?:list|tuple)"), "it must be a list"),
    (re.compile(r"Input should be a valid dictionary.{0,80}"), "it must be a table"),
    (re.compile(r"Input should be "), "it must be "),
]


def plain_reason(message: str) -> str:
    """A message of pydantic, or one that quotes it, without its terms."""
    for words, plain in _WORDS:
        message = words.sub(plain, message)
    return message
