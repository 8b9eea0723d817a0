"""Patterns that are searched only in texts with their words find what they find anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.ingest.documents.context import phrase_samples
from bench.ingest.documents.setting_phrases import noun_patterns, noun_samples
from bench.vocabulary.hardware import device_pattern, devices
from bench.vocabulary.prefilter import HintedPattern
from tests.patterns import hinted

DOCUMENTS = (Path(__file__).resolve().parent.parent / "data" / "tables").glob("00[034]_*.md")
LINES = {
    *(text for _, text, _ in (*phrase_samples(), *noun_samples())),
    *(device.name for device in devices()),
    *(line for path in DOCUMENTS for line in path.read_text("utf-8").splitlines()),
}
# Letters beyond ASCII that `re.IGNORECASE` takes for k, s and i.
ODD = str.maketrans("ksi", "\u212a\u017f\u0131")


def odd(text: str) -> str:
    return text.translate(ODD)


@pytest.mark.parametrize("change", [str, str.upper, odd])
def test_nothing_is_missed(change: Callable[[str], str]) -> None:
    matches = 0
    for pattern in hinted():
        for line in map(change, LINES):
            found = [match.span() for match in pattern.regex.finditer(line)]
            assert [match.span() for match in pattern.finditer(line)] == found, (pattern, line)
            matches += len(found)
    assert matches > 100


@pytest.mark.parametrize(
    ("pattern", "hints"),
    [
        ("abc", ("abc",)),
        ("a?bc+", ("c",)),
        (r"x\d(?:GPU|npu)s?", ("gpu", "npu")),
        (r"(?:seq|sequence)[ _-]?len", ("seq len", "seq-len", "seq_len", "seqlen", "sequence")),
        (r"(?=abc)\d+", ()),
        ("(?:abc|)x", ("x",)),
        ("(?:abc)?[a-z]{3}", ()),
        ("(?:abc){2,3}d*", ("abc",)),
        (r"(?:abc|\d)", ()),
        ("(?>abc|bcd)e", ("abce", "bcde")),
        ("é|abc", ()),
    ],
)
def test_words_without_which_nothing_matches(pattern: str, hints: tuple[str, ...]) -> None:
    assert HintedPattern(pattern, re.I).hints == hints


def test_it_does_what_a_pattern_does() -> None:
    pattern = HintedPattern("ab(c)", re.I)
    assert pattern.sub("x", "1ABC2") == "1x2" and pattern.sub("x", "12") == "12"
    for found in (pattern.search("1abc"), pattern.match("1abc", 1), pattern.fullmatch("abc")):
        assert found is not None and found[1] == "c"
    assert pattern.search("1ab") is pattern.match("abc", 1) is pattern.fullmatch("abcd") is None


def test_most_of_those_that_lines_are_searched_for_have_hints() -> None:
    every = [pattern for _, pattern in noun_patterns()]
    assert device_pattern().hints and sum(not one.hints for one in every) < len(every) / 10
