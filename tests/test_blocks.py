"""The lines of a block against what Python's own text methods say of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.logs import blocks
from bench.ingest.logs.blocks import Lines, line_ends
from bench.ingest.logs.masks import mask_digits

LETTERS = "ab09:/|. \u00e9\u0663\U0001d7d8\x2f\x3a\x7f"
LINES = st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=40)
ALIKE = st.builds(
    lambda line, count, odd: [odd] * (count % 2) + [line] * count + [odd],
    st.text("a1|", min_size=1, max_size=8), st.integers(1, 60), st.text("a1|", max_size=9),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a block ends within its lines."""
    monkeypatch.setattr(blocks, "CACHED", 16)


@given(LINES | ALIKE)
def test_line_ends_are_where_lines_end(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    ends = line_ends(np.frombuffer(data, np.uint8))
    assert ends.tolist() == [at for at, letter in enumerate(data) if letter == ord("\n")]


@given(LINES | ALIKE)
def test_lines_and_their_masks(lines: list[str]) -> None:
    block = Lines("\n".join(lines).encode())
    assert len(block) == len(lines) and [block[at] for at in range(len(block))] == lines
    starts = block.starts(np.arange(len(lines))).tolist()
    assert starts == [len("\n".join([*lines[:at], ""]).encode()) for at in range(len(lines))]
    masks, which = block.masks()
    assert [masks[at] for at in which.tolist()] == [mask_digits(line) for line in lines]


def test_no_utf_8_is_no_block() -> None:
    with pytest.raises(UnicodeDecodeError):
        Lines(b"a\n\xff")
