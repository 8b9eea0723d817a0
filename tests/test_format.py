"""Numbers as text: the right digits, never a zero that is none, never a surprise."""

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.vocabulary.format import FILTERS, counted, days_range, difference, range_text, within

CASES = [
    ("days", (96.4,), "96.4"),
    ("days", (879.94,), "879.9"),
    ("days", (2.094,), "2.09"),
    ("days", (10613,), "29 years"),
    ("days", (0.0123,), "0.0123"),
    ("days", (-4.2,), "-4.20"),
    ("days", (999.96,), "2.7 years"),
    ("days", (0,), "0"),
    ("days_words", (96.4,), "96.4 days"),
    ("days_words", (10613,), "29 years"),
    ("number", (2533.0,), "2,533"),
    ("number", (162.5,), "162.5"),
    ("number", (1234.5, 1), "1,234.5"),
    ("number", (42, 0), "42"),
    ("number", (10**17 + 1,), "100,000,000,000,000,001"),
    ("number", (0.00034, 2), "3e-4"),
    ("number", (-0.001, 1), "-0.001"),
    ("number", (-0.0, 2), "0.00"),
    ("number", (1e-5,), "1e-5"),
    ("number", (1e20,), "1e20"),
    ("number", (Decimal("0.5"),), "0.5"),
    ("significant", (5699, 3), "5,700"),
    ("significant", (0.413, 2), "0.41"),
    ("significant", (999.96, 3), "1,000"),
    ("significant", (0.00042, 2), "4.2e-4"),
    ("scientific", (0.0035,), "3.5e-3"),
    ("scientific", (9850, 3), "9.85e3"),
    ("scientific", (-1.314e9, 4), "-1.314e9"),
    ("as_printed", (2533.0, 1), "2533.0"),
    ("as_printed", (0.0034, 4), "0.0034"),
    ("as_printed", (0.00001, 4), "1e-5"),
    ("tokens", (379.6e9,), "379.6B"),
    ("tokens", (1048576,), "1.05M"),
    ("tokens", (300e9,), "300B"),
    ("tokens", (999_999,), "1.00M"),
    ("tokens", (512,), "512"),
    ("params", (1.314e9,), "1.314B"),
    ("params", (124.4e6,), "124.4M"),
    ("params", (175e9,), "175B"),
    ("percent", (0.97,), "97%"),
    ("percent", (0.128, 1), "12.8%"),
    ("percent", (0.0004,), "0.04%"),
    ("seconds", (23,), "23.0"),
    ("seconds", (162.5,), "162.5"),
    ("seconds", (0.00123,), "0.00123"),
    ("seconds", (2e-6,), "2.00e-6"),
]


@pytest.mark.parametrize(("name", "given_", "text"), CASES)
def test_each_unit(name: str, given_: tuple[float, ...], text: str) -> None:
    assert FILTERS[name](*given_) == text


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "range_text"])
def test_missing_and_odd_numbers(name: str) -> None:
    assert FILTERS[name](None) == ""
    assert FILTERS[name](math.nan) == "nan"
    assert FILTERS[name](math.inf) == "inf"
    assert FILTERS[name](-math.inf) == "-inf"


@pytest.mark.parametrize("name", [name for name in FILTERS if name != "range_text"])
@given(x=st.floats(-1e300, 1e300).filter(bool))
def test_no_small_number_reads_as_zero(name: str, x: float) -> None:
    text = FILTERS[name](x)
    assert re.search("[1-9]", text)
    assert text.startswith("-") == (x < 0)


@given(x=st.floats(1e-3, 1e12), digits=st.integers(2, 6))
def test_significant_digits_are_right(x: float, digits: int) -> None:
    text = FILTERS["significant"](x, digits).replace(",", "")
    assert float(text) == pytest.approx(x, rel=0.51 * 10 ** (1 - digits))


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (94.3, 98.5, "days", "94.3-98.5"),
        (98.5, 94.3, "days", "94.3-98.5"),
        (94.31, 94.33, "days", "94.3"),
        (9000, 10700, "days", "25-29 years"),
        (900, 1100, "days", "2.5-3.0 years"),
        (0.97, 1.1, "percent", "97-110%"),
        (-2, 3, "number", "-2 to 3"),
        (0.00034, 0.00036, "seconds", "3.40e-4 to 3.60e-4"),
        (999e6, 1.1e9, "tokens", "999M to 1.1B"),
        (1.05e6, 1.2e6, "tokens", "1.05-1.2M"),
        (None, 3, "number", "≤ 3"),
        (3, None, "number", "≥ 3"),
        (None, None, "days", ""),
        (math.nan, 1, "days", ""),
        (94.3, math.inf, "number", "94.3 to inf"),
    ],
)
def test_ranges(low: float | None, high: float | None, unit: str, text: str) -> None:
    assert range_text(low, high, unit) == text
    assert range_text(low, high, FILTERS[unit]) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (96.43, 94.3, 98.5, "96"),
        (680.83, 680.6, 681.1, "680.8"),
        (43574, 43400, 43700, "43,600"),
        (2.5, 2.5, 2.6, "2.5"),
        (5, 5, 5, "5"),
        (1.2345, None, None, "1.23"),
        (0.3, -5, 5, "0.3"),
        (0.000123, 0.000122, 0.000124, "0.000123"),
    ],
)
def test_digits_follow_the_range(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert within(value, low, high) == text


@given(value=st.floats(0.01, 1e9), share=st.floats(1e-5, 0.5))
def test_the_last_digit_is_no_coarser_than_the_range(value: float, share: float) -> None:
    gap = value * share
    text = within(value, value - gap, value + gap).replace(",", "")
    assert abs(float(text) - value) <= gap * 0.55


def test_a_noun_follows_its_number() -> None:
    assert [counted(n, "run") for n in (0, 1, 2533)] == ["0 runs", "1 run", "2,533 runs"]
    assert [counted(n, "process", "processes") for n in (1, 2)] == ["1 process", "2 processes"]


def test_a_range_of_days_has_the_unit_of_its_value() -> None:
    assert days_range(0.226, 3150.0, 26.7) == "0.2-3,150 days"
    assert days_range(94.3, 98.5, 96.4) == "94.3-98.5"
    assert days_range(4.0e3, 9e3, 5e3) == "11-25 years"


def test_a_large_difference_is_a_factor() -> None:
    assert [difference(share) for share in (0.073, 1.488, 117.1)] == [
        "7.3%", "a factor of 2.49", "a factor of 118",
    ]  # fmt: skip
