"""Every pattern of the program, found in its modules and data, takes time like its text."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable

import pytest

from bench.ingest.logs import pattern_safety
from bench.ingest.logs.pattern_safety import lines_against
from tests.patterns import Found, in_code, in_data

SIZES = (24, 96, 384, 1536)  # characters: what doubles with each would be seen at once
SOON = 0.0015  # s of processor time: too short to be told from noise
MOST_LINES = 60  # texts made against a pattern
MOST = 0.25  # s for the longest of them: the cube of its length would take many times that
TRIES = 5
SQUARE = 11.0  # times as long for four times the text: linear is 4, the square 16


# What takes the square of its text, and how long that is. A cell, heading or line of a document has
# at most 2,000 characters, a name of a file 255.
DOCUMENT, FILE_NAME, OURS = "2,000 characters", "a name of a file", "a text of the program itself"
BOUNDED = {
    "audit/rule.py": FILE_NAME,
    "decide/failures.py: _PLACE": "a reason, cut by ingest/logs/termination.py",
    "ingest/documents/csv_directive.py": DOCUMENT,
    "ingest/logs/masks.py": OURS,
    "ingest/documents/compound_columns.py": DOCUMENT,
    "ingest/files/folders.py": FILE_NAME,
    "ingest/logs/number_names.py: _NAME": "200 characters before a number",
    "ingest/documents/value_pairs.py": DOCUMENT,
    "ingest/documents/prose.py": DOCUMENT,
    "ingest/documents/wide_tables.py": DOCUMENT,
    "ingest/documents/context.toml": DOCUMENT,
    "ingest/dialects/deepspeed_step.toml": "repeats of 2,000 at most: linear beyond",
    "ingest/dialects/trainer_environment.toml": "repeats of 2,000 at most: linear beyond",
    "launch/launchers/slurm.py": "what scontrol answers",
    "schema/catalogue.py": OURS,
    "schema/where.py": "the words of a user's own --where",
    "site/bundle.py": OURS,
    "terminal/answers.py": OURS,
    "terminal/site.py": "a user's own option",
    "terminal/time_options.py": "a user's own option",
    "terminal/options.py": "a user's own option",
    "vocabulary/cell.py": DOCUMENT,
    "vocabulary/cell_numbers.py": DOCUMENT,
    "vocabulary/cell_units.py": DOCUMENT,
    "vocabulary/cell_words.py": DOCUMENT,
    "vocabulary/cells.py": DOCUMENT,
    "vocabulary/heading_words.py": DOCUMENT,
    "vocabulary/heading_units.py": DOCUMENT,
    "vocabulary/headings.py": DOCUMENT,
}
# Made while the program runs, of parts that are found here or of escaped words.
MADE = {
    "claims/question.py": "escaped words",
    "ingest/documents/context.py": "phrases of context.toml, found as data",
    "ingest/logs/declaration.py": "formats: those of bench found as data, a user's tried at load",
    "ingest/logs/pattern_safety.py": "the same",
    "ingest/logs/lines.py": "prefixes.toml, found as data",
    "ingest/logs/masks.py": "formats without their digits",
    "ingest/documents/setting_phrases.py": "forms of nouns.toml, found as data",
    "ingest/documents/unlisted_framework.py": "an escaped name",
    "ingest/documents/row.py": "a number",
    "launch/process_probe.py": "names of libraries of the program",
    "project/facts_file.py": "an escaped name",
    "project/path_patterns.py": "tests/test_bounds.py",
    "project/settings.py": "an escaped name",
    "records/scrub.py": "escaped names",
    "reports/escape.py": "backticks",
    "schema/as_of.py": "names of views, over the program's own SQL",
    "schema/repeated_logs.py": "a number",
    "schema/sidecar_links.py": "tests/test_bounds.py",
    "schema/where.py": "forms of where.py",
    "site/models.py": "escaped names of sources",
    "vocabulary/cell_units.py": "its units; tests/test_linear.py reads cells of each type",
    "vocabulary/hardware.py": "names of devices",
    "vocabulary/heading_words.py": "escaped words",
    "vocabulary/prefilter.py": "those of others, found where they are made",
    "vocabulary/secret_form.py": "forms, found as data",
    "vocabulary/secret_rules.py": "rules of gitleaks, found as data",
}


def test_no_pattern_is_missed() -> None:
    found, made = in_code()
    assert len(found) > 500 and len(in_data()) > 300
    assert set(made) == MADE.keys()


@pytest.mark.slow
def test_time_is_as_the_length_or_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()
    try:
        every = [*in_code()[0], *in_data()]
        again = [one for one in every if slow(one, monkeypatch)]
        square = {one.place: took for one in again if (took := slow(one, monkeypatch))}
    finally:
        gc.enable()
    assert max(seconds for seconds, _ in square.values()) < MOST
    unbounded = {place: text[:60] for place, (_, text) in square.items()
                 if not any(place.startswith(one) for one in BOUNDED)}  # fmt: skip
    assert not unbounded


def test_it_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Found("here", re.compile(r"\s+$"), frozenset({"search"}))
    good = Found("here", re.compile(r"(?<!\s)\s++$"), frozenset({"search"}))
    assert slow(bad, monkeypatch) and not slow(good, monkeypatch)


def texts(pattern: str, size: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is made to hold it up, so long."""
    monkeypatch.setattr(pattern_safety, "TRIED", size)
    monkeypatch.setattr(pattern_safety, "MOST_LINES", MOST_LINES)
    return lines_against(pattern, [])


def slow(found: Found, monkeypatch: pytest.MonkeyPatch) -> tuple[float, str] | None:
    """A text that takes the square of its length or more, if one does, and its seconds."""
    ways = found.methods if found.anchored else {"search"}
    return next(filter(None, (_slow(found, way, monkeypatch) for way in sorted(ways))), None)


def _slow(found: Found, way: str, monkeypatch: pytest.MonkeyPatch) -> tuple[float, str] | None:
    tried: Callable[[str], object] = getattr(found.pattern, way)
    shorter: list[str] = []
    for size in SIZES:
        made = texts(found.pattern.pattern, size, monkeypatch)
        for number, text in enumerate(made):
            if number < len(shorter) and used(tried, text) > SOON:
                # Both side by side, the best of several: a busy machine delays one of them alone.
                longer = min(used(tried, text) for _ in range(TRIES))
                before = min(used(tried, shorter[number]) for _ in range(TRIES))
                if longer > max(SOON, SQUARE * max(before, 1e-6)):
                    return longer, text
        shorter = made
    return None


def used(tried: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    tried(text)
    return time.process_time() - begun
