"""Tables with several runs a row, or their headings in the first row or column."""

from pathlib import Path

import pytest

from bench.ingest.documents.crosstab import with_axis_named
from bench.ingest.documents.document import read_document
from bench.ingest.documents.grid import Table, TableRow
from bench.ingest.documents.markdown import split_row
from bench.ingest.documents.orientation import oriented
from bench.ingest.documents.wide_tables import settings_of, unfolded
from tests.cells import read
from tests.program import quick


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
        (["GPUs | 7B MFU", "8 | 41%"], [("GPUs", "Size", "MFU"), ("8", "7B", "41%")]),
        (
            ["GPUs | MFU | 7B MFU", "8 | 40% | 41%"],
            [("GPUs", "MFU", "7B MFU"), ("8", "40%", "41%")],
        ),
        (
            ["TP | 1-Node (tok/s/GPU) | Measured 8-Node (tok/s/GPU)", "2 | 410 | 390"],
            [("TP", "Nodes", "(tok/s/GPU)"), ("2", "1", "410"), ("2", "8", "390")],
        ),
        (
            [
                "GPUs | Paddle Setup | Paddle Tokens/s | Torch Setup | Torch Tokens/s",
                "4 | MP 4 | 2873 | ZeRO 3 | 1634",
                "4 | MP 4 | 2213 | | N/A",
            ],
            [
                ("GPUs", "Paddle Setup", "Torch Setup", "Framework", "Tokens/s"),
                ("4", "MP 4", "", "Paddle", "2873"),
                ("4", "", "ZeRO 3", "Torch", "1634"),
                ("4", "MP 4", "", "Paddle", "2213"),
            ],
        ),
        (
            ["GPUs | 1B Training Time(minutes) | Tokens/s", "8 | 8.4 | 1984k"],
            [("GPUs", "1B Training Time(minutes)", "Tokens/s"), ("8", "8.4", "1984k")],
        ),
        (
            ["PP | DP=1 | DP=2 | Scaling (%)", "1 | 63.8 | 51.2 | 80.3"],
            [
                ("PP", "Scaling (%)", "DP", "Result"),
                ("1", "80.3", "1", "63.8"),
                ("1", "80.3", "2", "51.2"),
            ],
        ),
    ],
)
def test_one_run_a_row(lines: list[str], expected: list[tuple[str, ...]]) -> None:
    assert cells(unfolded(table(*lines))) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["|  |  |", "| GPUs | MFU |", "| 8 | 41% |"], [("GPUs", "MFU"), ("8", "41%")]),
        (
            ["Metric | 7B | 13B", "MFU | 41% | 44%", "Tokens/s/GPU | 410 | 220"],
            [("Model", "MFU", "Tokens/s/GPU"), ("7B", "41%", "410"), ("13B", "44%", "220")],
        ),
        (
            [
                "| | Device | 6B-8K | 6B-32K",
                "Tokens/s/GPU | NPU | 42 | 25",
                "Tokens/s/GPU | A100 | 43 | 29",
            ],
            [
                ("Model", "Device", "Tokens/s/GPU"),
                ("6B-8K", "NPU", "42"),
                ("6B-32K", "NPU", "25"),
                ("6B-8K", "A100", "43"),
                ("6B-32K", "A100", "29"),
            ],
        ),
        (
            ["Metric | baseline 8x H100 (MBS=2) | fused 8x H100 (MBS=2)", "MFU | 41% | 44%"],
            [
                ("GPU", "GPUs", "MBS", "Configuration", "MFU"),
                ("H100", "8", "2", "baseline", "41%"),
                ("H100", "8", "2", "fused", "44%"),
            ],
        ),
        (["Metric | Target", "MFU | 45%"], [("Metric", "Target"), ("MFU", "45%")]),
        (["Metric | Run | Change", "MFU | 45% | 2%"], [("Metric", "MFU"), ("Run", "45%")]),
    ],
)
def test_headings_that_stand_elsewhere(lines: list[str], expected: list[tuple[str, ...]]) -> None:
    assert cells(oriented(table(*lines))) == expected


def test_what_stands_on_top_of_a_turned_table_may_say_inference() -> None:
    text = "# Model\n\n| Metric | Context Encoding | Token Generation |\n|---|---|---|\n"
    rows = "| MFU (%) | 0.27 | 0.10 |\n| HFU (%) | 0.31 | 0.13 |\n"
    assert [found.number for found in read_document(text + rows).tables] == [None]


@pytest.mark.parametrize("text", ["8 : 16", "32/32", "176 and 24"])
def test_two_values_are_neither(text: str) -> None:
    cell = read("MBS", text)
    assert (cell.kind, cell.value, cell.invalid, cell.rebuilt()) == ("pair", None, None, text)


