"""Constraints of a plan: which combinations they drop, and why."""

from __future__ import annotations

import time

import pytest

from bench.launch.cases import Constraint, unmet
from bench.schema.errors import BenchError


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dp % 4 = ", "constraint 2 of the plan"),
        ("cores > 1", "unknown column 'cores'"),
        ("model", "not a condition"),
    ],
)
def test_a_wrong_constraint_is_told_with_its_number(text: str, told: str) -> None:
    constraints = [Constraint(1, "dp > 0"), Constraint(2, text)]
    with pytest.raises(BenchError) as caught:
        unmet(constraints, [{"dp": 1, "model": "nano"}])
    assert told in str(caught.value) and "constraint 2" in str(caught.value)


def test_a_secret_that_no_constraint_allows_is_not_told() -> None:
    [why] = unmet([Constraint(1, "api_key = 'x'")], [{"api_key": "topsecretvalue99"}]).values()
    assert "topsecret" not in why and "api_key [redacted]" in why


def test_what_is_not_known_holds_no_constraint() -> None:
    why = unmet([Constraint(1, "vpp = 1 or dp = 2")], [{"dp": 1, "vpp": None}, {"dp": 2, "vpp": 3}])
    assert why == {0: "vpp = 1 or dp = 2 is false (dp 1; unknown: vpp)"}


def test_many_combinations_are_soon_constrained() -> None:
    """A statement for each took half a minute."""
    taken = {}
    for number in (2_500, 10_000):
        rows = [{f"a{n}": place + n for n in range(20)} | {"kind": "x"} for place in range(number)]
        begun = time.process_time()
        why = unmet([Constraint(1, "a0 % 2 = 0 and kind = 'x'")], rows)
        taken[number] = time.process_time() - begun
        assert len(why) == number // 2
        assert why[1].startswith("a0 % 2 = 0 and kind = 'x' is false (a0 1")
    assert taken[10_000] < 8 * taken[2_500], "linear is 4"


def test_values_of_several_kinds_are_compared_as_text() -> None:
    rows = [{"v": value} for value in (True, 2, 2.5, "2", None)]
    assert sorted(unmet([Constraint(1, "v = '2'")], rows)) == [0, 2, 4]
    assert sorted(unmet([Constraint(1, "v = 'true'")], rows)) == [1, 2, 3, 4]
