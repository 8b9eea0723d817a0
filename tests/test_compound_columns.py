"""Columns whose heading lists several settings: `DP/TP/PP` over `2/4/1`; what is near them."""

from pathlib import Path
from typing import Any

import pytest

from bench.ingest.documents.compound_columns import with_settings_apart
from bench.ingest.documents.grid import Table, TableRow
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory


def read(folder: Path, text: str, query: str) -> list[tuple[Any, ...]]:
    """The answer to a query over a document."""
    (folder / "a.md").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder], folder)
        return warehouse.rows(query)


def apart(heading: str, *cells: str, others: str = "Model") -> list[tuple[str, ...]]:
    rows = tuple(TableRow(3 + n, ("7B", cell)) for n, cell in enumerate(cells))
    table = Table(TableRow(1, (others, heading)), 2, ("none", "none"), rows)
    found = with_settings_apart(table)
    return [found.header.cells[1:], *(row.cells[1:] for row in found.rows)]


@pytest.mark.parametrize(
    ("heading", "cell", "expected"),
    [
        ("DP/TP/PP", "2/4/1", [("DP", "TP", "PP"), ("2", "4", "1")]),
        ("TP x PP", "8x4", [("TP", "PP"), ("8", "4")]),
        ("TP × PP × DP", "8 × 4 × 2", [("TP", "PP", "DP"), ("8", "4", "2")]),
        ("[TP, PP]", "[2, n/a]", [("TP", "PP"), ("2", "")]),
        ("**TP/PP**", "**2**/4", [("TP", "PP"), ("2", "4")]),
        ("MBS / GBS", "1 / 2,048", [("MBS", "GBS"), ("1", "2,048")]),
        ("Parallelism (TP/CP)", "(4, 2)", [("TP", "CP"), ("4", "2")]),
        ("Training [TP,CP,EP]", "[1,1,16]",
         [("TP (training)", "CP (training)", "EP (training)"), ("1", "1", "16")]),
        ("Layers / Hidden / Heads", "32/4096/32",
         [("Layers", "Hidden", "Heads"), ("32", "4096", "32")]),
    ],
)  # fmt: skip
def test_each_setting_gets_a_column(
    heading: str, cell: str, expected: list[tuple[str, ...]]
) -> None:
    assert apart(heading, cell) == expected


@pytest.mark.parametrize(
    ("heading", "cell", "others"),
    [
        ("Generation [TP,PP]", "[2,4]", "Model"),  # not of training
        ("GPUs/node", "8/4", "Model"),  # one quantity
        ("TP/PP", "2/4", "TP"),  # has a column of its own
        ("TP/speed-up", "2/4", "Model"), ("TP/PP", "2.5/4", "Model"), ("TP/PP", "2/4/8", "Model"),
        ("TP/PP", "8", "Model"), ("TP/TP", "2/4", "Model"), ("TP/PP", "-", "Model"),
    ],
)  # fmt: skip
def test_anything_else_stays_one_column(heading: str, cell: str, others: str) -> None:
    assert apart(heading, cell, others=others) == [(heading,), (cell,)]


def test_a_cell_that_holds_another_number_of_them_states_none() -> None:
    found = apart("TP/PP", "2/4", "4/2", "1/1/2", "OOM")
    assert found[1:] == [("2", "4", ""), ("4", "2", ""), ("", "", "1/1/2"), ("", "", "OOM")]


def test_runs_have_the_settings(tmp_path: Path) -> None:
    text = (
        "| Model | GPUs | DP/TP/PP | step | tokens/s/GPU |\n|--|--|--|--|--|\n"
        "| 7B | 8 | 2/4/1 | 2.5 s | 1000 |\n| 7B | 8 | 4/-/1 | 2.2 s | 1100 |\n"
    )
    found = read(
        tmp_path, f"# Training\n\n{text}", "SELECT dp, tp, pp FROM topology ORDER BY run_id"
    )
    assert sorted(found, key=str) == [(2, 4, 1), (4, None, 1)]


def test_cells_that_name_sizes_make_a_table_one_of_runs(tmp_path: Path) -> None:
    text = "| model | setting | tps per gpu |\n|--|--|--|\n| 7b | cp8-ep4-gas1 | 973.6 |\n"
    assert read(tmp_path, text, "SELECT cp, ep, grad_accum FROM topology") == [(8, 4, 1)]
    assert read(tmp_path, text.replace("cp8-ep4-gas1", "run-8"), "SELECT cp FROM topology") == []


@pytest.mark.parametrize(
    ("heading", "cell", "seconds"),
    [("step", "22.3s", 22.3), ("iter ms", "1893", 1.893), ("Iter", "**950 ms**", 0.95)],
)
def test_a_step_over_times(tmp_path: Path, heading: str, cell: str, seconds: float) -> None:
    text = f"# Training\n\n| Model | GPUs | {heading} |\n|--|--|--|\n| 7B | 8 | {cell} |\n"
    found = read(tmp_path, text, "SELECT value FROM measurements WHERE metric = 'step_time_s'")
    assert found == [(pytest.approx(seconds),)]


def test_a_step_over_numbers_is_none(tmp_path: Path) -> None:
    text = "# Training\n\n| Model | GPUs | step | TFLOPs |\n|--|--|--|--|\n| 7B | 8 | 20 | 150 |\n"
    assert read(tmp_path, text, "SELECT 1 FROM measurements WHERE metric = 'step_time_s'") == []


def test_a_footnote_is_of_the_place_that_it_is_marked_at(tmp_path: Path) -> None:
    text = (
        "# Training on 8 H100 GPUs\n\nThe workstation[^1] is cheap.\n\n"
        "[^1]: It costs less than a single A6000.\n\n"
        "| Model | GPUs | TFLOPs |\n|--|--|--|\n| 7B | 8 | 150 |\n"
    )
    assert read(tmp_path, text, "SELECT device FROM configurations") == [("H100",)]


@pytest.mark.parametrize(("length", "tokens"), [("512", 524288), ("1024", 1048576), ("2048", 2048)])
def test_a_length_below_a_unit(tmp_path: Path, length: str, tokens: int) -> None:
    head = "# Training\n\n| Model | GPUs | Seq len (K) | TFLOPs |\n|--|--|--|--|\n"
    text = f"{head}| 7B | 8 | {length} | 150 |\n"
    assert read(tmp_path, text, "SELECT seq_len FROM configurations") == [(tokens,)]


def test_a_cell_that_is_no_list_stays_as_it_is_printed() -> None:
    found = apart("DP/TP/PP", "8/1/1", "4/2/1 (SP)", "2/2/-", "OOM", "n/a")
    assert found == [
        ("DP", "TP", "PP", "DP/TP/PP"),
        ("8", "1", "1", ""),
        ("", "", "", "4/2/1 (SP)"),
        ("2", "2", "", ""),
        ("", "", "", "OOM"),
        ("", "", "", ""),
    ]
