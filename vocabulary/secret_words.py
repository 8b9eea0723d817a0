"""Words that look like secrets by themselves: generated, or like a password."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from itertools import pairwise

from .secret_commands import REDACTED

SIGNS = "!#%*+~^"  # of passwords
# A number with usual affixes, a time, a version, a size: 12.5GB/s, 2026-11-20T10:00, 4x1024.
_NUMBER = re.compile(
    r"[-+~<>(\[]?\d[\d.,:xTeE+-]*[A-Za-zµ%/*()\]]*\Z|[vV]?\d+(?:\.\w+){1,4}\Z|0x[\da-fA-F]+\Z"
)
_TURN = re.compile(rf"(?<=[A-Za-z])[\d{SIGNS}]|(?<=[\d{SIGNS}])[A-Za-z]|(?<=[a-z])[A-Z]")
_RUN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{20,400}(?![A-Za-z0-9])")
# Prefixes of services' tokens: fw_, lsv2_pt_, pcsk_6Xn2fQ_.
_BEFORE = re.compile(r"(?<![\w.+/=-])[A-Za-z][A-Za-z0-9]{0,9}[_-](?:[A-Za-z0-9]{1,10}[_-]){0,2}\Z")
# Base64, which no path ends as, or is as long as a secret key of S3.
_CODED = re.compile(r"[A-Za-z0-9+/]{22,200}={1,2}\Z|[A-Za-z0-9+/]{40}\Z")
_HEX = re.compile(r"(?=[a-f]{0,99}\d)(?=\d{0,99}[a-f])[\da-f]{32,128}\Z")
_LONG = 30  # letters of a random word without a prefix
_BACK = 36
_PART = r"[A-Za-z0-9_+/-]{0,400}"
_PARTIAL = re.compile(
    rf"(?P<before>(?<![A-Za-z0-9_+/-]){_PART}){re.escape(REDACTED)}"
    rf"(?:{_PART}{re.escape(REDACTED)}){{0,9}}(?P<after>{_PART}={{0,2}})"
)


_SPLIT = re.compile(r"(?:[TPDCES]P\d{1,4}_?){2}")


def is_opaque(value: str, seen: str) -> bool:
    """Whether a word looks generated, or like a password: no word, number, path or time.

    `seen` is the start of an earlier redaction.
    """
    if not 8 <= len(value) <= 4096 or value.startswith(seen) or _NUMBER.match(value):
        return False
    if (
        ("/" in value[:2] and not _CODED.match(value))
        or value.count("/") > len(value) / 12 + 1
        or "://" in value
    ):
        return False
    if _HEX.match(value):
        return True
    marked = sum(letter.isdigit() or letter in SIGNS for letter in value)
    turns, letters = len(_TURN.findall(value)), sum(map(str.isalpha, value))
    if not marked:  # of small and capital letters alone; names of classes change less often
        return len(value) >= 16 and turns > len(value) / 5
    return bool(letters) and marked < 0.8 * len(value) and turns >= max(3, len(value) / 8)


def redact_random(text: str, instead: str) -> str:
    """A text without random words: as services generate from small and capital letters and digits,
    after a short prefix, or too long for the name of a file or class."""

    def put(match: re.Match[str]) -> str:
        word, start = match.group(), match.start()
        behind = _BEFORE.search(text, max(0, start - _BACK), start)
        if not behind and (len(word) < _LONG or text[start - 1 : start] in ("/", ".", "_")):
            return word
        return instead if is_random(word) and not is_text(word) else word

    return _RUN.sub(put, text)


def whole_words(text: str) -> str:
    """A text in which no word is redacted in part: what is opaque next to a redaction goes too."""

    def put(match: re.Match[str]) -> str:
        before, after = match["before"], match["after"]
        return "".join((
            "" if is_opaque(before.rstrip("+/-"), REDACTED) else before, REDACTED,
            "" if after.endswith("=") or is_opaque(after.lstrip("+/-"), REDACTED) else after,
        ))  # fmt: skip

    return _PARTIAL.sub(put, text)


def is_random(word: str) -> bool:
    """Names of classes are mixed too, and change between kinds of letters less often.

    Names of configurations, `TP1PP1SH2SP8`, look random and are none.
    """
    if _SPLIT.search(word):
        return False
    kinds = [letter.isdigit() + 2 * letter.isupper() for letter in word]
    turns = sum(one != other for one, other in pairwise(kinds))
    numbers = len(re.findall(r"\d+", word))
    return len(set(kinds)) == 3 and numbers > 1 and turns >= 0.4 * len(word)


def is_text(word: str) -> str:
    """The text that a word encodes in base64, in one line; "" if it is no text."""
    try:
        inside = base64.b64decode(word + "=" * (-len(word) % 4), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    plain = inside.replace("\n", " ").replace("\t", " ")
    return inside if plain.isprintable() else ""


def encoded(instead: str, redact: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
    """A replacement function: `instead` for base64 of a text with a secret."""

    def put(match: re.Match[str]) -> str:
        inside = is_text(match.group())
        return instead if inside and redact(inside) != inside else match.group()

    return put