@pytest.mark.parametrize(
    ("corner", "numbers", "headings"),
    [
        ("model \\ num_node * num_gpus", ("1*8", "4*8"), ("1 nodes 8 GPUs", "4 nodes 32 GPUs")),
        ("Model \\ GPUs", ("8", "16"), ("8 GPUs", "16 GPUs")),
        ("Model / Seq len", ("2048", "4096"), ("seqlen=2048", "seqlen=4096")),
        ("MBS \\ TP", ("1", "2"), ("tp=1", "tp=2")),
        ("BS / GPU", ("8", "16"), None),
        ("Model \\ GPUs", ("8", "H100"), None),
    ],
)
def test_a_corner_that_names_both_sides(
    corner: str, numbers: tuple[str, ...], headings: tuple[str, ...] | None
) -> None:
    head = TableRow(1, (corner, *numbers))
    named = with_axis_named(Table(head, 2, (), ()))
    assert named.header.cells[1:] == (headings or numbers)


CORNER = [
    "| Llama 3.1 70b BF16 (TP=4, PP=4, CP=2, MBS=1, GA=64) | Throughput on 64x H100 GPUs (GBS=128)"
    " | Throughput on 128x H100 GPUs (GBS=256) |",
    "|---|:---:|:---:|",
    "| Training step time (seconds per step) | 14.72 | 14.73 |",
    "| Throughput in tokens per second | 71235 | 142373 |",
    "| Model flops utilization | 54.10% | 54.06% |",
]


def test_headings_of_several_settings_above_runs_in_columns() -> None:
    found = oriented(table(*(CORNER[at][2:-2] for at in (0, 2, 3, 4))))
    assert found.header.cells[:3] == ("GBS", "GPU", "GPUs")
    assert [row.cells[:4] for row in found.rows] == [
        ("128", "H100", "64", "14.72"),
        ("256", "H100", "128", "14.73"),
    ]


def test_the_corner_states_settings_of_all_columns_and_of_its_table_alone() -> None:
    other = "\n".join(CORNER).replace("BF16", "FP8").replace("GA=64", "GA=32")
    text = (
        "# Training\n\nThe FLOPs for GBS=1 is 3.94e15.\n\n" + "\n".join(CORNER) + f"\n\n{other}\n"
    )
    first, second = read_document(text).tables
    for one, dtype, accumulation in ((first, "bf16", "64"), (second, "fp8", "32")):
        said = {fact.field: fact.value for fact in one.near}
        assert (said["dtype"], said["tp"], said["pp"], said["cp"]) == (dtype, "4", "4", "2")
        assert (said["mbs"], said["grad_accum"]) == ("1", accumulation)
        assert "gbs" not in {fact.field for fact in one.facts}


def test_a_header_may_begin_with_a_count() -> None:
    one = "| {} | 128x H100 GPUs | 256x H100 GPUs |\n|---|---|---|\n| Step time (s) | 8.3 | 8.4 |\n"
    first, second = read_document(f"{one.format('BF16')}\n{one.format('FP8')}").tables
    assert (first.table.last_line, second.table.last_line) == (3, 7)


@pytest.mark.parametrize(
    ("heading", "settings"),
    [
        ("Meta-Llama-3-8B (2048)", {"Size": "Meta-Llama-3-8B", "Seq len": "2048"}),
        ("llama-2-7b-chat", {"Size": "llama-2-7b-chat"}),
        ("Qwen2.5-7B-Instruct", {"Size": "Qwen2.5-7B-Instruct"}),
        ("128x H100 GPUs (GBS=256)", {"GBS": "256", "GPU": "H100", "GPUs": "128"}),
        ("8xA100, TP 2", {"GPU": "A100", "GPUs": "8", "TP": "2"}),
        ("H100 micro-batch 4", {"GPU": "H100", "micro-batch": "4"}),
        ("H100, global batch size=64", {"GPU": "H100", "global batch size": "64"}),
        ("tokens/s/GPU bs 4", {}),  # of a step or of each device
        ("H100 batch 4", {"GPU": "H100"}),
        ("Llama-3-8B (v2)", {"Size": "Llama-3-8B"}),
        ("Llama-3-8B (1000)", {"Size": "Llama-3-8B"}),  # no power of two: steps, or a batch
        ("Llama-3-8B vs Llama-3-70B", {}),
    ],
)
def test_settings_in_a_heading(heading: str, settings: dict[str, str]) -> None:
    assert dict(settings_of(heading)[0]) == settings


def test_a_line_of_several_runs_shows_all_and_explains_one(folder: Path) -> None:
    (folder / "wide.md").write_text(
        "# 7B on A100\n\n| GPUs | 8 | 16 | 1024 |\n|---|---|---|---|\n"
        "| Tokens/s/GPU | 4078 | 3939 | 3625 |\n| TFLOPs | 193 | 191 | 184 |\n"
    )
    every = quick(folder, "show", "wide.md:5", "wide.md")
    assert every.code == 0 and "devices 8 " in every.out and "devices 1024 " in every.out
    assert "4078" in every.out and "3625" in every.out
    wrong = quick(folder, "explain", "wide.md:5.days", "wide.md")
    assert wrong.code == 2 and "wide.md:5 has 3 runs" in wrong.err, wrong.err
    first = wrong.err.partition("use the id of one, such as ")[2].split()[0]
    assert f"{first} (devices 8)" in wrong.err and "(devices 1024)" in wrong.err
    shown = quick(folder, "show", first, "wide.md").out
    assert "4078" in shown and "3625" not in shown
    assert quick(folder, "best", "wide.md").err.rstrip().endswith(" wide.md")
