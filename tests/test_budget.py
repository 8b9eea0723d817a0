"""Whose plan a page's days are for."""

from __future__ import annotations

from typing import Any

import pytest

from bench.decide.budget import STEPS, TOKENS_PER_STEP, budget
from bench.schema.errors import BenchError

PLAN = STEPS * TOKENS_PER_STEP


def said(uri: str, tokens: float, **detail: str) -> dict[str, Any]:
    return {"uri": uri, "line": 3, "value": tokens, "unit": "tokens", "detail": detail}


def test_what_the_sources_agree_on() -> None:
    found = budget([said("a.md", 3e11), said("b.md", 3e11)], set(), None, None)
    assert (found.tokens, found.origin, found.uri, found.others) == (
        300 * 10**9,
        "stated",
        "a.md",
        (),
    )


def test_sources_that_do_not_agree_decide_nothing() -> None:
    found = budget([said("a.md", 1e12), said("b.md", 3e11)], set(), None, None)
    assert (found.tokens, found.origin) == (PLAN, "default")
    assert [(one.uri, one.tokens) for one in found.others] == [
        ("b.md", 3 * 10**11),
        ("a.md", 10**12),
    ]


def test_a_plan_of_another_size_is_none_of_this_model() -> None:
    plans = [said("a.md", 1e12, size="13B"), said("b.md", 3e11, size="1B3")]
    found = budget(plans, {1.3}, None, None)
    assert (found.tokens, found.uri) == (3 * 10**11, "b.md")
    assert budget(plans[:1], {1.3}, None, None).tokens == PLAN


def test_the_user_has_the_last_word() -> None:
    plans = [said("a.md", 1e12), said("b.md", 3e11)]
    assert budget(plans, set(), 5 * 10**9, None).tokens == 5 * 10**9
    asked = budget(plans, set(), None, 7)
    assert (asked.tokens, asked.steps, asked.tokens_per_step) == (None, 7, None)
    with pytest.raises(BenchError, match="two budgets"):
        budget(plans, set(), 5 * 10**9, 7)


def test_a_plan_of_nothing_is_none() -> None:
    nothing = {**said("a.md", 100), "unit": "steps", "detail": {"gbs": "0", "seq_len": "2048"}}
    for plan in (nothing, said("a.md", 0)):
        assert budget([plan], set(), 10**9, None).tokens_per_step == TOKENS_PER_STEP
        assert budget([plan], set(), None, None).origin == "default"
