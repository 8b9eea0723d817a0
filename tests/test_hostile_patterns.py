"""A pattern of a user that a line can hold up is refused at load; long lines are passed by."""

import re
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.ingest.logs import pattern_safety
from bench.ingest.logs.dialect import dialects
from bench.ingest.logs.pattern_safety import LONGEST, lines_against, slow_pattern
from bench.schema.errors import BenchError

GOOD = [
    (r"step (?P<i>\d+) loss (?P<l>[\d.]+)", "step 1 loss 2.3"),
    (r"step\s+(?P<i>\d+)/\d+ .*loss: (?P<l>\S+)", "step  1/2 x loss: 1"),
    (r"(?P<x>(?:[a-z]+=\d+,?)+)\]", "a=1,b=2]"),
    (r"[^|]*\|[^|]*\| it (?P<i>\d+)", "a|b| it 1"),
    (r"(?x) ^ \[ (?P<t> [^\]]{1,40} ) \] \s+ it (?P<i> \d+ )", "[x y] it1"),
]
BAD = [
    (r"(a+)+$", "aaaa"),
    (r"step (?P<n>\d+) (?:\w+\s?)*end", "step 1 foo bar end"),
    (r"^(?P<a>\s*)*$", "   "),
    (r"it (?P<n>\d+): (?:x|xx)+y", "it 1: xxy"),
    (r"(?P<a>.*)x(?P<b>.*)y(?P<c>.*)z", "1x2y3z"),
]
DIALECTS = sorted((Path(__file__).parent.parent / "ingest" / "dialects").glob("*.toml"))
FORMAT = """
title = "t"
url = "https://example.org"
reads = "iteration"
hint = "it "
pattern = '''it (?P<iteration>\\d+) {tail}'''
groups = {{ iteration = {{ type = "bigint" }} }}
[[sample]]
line = "it 1 aaa;"
source = "template"
row = {{ iteration = 1 }}
"""


@pytest.mark.parametrize(("pattern", "sample"), GOOD)
def test_a_pattern_that_serves(pattern: str, sample: str) -> None:
    assert slow_pattern([("good", pattern, [sample])]) is None


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "sample"), BAD)
def test_a_pattern_that_goes_back(pattern: str, sample: str) -> None:
    tried = [("good", *GOOD[0][:1], [GOOD[0][1]]), ("bad one", pattern, [sample])]
    assert slow_pattern(tried) == "bad one"


def test_what_it_is_tried_on() -> None:
    lines = lines_against(r"it (?P<i>\d+) (?:\w+ ?)*;", ["it 7 a b;"])
    assert "it 0 " + "a" * 10 in {line[:15] for line in lines}
    assert max(map(len, lines)) <= LONGEST


def test_repeats_of_repeats_make_no_longer_lines() -> None:
    """A pattern of 60 characters matches texts of a thousand million."""
    pattern = "(?:" * 10 + "a" + "{9})" * 10 + "?x"
    assert max(map(len, lines_against(pattern, []))) <= LONGEST


@pytest.mark.slow
@pytest.mark.parametrize("file", DIALECTS, ids=lambda file: file.stem)
def test_no_line_holds_up_what_is_built_in(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in patterns are tried on lines of any length: they take time like the length."""
    monkeypatch.setattr(pattern_safety, "TRIED", 4000)
    monkeypatch.setattr(pattern_safety, "MOST_LINES", 90)
    toml = tomllib.loads(file.read_text())
    for pattern in (toml[word] for word in ("pattern", "anchor", "pair") if word in toml):
        search = re.compile(pattern).search
        for line in lines_against(pattern, [one["line"] for one in toml["sample"]]):
            assert min(_used(search, line) for _ in range(2)) < 0.015, (pattern, line[:80])


def _used(search: Callable[[str], object], line: str) -> float:
    begun = time.process_time()
    search(line)
    return time.process_time() - begun


def test_the_file_is_named(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad", tmp_path / "good"
    for folder, tail in ((bad, "(?:a+)+;"), (good, "a+;")):
        folder.mkdir()
        (folder / "mine.toml").write_text(FORMAT.format(tail=tail))
    with pytest.raises(
        BenchError, match=r"format file mine\.toml: on some lines its pattern takes forever"
    ):
        dialects(bad)
    (mine,) = (dialect for dialect in dialects(good) if dialect.name == "mine")
    assert mine.read("it 2 a;" + " " * 100) is not None
    assert mine.read("it 2 a;" + " " * LONGEST) is None, "longer than it was tried on"
