"""Settings that a sentence states by name, in any order: `TP 4`, `4096 sequence length`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from ...vocabulary.heading_words import translated
from ...vocabulary.package_toml import declared
from ...vocabulary.prefilter import HintedPattern
from ...vocabulary.sizes import binary_length

_IS = r"(?:\s?[=:]\s?|\s(?:of|is|was|at|to|set\sto|fixed\sat)\s|\s)"
# Several values are not those of one run: `length 2048, 4096 and 8192`, `TP 4/8`, `2 to 8`.
_NO_SERIES = (
    r"(?![\w%]|[.,]\d|\s[kKM]\b|\s?[x×*+]\s?\d|[/~–→-]\d|\s?(?:to|or|vs\.?|:|→|->|到|至|或|和|与|、)\s?\d"
    r"|\sfor\s[^.;:|]{1,60}?\b(?:and|or)\s\d[\d.,–-]{0,12}\s(?:for|in|on)\b"  # 4 for A and 8 for B
    r"|\s?(?:,|/|&|and|[-–~])\s?\d[\d,.]{0,12}[kK]?\s?(?:$|[,.;:)/]|and\b|or\b|tokens?\b))"
)
_DIGIT = re.compile(r"\d")
# `Storage of a micro-batch: 8 MB` is an amount, not a count.
_MEASURE = re.compile(
    r"\s?(?:[KMGTP]i?B(?:/s|ps)?|bytes?|bits?|[mµun]s|secs?|seconds?|minutes?|hours?|[MGTP]FLOP\w*|%)(?!\w)",
    re.I,
)
_NAME = re.compile(r"[A-Z]{2,4}-\d+")
_SERIES_END = re.compile(_NO_SERIES)
_CHINESE_IS = re.compile(r"(?<!\s)\s*+(?:设置为|设为|为|是)\s*+(?=\d)")
_UP_TO = re.compile(
    r"\b(?:up to|at least|at most|more than|less than|over|than|until|through|per)\s(?:an? )?$",
    re.I,
)


def named_numbers(text: str) -> Iterator[tuple[str, tuple[int, int], str]]:
    """Field, place and value of each setting that a text names with its number."""
    if not _DIGIT.search(text):
        return
    text = re.sub(r"[*`]", "", text)
    if not text.isascii():
        text = re.sub(r" {2,}", " ", _CHINESE_IS.sub(" = ", translated(text)))
    every = [
        (field, match)
        for field, pattern in noun_patterns()
        for match in pattern.finditer(text)
        if not (
            _UP_TO.search(text, max(0, match.start("value") - 16), match.start("value"))
            or is_measure(text, match.end("value"))
        )
    ]
    # One alone with a hyphen may be the name of a variant: `DP-1`.
    alone = len({field for field, _ in every}) == 1
    for field, found in every:
        value = _whole(found["value"])
        if value and not (alone and _NAME.fullmatch(found[0])):
            yield field, found.span(), value


def _whole(number: str) -> str | None:
    """The digits of a number; `8k` tokens are 8192, `100k` may be either."""
    plain = re.sub(r"[, ]", "", number)
    return str(binary_length(int(plain[:-1])) or "") if plain[-1] in "kK" else plain


def in_series(text: str, end: int) -> bool:
    """Whether the number that ends there is part of a series."""
    return not _SERIES_END.match(text, end)


def is_measure(text: str, end: int) -> bool:
    """Whether a unit follows the number that ends there, so that it is no count."""
    return bool(_MEASURE.match(text, end))


def noun_samples() -> list[tuple[str, str, str]]:
    """Field, text and value of each sample of nouns.toml."""
    return [(n["field"], text, value) for n in _nouns() for text, value in n["samples"]]


@cache
def noun_patterns() -> tuple[tuple[str, HintedPattern], ...]:
    """Field and pattern of each form."""
    return tuple((noun["field"], form) for noun in _nouns() for form in _forms(noun))


def _forms(noun: dict[str, Any]) -> Iterator[HintedPattern]:
    grouped, thousands = ("[, ]", r"|\d{1,4} ?[kK](?![\w/])") if noun.get("tokens") else (",", "")
    digits = rf"\d{{1,3}}(?:{grouped}\d{{3}}){{1,2}}(?!\d)|\d{{{noun['digits']}}}(?! ?[kK]\b)"
    number = rf"(?P<value>{digits}{thousands})"
    words = rf"(?:{_spaced(noun['words'])})"
    yield HintedPattern(rf"(?<![\w-]){words}{_IS}{number}{_NO_SERIES}", re.I)
    # in `64 layers: 12`, 12 is the number of layers, and 64 belongs to the word before.
    others = r"(?!\w|\s?[=:]|\s(?:of|is)\s\d|\s\d)"
    yield HintedPattern(rf"(?<![\w.,/=:-]){number}[ -]{words}{others}", re.I)
    if "before" in noun:
        yield HintedPattern(
            rf"(?<![\w-])(?:{_spaced(noun['before'])})(?:{_IS}|-?){number}{_NO_SERIES}", re.I
        )
    if noun.get("ways"):
        yield HintedPattern(rf"(?<![\w./-]){number}[ -]?way[ -]{words}", re.I)
    if "short" in noun:
        yield HintedPattern(rf"(?<![\w.-]){noun['short']}(?:\s?[=:]\s?|[ -]?){number}{_NO_SERIES}")
    for form in noun.get("more", ()):
        yield HintedPattern(rf"(?<![\w.,/=×-]){_spaced(form).replace('#', number)}(?![\d%])", re.I)


def _spaced(words: str) -> str:
    return words.replace("_", "[ _-]?")


@cache
def _nouns() -> tuple[dict[str, Any], ...]:
    return tuple(declared(__package__ or "bench.ingest.documents", "nouns.toml")["noun"])
