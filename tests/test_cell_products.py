"""What stands around the number of a cell: how it came about, and what is said of it."""

from __future__ import annotations

import pytest

from tests.cells import read


@pytest.mark.parametrize(
    ("heading", "text", "value"),
    [
        ("tokens/s/GPU", "17.23 * 2048 / 8 = 4410 tokens/s", 4410.0),
        ("tokens/s/GPU", "17.23 * 2048 / 8 = 9999 tokens/s", None),
        ("Throughput", "17.23 * 2048 / 8 = 4410 tokens/s", None),  # of the job, or of a device?
        ("Throughput", "17.23 * 2048 = 35287 tokens/s", 35287.0),
        ("tokens/s/GPU", "8 / 0 = 4 tokens/s", None),
        ("tokens/s/GPU", "324 — settled band, noisy", 324.0),
        ("tokens/s/GPU", "324 — 395", None),
    ],
)
def test_how_a_number_came_about_and_what_it_is(
    heading: str, text: str, value: float | None
) -> None:
    cell = read(heading, text)
    assert (cell.value if cell.kind == "number" else None) == value
    assert cell.rebuilt() == text
