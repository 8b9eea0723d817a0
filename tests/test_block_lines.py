"""The lines of a block against what Python's own text methods say of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest import block_lines
from bench.ingest.block_lines import Lines, line_ends
from bench.ingest.digits import outline

LETTERS = "ab09:/|. \u00e9\u0663\U0001d7d8\x2f\x3a\x7f"
LINES = st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=40)
ALIKE = st.builds(
    lambda line, count, odd: [odd] * (count % 2) + [line] * count + [odd],
    st.text("a1|", min_size=1, max_size=8), st.integers(1, 60), st.text("a1|", max_size=9),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a block ends within its lines."""
    monkeypatch.setattr(block_lines, "CACHED", 16)


@given(LINES | ALIKE)
def test_line_ends_are_where_lines_end(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    ends = line_ends(np.frombuffer(data, np.uint8))
    assert ends.tolist() == [at for at, letter in enumerate(data) if letter == ord("\n")]


@given(LINES | ALIKE, st.data())
def test_lines_at_some_places(lines: list[str], data: st.DataObject) -> None:
    block = Lines("\n".join(lines).encode())
    marks = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    places = np.flatnonzero(np.array(marks, bool))
    wanted = [line for line, mark in zip(lines, marks, strict=True) if mark]
    assert len(block) == len(lines) and [block[at] for at in range(len(block))] == lines
    assert block.texts(places) == wanted
    assert [str(line).removesuffix("\n") for line in block.gather(places)] == wanted
    assert block.count("|", places).tolist() == [line.count("|") for line in wanted]
    distinct, which = block.outlines(places)
    assert [distinct[at] for at in which.tolist()] == [outline(line) for line in wanted]


def test_no_utf_8_is_no_block() -> None:
    with pytest.raises(UnicodeDecodeError):
        Lines(b"a\n\xff")
