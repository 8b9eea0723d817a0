"""Cells of any text: nothing raises, and what is printed comes back."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import Column, column_of
from tests.cells import COLUMNS, read


@given(st.text(max_size=80), st.sampled_from(COLUMNS))
@example("\\", None)
@example("1" * 400, column_of("Nodes"))
@example("9e999", column_of("Nodes"))
@example("1e400", column_of("Size"))
@example("9" * 400 + "B", column_of("Size"))
@example("9e999", column_of("Freq"))
@example("١٢", column_of("Nodes"))
@example("²", column_of("TFLOPs"))
@example("٣B", column_of("Size"))
def test_no_text_raises_and_none_is_altered(text: str, column: Column | None) -> None:
    cell = parse_cell(text, column)
    assert cell.raw == text
    assert cell.rebuilt() in (text, None)
    json.dumps(cell.pieces)


WORDS = st.sampled_from(
    [
        "1", "06", "1,024", "2.50", "-", "OOM", "^", "†", "MiB", "GB", "s", "ms", "(", ")", "2.2Hz",
        "LD_PRELOAD=a.so", '"', ",", "1.3B", "1B3", "~", "**", "`", "%", "/", "*4", "GPUs", "02-15",
        "21103755", "<br>", "\\|", "x", "?", " ", "実行", "1e5",
    ]
)  # fmt: skip


@given(st.lists(WORDS, max_size=8).map("".join), st.sampled_from(COLUMNS))
def test_nor_does_what_looks_like_a_cell(text: str, column: Column | None) -> None:
    cell = parse_cell(text, column)
    assert cell.rebuilt() in (text, None)
    assert cell.invalid is None or cell.kind == "misfit"


@given(
    st.decimals(min_value=0, max_value=10**9, places=3, allow_nan=False),
    st.integers(0, 3),
    st.sampled_from(["", "MiB", " MiB", "GB", " GiB"]),
    st.sampled_from(["", "^", "^/^^", "†", "*"]),
    st.booleans(),
)
def test_any_number_with_unit_and_mark_comes_back(
    number: object, places: int, unit: str, mark: str, grouped: bool
) -> None:
    text = f"{number:{',' if grouped else ''}.{places}f}{unit}{mark}"
    cell = read("Mem", text)
    assert (cell.kind, cell.rebuilt()) == ("number", text)


HOSTILE = ("*", "^", "†", "-", "x", "(", "[^1]", "*/", "1,", "1-", "a*", "~~", " ", "8 GPUs")


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_cell_takes_linear_time(unit: str) -> None:
    """What grows with the square of the length takes 16 times as long for 4 times the length."""
    for column in (*COLUMNS, column_of("Size")):
        for start, end in (("", "!"), ("12", "1"), ("12 ", "\0")):
            timed = [[used(start, unit, end, n, column) for n in (5000, 20_000)] for _ in range(2)]
            assert any(long < 9 * short + 0.01 for short, long in timed)


def used(start: str, unit: str, end: str, count: int, column: Column | None) -> float:
    """Processor seconds for a cell of so many characters."""
    text = start + unit * (count // len(unit)) + end
    begun = time.process_time()
    parse_cell.__wrapped__(text, column)
    return time.process_time() - begun
