"""The names of the numbers of a line, worked out once for all lines of its shape."""

from __future__ import annotations

import pytest

from bench.ingest.logs import number_shapes
from bench.ingest.logs.number_names import numbers_on
from bench.ingest.logs.number_shapes import shape_of

LINES = (
    "step 7/500 | loss: 2.31 | lr: 1e-05 | dt: 512.3ms | tok/s: 1,234,567 | 1.2K tok | mfu: 41%",
    "step 4711/500 | loss: 12.3101 | lr: 1.25e-4 | dt: 5.3ms | tok/s: 12,345 | 10K tok | mfu: 4.5%",
    "[2026-01-02 03:04:05] iter 12 loss -0.5 grad nan eta 1:02:03 [17:16<36:13:38, 46.38s/it]",
    "gpt2 layer_3 rank7: {'loss': .5, 'n_tokens': 12, 'epoch': 0.123} +5 -12 3. 3e5 inf",
)


@pytest.mark.parametrize("line", LINES)
def test_a_shape_names_the_numbers_of_its_lines_as_each_line_does(line: str) -> None:
    shape, found = shape_of(line)
    own = [
        (found[n.place].start(), found[n.place].end() + more, n.column, n.type, n.shift, n.name)
        for n, more in zip(shape.numbers, shape.suffixes, strict=True)
    ]
    assert own == [
        (n.start, n.end, n.column, n.type, n.shift, n.name) for n in numbers_on(line)
    ]  # fmt: skip


def test_shapes_of_many_numbers_are_kept_in_few() -> None:
    """A log may have a new shape in each line, of a thousand numbers."""
    most = 0
    for n in range(400):
        shape, _ = shape_of(chr(945 + n) + "x: 1 " * 1000)
        assert len(shape.numbers) == number_shapes.MOST_NUMBERS
        most = max(most, len(number_shapes._shapes))
    assert most * number_shapes.MOST_NUMBERS < 70_000


def test_lines_of_other_numbers_have_one_shape() -> None:
    first, second = (shape_of(f"step {n} loss {n / 7} tok/s {n:,}")[0] for n in (1234, 98765))
    assert first is second
