"""What a document says of other runs, quotes, or draws otherwise is no fact of a table's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ingest.documents.context import devices_named, phrases_in
from bench.ingest.documents.context import sizes_in as sizes_in_text
from bench.ingest.documents.device_counts import counted
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of
from bench.vocabulary.parallelism import sizes_in
from tests.documents import Run, check, read

TABLE = "| GPUs | TFLOPs |\n|---|---|\n| 64 | 150 |\n"
NOTHING = {"mbs": None, "gbs": None, "device": None, "seq_len": None, "devices_per_node": None}
OTHER = "- MBS: 7\n- GBS: 2040\n- Sequence length: 16384\n- 68 nodes of 8x H200\n"


def one_row(text: str, folder: Path) -> Run:
    [run] = read(text, folder)[0]
    return run


@pytest.mark.parametrize(
    "text",
    [
        "> We train with MBS 7 and GBS 2040 on H200 at sequence length 16384.\n\n",
        "## Another model: 70B\n\n" + OTHER + "\n## Results\n\n",
        "## Experiment B\n\n" + OTHER + "\n## Results\n\n",
        "## Overview\n\n### The 70B model\n\n" + OTHER + "\n### Results\n\n",
    ],
)
def test_others_are_no_setting(text: str, tmp_path: Path) -> None:
    check(one_row(f"# Training\n\n{text}{TABLE}", tmp_path), devices=64, **NOTHING)
    assert one_row(f"# Training\n\n{TABLE}\n{text}", tmp_path)["gbs"] is None


def test_a_note_in_the_form_of_a_quotation_is_the_authors(tmp_path: Path) -> None:
    for note in ("> **Note:** ", "> [!NOTE]\n> "):
        run = one_row(f"# Training\n\n{note}All runs use MBS 2.\n\n{TABLE}", tmp_path)
        assert run["mbs"] == 2


def test_a_section_of_one_model_is_of_its_tables(tmp_path: Path) -> None:
    text = f"# Training\n\n## 70B\n\nWe used MBS 7 on H200.\n\n{TABLE}\n## 7B\n\n{TABLE}"
    [large, small] = read(text, tmp_path)[0]
    check(large, mbs=7, device="H200")
    check(small, mbs=None, device=None)


def test_a_caption_behind_a_captioned_table_is_of_the_next(tmp_path: Path) -> None:
    first = f"**Table 1** 8B model. MBS 2. Full activation checkpointing.\n\n{TABLE}\n"
    second = "**Table 2** 70B model. MBS 4. Selective activation checkpointing.\n\n"
    [run] = read(f"# Training\n\n{first}{second}## Discussion\n\n", tmp_path)[0]
    check(run, mbs=2, recompute="full")
    [_, run] = read(f"# Training\n\n{first}{second}### Details\n\n{TABLE}", tmp_path)[0]
    assert run["mbs"] != 2 and run["recompute"] != "full" and run["model"] != "8B"


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("Each host has 8 NVIDIA H100 GPUs.", []),
        ("One node with 8 H100 GPUs", []),
        ("two slices, 2x v5p-128", []),
        ("on 128 A100 GPUs as well as 96 H100 GPUs", ["128", "96"]),
        ("with 8 H100 GPUs", ["8"]),
    ],
)
def test_counts_of_devices(text: str, devices: list[str]) -> None:
    assert [one.value for one in counted(text, 1) if one.field == "devices"] == devices


def test_a_count_is_of_the_device_that_it_names(tmp_path: Path) -> None:
    table = (
        "| Model | GPU | Tokens/s/GPU |\n|---|---|---|\n| 7B | A100 | 90 |\n| 7B | H100 | 99 |\n"
    )
    text = f"# Training\n\nWe ran on 128 A100 GPUs as well as 96 H100 GPUs.\n\n{table}"
    assert [run["devices"] for run in read(text, tmp_path)[0]] == [128, 96]


@pytest.mark.parametrize(
    ("column", "nodes"),
    [(("4", "8", "16"), None), (("1", "2", "3"), 20), (("a", "b", "c"), 20)],
)
def test_whole_numbers_under_an_unknown_heading_may_be_any_setting(
    column: tuple[str, ...], nodes: int | None, tmp_path: Path
) -> None:
    rows = "".join(f"| {cell} | 150 |\n" for cell in column)
    text = f"# Training\n\n20 nodes, MBS=4\n\n| Zorp | TFLOPs |\n|---|---|\n{rows}"
    runs = read(text, tmp_path)[0]
    assert [run["nodes"] for run in runs] == [nodes] * 3
    assert [run["mbs"] for run in runs] == [4 if nodes else None] * 3


HTML = "<table>\n{}\n</table>\n"
ROWS = [("Parallelism", "Seq len", "TFLOPs"), ("FSDP 8, CP 1", "32768", "39"),
        ("FSDP 1, CP 8", "65536", "54")]  # fmt: skip


def html() -> str:
    rows = ("<tr>\n{}\n</tr>".format("\n".join(f"<td>{one}</td>" for one in row)) for row in ROWS)
    return HTML.format("\n".join(rows))


def rst() -> str:
    edge = "+--------------+---------+--------+\n"
    rows = (f"| {row[0]:<12} | {row[1]:<7} | {row[2]:<6} |\n{edge}" for row in ROWS)
    return edge + "".join(rows)


@pytest.mark.parametrize("table", [html(), rst()], ids=["html", "rst"])
def test_nothing_of_a_drawn_table_is_text(table: str, tmp_path: Path) -> None:
    text = f"# Training\n\nWe train with MBS 2.\n\n{table}\nFurther runs:\n\n{TABLE}"
    *drawn, run = read(text, tmp_path)[0]
    assert [(one["cp"], one["seq_len"]) for one in drawn] == [(1, 32768), (8, 65536)]
    assert {one["mbs"] for one in drawn} == {2}
    check(run, cp=None, seq_len=None)


def test_cells_of_html_have_their_own_lines(tmp_path: Path) -> None:
    [first, second] = read(f"# Training\n\n{html()}", tmp_path)[0]
    assert (first["line"], second["line"]) == (9, 14)


def test_names_and_values_with_tabs_between_are_settings(tmp_path: Path) -> None:
    pairs = "Parameter\tValue\nMBS\t2\nGPU\tA800\n"
    check(one_row(f"# Training\n\n{pairs}\n{TABLE}", tmp_path), mbs=2, device="A800")


def test_parts_of_trainers_on_top_are_no_frameworks(tmp_path: Path) -> None:
    table = "| Techniques | FSDP | FSDP + compile |\n|---|---|---|\n| TPS/GPU | 5762 | 6667 |\n"
    runs = read(f"# torchtitan performance\n\nTraining on 8 GPUs.\n\n{table}", tmp_path)[0]
    assert [run["framework"] for run in runs] == ["torchtitan"] * 2


MODES = "| Mode | TFLOPs | GPUs |\n|---|---|---|\n| Eager | 150 | 8 |\n| Compiled | 170 | 8 |\n"


@pytest.mark.parametrize(
    ("text", "eager", "compiled"),
    [
        ("Eager uses MBS 1.", 1, None),
        ("MBS 1 for eager.", 1, None),
        ("We use MBS 4.", 4, 4),
        ("Training uses MBS 4.", 4, 4),
        ("We use MBS 4. Eager uses MBS 1.", 1, 4),
        ("We use MBS 4; eager uses MBS 1.", 1, 4),
        ("The baseline uses MBS 1.", None, None),
        ("Storage of a micro-batch: 8 MB", None, None),
        ("The micro-batch size of 8 ms steps", None, None),
    ],
)
@pytest.mark.parametrize("between", ["", "## Results\n\n"])
def test_a_sentence_of_one_subject_is_of_its_rows(
    text: str, eager: int | None, compiled: int | None, between: str, tmp_path: Path
) -> None:
    runs = read(f"# Training\n\n{text}\n\n{between}{MODES}", tmp_path)[0]
    assert [run["mbs"] for run in runs] == [eager, compiled]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("PP4TP8VPP2", {"pp": 4, "tp": 8, "vpp": 2}),
        ("TP8PP4EP8", {"tp": 8, "pp": 4, "ep": 8}),
        ("tp8-pp2-dp4", {"tp": 8, "pp": 2, "dp": 4}),
        ("DP=4,TP=2", {"dp": 4, "tp": 2}),
        ("TP-8 PP-2", {"tp": 8, "pp": 2}),
        ("DP-1", {}),
        ("Sharded PS DP-2", {}),
        ("ZeRO-3", {"zero_stage": 3}),
    ],
)
def test_sizes_in_one_word(text: str, sizes: dict[str, int], tmp_path: Path) -> None:
    assert sizes_in(text) == sizes
    said = phrases_in(f"We train with {text} on 64 GPUs", 1, "line")
    assert {one.field: int(one.value or 0) for one in said} == sizes


def test_names_of_variants_on_top_are_no_sizes(tmp_path: Path) -> None:
    table = "| Metric | DP-1 | Sharded PS DP-2 |\n|---|---|---|\n| tokens/s | 10 | 20 |\n"
    runs = read(f"# Training\n\n{table}| GPUs | 8 | 16 |\n", tmp_path)[0]
    assert [(run["devices"], run["dp"]) for run in runs] == [(8, None), (16, None)]


def test_a_server_of_accelerators_is_a_device() -> None:
    for name in ("Atlas 800T A3", "Atlas 900 A3 SuperPoD", "Atlas 800T A2"):
        assert [one.value for one in devices_named(f"trained on {name}", 1)] != []
        assert not list(sizes_in_text(f"trained on {name}"))


def test_what_a_caption_says_in_passing_is_of_its_table(tmp_path: Path) -> None:
    first = f"**Table 1** FSDP + Float8. 8B model. Full zorply checkpointing.\n\n{TABLE}\n"
    second = f"**Table 2** FSDP. 70B model. Selective checkpointing.\n\n{TABLE}"
    [one, other] = read(f"# Training\n\n{first}{second}", tmp_path)[0]
    assert (one["dtype"], other["dtype"]) == ("fp8", None)


def test_a_stage_with_its_name_in_the_cell() -> None:
    cell = parse_cell("ZeRO-3", column_of("ZeRO"))
    assert (cell.kind, cell.value) == ("number", 3)
    assert parse_cell("N-1", column_of("Nodes")).kind == "symbolic"
