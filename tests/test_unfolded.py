"""Tables with several runs a row, or their headings in the first row."""

import pytest

from bench.ingest.grid import Table, TableRow
from bench.ingest.markdown import split_row
from bench.ingest.unfolded import unfolded
from tests.cells import read


def table(*lines: str) -> Table:
    header, *rows = (TableRow(at, split_row(line)) for at, line in enumerate(lines, 1))
    return Table(header, None, ("none",) * len(header.cells), tuple(rows))


def cells(found: Table) -> list[tuple[str, ...]]:
    return [found.header.cells, *(row.cells for row in found.rows)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            [
                "GPUs | 16B TFLOP/s/GPU | 16B MFU | 32B TFLOP/s/GPU | 32B MFU",
                "8 | 120 | 61% | 132 | 66%",
            ],
            [
                ("GPUs", "Size", "TFLOP/s/GPU", "MFU"),
                ("8", "16B", "120", "61%"),
                ("8", "32B", "132", "66%"),
            ],
        ),
        (
            ["GPUs | MFU (BF16) | MFU (FP8)", "8 | 41% | 33%", "16 | 40% | "],
            [
                ("GPUs", "Dtype", "MFU"),
                ("8", "BF16", "41%"),
                ("8", "FP8", "33%"),
                ("16", "BF16", "40%"),
            ],
        ),
        (
            [
                "GPUs | Throughput - TF32(samples/s) | Throughput - mixed precision(samples/s)",
                "1 | 533 | 955",
            ],
            [
                ("GPUs", "Dtype", "Throughput (samples/s)"),
                ("1", "TF32", "533"),
                ("1", "mixed precision", "955"),
            ],
        ),
        (["GPUs | 7B MFU", "8 | 41%"], [("GPUs", "7B MFU"), ("8", "41%")]),
        (["|  |  |", "| GPUs | MFU |", "| 8 | 41% |"], [("GPUs", "MFU"), ("8", "41%")]),
    ],
)
def test_one_run_a_row(lines: list[str], expected: list[tuple[str, ...]]) -> None:
    assert cells(unfolded(table(*lines))) == expected


@pytest.mark.parametrize("text", ["8 : 16", "32/32", "176 and 24"])
def test_two_values_are_neither(text: str) -> None:
    cell = read("MBS", text)
    assert (cell.kind, cell.value, cell.invalid, cell.rebuilt()) == ("pair", None, None, text)
