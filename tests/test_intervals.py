"""Intervals are errors of left-out runs, weighed by their sources."""

from __future__ import annotations

import numpy as np
import pytest

from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.foresight.folds import ExtrapolationKind
from bench.foresight.intervals import Scores, scores
from bench.foresight.predictor import trained
from tests.deciding import published


def _scores(*ratios: float, sources: tuple[str, ...] = (), whole: bool = False) -> Scores:
    errors = np.array(ratios, dtype=np.float64) * 0.1
    each = sources or ("a.md",) * len(ratios)
    return Scores(tuple(range(len(ratios))), errors, np.full(len(ratios), 0.1), each, whole)


def test_intervals_are_the_errors_of_runs_left_out() -> None:
    known = _scores(*range(1, 100))
    assert known.factor("a.md") == pytest.approx(90.0)
    # Too few for 90%: the worst, and half as much more.
    assert _scores(1.0, 2.0).factor("a.md") == pytest.approx(3.0)
    assert _scores().factor("a.md") == 3.0
    assert _scores(0.01, 0.02).factor("a.md") == 3.0, "no surer than by none"


def test_a_source_with_few_rows_is_as_unsure_as_sources_are() -> None:
    """A document with many rows has its own factor; it tells others no more than a small one."""
    sure, rough = [1.0] * 300, [5.0] * 10
    sources = ("large.md",) * 300 + ("small.md",) * 10
    known = _scores(*sure, *rough, sources=sources)
    assert known.factor("large.md") == pytest.approx(1.0)
    assert known.factor("small.md") == pytest.approx(5.0)
    assert known.factor("new.md") == pytest.approx(5.0)
    few = _scores(*sure, *rough, 1.0, 1.0, sources=(*sources, "few.md", "few.md"))
    assert few.factor("few.md") == pytest.approx(5.0), "two good ones are no proof"
    weights = known.weights("new.md")
    assert weights[:300].sum() == pytest.approx(weights[300:].sum())


def test_intervals_cover_what_they_say() -> None:
    known = candidates(published("00[24]*.md"), Query()).eligible("pace")
    predictor = trained(known.kept, known.left_out)
    found = scores(predictor.pace, ExtrapolationKind.SETTING)
    for source in set(found.sources):
        own = [one for one, of in zip(found.ratios, found.sources, strict=True) if of == source]
        assert 0.88 <= np.mean(np.array(own) <= found.factor(source)) <= 0.99
