"""Tables in the notation of most of Europe: a comma before decimals, dots between thousands."""

from __future__ import annotations

import pytest

from bench.ingest.documents.tables import read_markdown

ABOVE = "# Training a 7B model\n\n"
HEAD = "# Training a 7B model\n\n| GPUs | TP | Loss | Tokens/s | Peak memory |\n|--|--|--|--|--|\n"


def measured(*rows: str, head: str = HEAD) -> list[tuple[str, float]]:
    found = read_markdown(head + "\n".join(rows) + "\n", "page")[0].by_table
    return sorted((str(one["metric"]), float(str(one["value"]))) for one in found["measurements"])


@pytest.mark.parametrize(
    ("rates", "values"),
    [
        (("91.705", "72.445"), [72445.0, 91705.0]),
        (("1.091.705", "872.445"), [872445.0, 1091705.0]),
        (("917,5", "724,25"), [724.25, 917.5]),
        (("3,58 M", "490,5 k"), [490500.0, 3580000.0]),
    ],
)
def test_a_table_of_commas(rates: tuple[str, str], values: list[float]) -> None:
    rows = [f"| 8 | 2 | 35,26 | {rate} | 7,89 GiB |" for rate in rates]
    assert measured(*rows) == [
        *(("memory", 7.89) for _ in rows),
        *(("tokens_per_s", value) for value in values),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        # both notations in one table
        ["| 8 | 2 | 35,26 | 91.7 | 7,89 GiB |", "| 8 | 4 | 35,26 | 72.4 | 7,89 GiB |"],
        ["| 8 | 2 | 35,26 | 1,091,705 | - |", "| 8 | 4 | 35,26 | 1,072,445 | - |"],
    ],
)
def test_a_table_of_both_is_read_as_before(rows: list[str]) -> None:
    values = [value for metric, value in measured(*rows) if metric == "tokens_per_s"]
    assert values == sorted(float(row.split("|")[4].replace(",", "")) for row in rows)


def test_a_comma_that_may_part_thousands_is_not_read() -> None:
    rows = ["| 8 | 2 | 35,26 | 91,705 | 7,89 GiB |", "| 8 | 4 | 35,31 | 72,445 | 7,89 GiB |"]
    assert measured(*rows) == [("memory", 7.89), ("memory", 7.89)]


def test_lists_of_devices_are_no_decimals() -> None:
    head = "# Training a 7B model\n\n| GPU ids | TP | Tokens/s |\n|--|--|--|\n"
    rows = ["| 0,1 | 2 | 91,705 |", "| 2,3 | 1 | 72,445 |"]
    assert measured(*rows, head=head) == [("tokens_per_s", 72445.0), ("tokens_per_s", 91705.0)]


def warned(head: str, *rows: str) -> list[str]:
    found = read_markdown(f"{ABOVE}{head}\n" + "\n".join(rows) + "\n", "page")[0].by_table
    return [str(one["message"]) for one in found["warnings"] if one["code"] == "decimal_comma"]


@pytest.mark.parametrize(
    ("head", "rows", "values"),
    [
        (
            "| Mesh | GPUs | Step time (s) |\n|--|--|--|",
            ["| 8,16 | 128 | 12.345 |", "| 4,32 | 128 | 13.456 |"],
            [("step_time_s", 12.345), ("step_time_s", 13.456)],
        ),
        (
            "| GPU ids | TP | Tokens/s |\n|--|--|--|",
            ["| 10,11 | 2 | 12,345 |", "| 12,13 | 2 | 13,456 |"],
            [("tokens_per_s", 12345.0), ("tokens_per_s", 13456.0)],
        ),
    ],
)
def test_pairs_of_sizes_and_ids_are_no_decimals(
    head: str, rows: list[str], values: list[tuple[str, float]]
) -> None:
    assert measured(*rows, head=f"{ABOVE}{head}\n") == values
    assert warned(head, *rows) == []


@pytest.mark.parametrize(
    ("heading", "cells", "shown"),
    [
        ("Step time (s)", ("12.345", "13.456"), "12.345"),
        ("Step time", ("12.345 s", "13.456 s"), "12.345"),
        ("Tokens/s", ("12,345", "13,456"), "12,345"),
        ("Tokens/s", ("12.345 k", "13.456 k"), "12.345"),
        ("TFLOPS/GPU", ("141.705", "142.445"), "141.705"),
    ],
)
def test_what_may_be_thousands_or_decimals_is_told(
    heading: str, cells: tuple[str, str], shown: str
) -> None:
    head = f"| GPUs | TP | Peak memory | {heading} |\n|--|--|--|--|"
    rows = [f"| 8 | 2 | 7,89 GiB | {cell} |" for cell in cells]
    assert measured(*rows, head=f"{ABOVE}{head}\n") == [("memory", 7.89)] * 2
    assert warned(head, *rows) == [
        f"{shown!r} under {heading!r} has thousands or decimals, in a table with decimal commas:"
        " not read"
    ]


def test_a_column_with_decimals_of_its_own_is_read() -> None:
    head = "| GPUs | TP | Peak memory | Step time (s) |\n|--|--|--|--|\n"
    rows = ["| 8 | 2 | 7,89 GiB | 12.345,5 |", "| 8 | 4 | 7,89 GiB | 13.456 |"]
    assert [value for _, value in measured(*rows, head=ABOVE + head)][2:] == [12345.5, 13456.0]


def test_a_size_does_not_begin_behind_a_comma() -> None:
    above = "# Training\n\nParameters: 3,89 million (1,79 M before)\n\n"
    text = f"{above}| GPUs | TP | Tokens/s |\n|--|--|--|\n| 8 | 2 | 91705 |\n"
    [run] = read_markdown(text, "page")[0].by_table["runs"]
    assert run["model"] is None
