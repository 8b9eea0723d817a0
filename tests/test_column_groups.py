"""Columns under a common heading: a group is a run of its own where its words are no setting."""

import pytest

from bench.ingest.documents.column_groups import one_run_a_row
from bench.ingest.documents.grid import Table
from bench.ingest.documents.markup_tables import drawn_table
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of

TWO = '<th colspan="2">{}</th>'


def html(above: str, below: str, *rows: str) -> Table:
    """A table of HTML: headings over headings, and rows with `|` between their cells."""
    lines = ["<table>", f"<tr>{above}</tr>", f"<tr>{below}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.split('|'))}</tr>" for row in rows]
    found = drawn_table([*lines, "</table>"], 0)
    assert found is not None
    return found


def heads(*names: str) -> str:
    return "".join(f"<th>{name}</th>" for name in names)


def cells(table: Table) -> list[tuple[str, ...]]:
    return [table.header.cells, *(row.cells for row in table.rows)]


def test_each_group_that_measures_the_same_is_a_run() -> None:
    above = f'<th rowspan="2">GPUs</th><th>Plain</th>{TWO.format("With-CP")}'
    table = html(above, heads("TFLOPS / GPU", "CP", "TFLOPS / GPU"), "8|768|1|770", "16||2|610")
    assert cells(one_run_a_row(table, "Result")) == [
        ("GPUs", "Variant", "TFLOPS / GPU", "CP"),
        ("8", "Plain", "768", ""),
        ("8", "With-CP", "770", "1"),
        ("16", "With-CP", "610", "2"),
    ]


def test_a_group_of_settings_is_of_all_groups_that_measure() -> None:
    above = '<th rowspan="2">Model</th>' + "".join(
        map(TWO.format, ("Parallelism", "Without-CP", "With-CP"))
    )
    below = heads("TP", "PP", "MBS", "TFLOPS", "MBS", "TFLOPS")
    table = html(above, below, "7B|2|4|1|400|2|500")
    assert cells(one_run_a_row(table, "Result")) == [
        ("Model", "TP", "PP", "Variant", "MBS", "TFLOPS"),
        ("7B", "2", "4", "Without-CP", "1", "400"),
        ("7B", "2", "4", "With-CP", "2", "500"),
    ]


@pytest.mark.parametrize(
    ("groups", "below"),
    [
        (("Memory", "Throughput"), ("peak", "reserved", "tokens/s", "samples/s")),
        (("Model", "Other"), ("MFU", "HFU", "Seq len", "Heads")),
    ],
    ids=["each a quantity of its own", "one group measures"],
)
def test_groups_of_other_things_stay_one_run(
    groups: tuple[str, str], below: tuple[str, ...]
) -> None:
    above = '<th rowspan="2">GPUs</th>' + "".join(map(TWO.format, groups))
    table = html(above, heads(*below), "8|1|2|3|4")
    assert one_run_a_row(table, "Result") is table


def test_a_group_that_is_a_setting_is_read_as_one() -> None:
    above = f'<th rowspan="2">GPUs</th>{TWO.format("BF16")}{TWO.format("FP8")}'
    table = html(above, heads("MFU", "TFLOPS", "MFU", "TFLOPS"), "8|41%|400|33%|650")
    assert cells(one_run_a_row(table, "Result"))[0] == ("GPUs", "Dtype", "MFU", "TFLOPS")


@pytest.mark.parametrize(
    ("heading", "raw", "value"),
    [
        ("SeqLen (K)", "4", 4096),
        ("Sequence length (k)", "128", 131_072),
        ("Context length (K)", "100", 100_000),
        ("Seq len (K)", "4K", 4096),
        ("Seq len (K)", "2048", 2048),
        ("Seq len", "4096", 4096),
    ],
)
def test_a_length_is_in_the_unit_of_its_heading(heading: str, raw: str, value: int) -> None:
    assert parse_cell(raw, column_of(heading)).value == value
