"""A table that says what a configuration is, and one that measures it by name, are one."""

from pathlib import Path

import pytest

from bench.ingest.documents.grid import Table
from bench.ingest.documents.markdown import blocks
from bench.ingest.documents.named_configurations import Configurations
from tests.documents import check, read

CONFIGS = """\
## Configs

| Config | Model | GPUs | Nodes | Parallelism |
|---|---|--:|--:|---|
| `7b.toml` | 8.0B | 4 | 1 | FSDP=4 |
| `7b_tp4.toml` | 8.0B | 12 | 3 | TP=4, FSDP=3 |
"""
RESULTS = """\
## Results

| Config | MFU (%) | tok/s | Mem/GPU | Step Time |
|---|--:|--:|--:|--:|
| `7b.toml` | 53.7 | 38,858 | 81.0 GB | 13.49s |
| **7b_tp4.toml** | 30.9 | 67,045 | 30.4 GB | 5.86s |
"""


def tables(text: str) -> tuple[Configurations, list[Table]]:
    found = list(blocks(text))
    return Configurations(found), [block for block in found if isinstance(block, Table)]


@pytest.mark.parametrize("text", [f"{CONFIGS}\n{RESULTS}", f"{RESULTS}\n{CONFIGS}"])
def test_a_measured_row_has_the_settings_of_its_configuration(text: str, tmp_path: Path) -> None:
    first, second = read(f"# Training\n\n{text}", tmp_path)[0]
    check(first, size="8B", devices=4, nodes=1, step_time_s=13.49, tokens_per_s=38858)
    check(second, size="8B", devices=12, nodes=3, tp=4, step_time_s=5.86, tokens_per_s=67045)


def test_added_cells_keep_the_line_of_the_configuration() -> None:
    configurations, (described, measured) = tables(f"{CONFIGS}\n{RESULTS}")
    row = configurations.applied(measured).rows[1]
    assert (row.line, row.last_line) == (13, 13)
    assert [row.line_of(at) for at in (0, 5, 8)] == [13, 6, 6]
    assert configurations.are_in(described)
    assert not configurations.are_in(measured)


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ("**7b_tp4.toml**", "7b_tp8.toml"),  # one that is not described
        ("## Configs", "## Possible configs"),
        ("| `7b_tp4.toml` | 8.0B", "| `7b.toml` | 8.0B"),  # a name twice
        ("Config | Model | GPUs | Nodes | Parallelism", "Config | Model | GPUs | Nodes | tok/s"),
        ("Config | MFU (%) | tok/s | Mem/GPU | Step Time", "Config | A | B | C | D"),
    ],
)
def test_names_have_to_be_described_once_outside_of_plans(change: str, to: str) -> None:
    text = f"{CONFIGS}\n{RESULTS}"
    assert change in text
    configurations, found = tables(text.replace(change, to))
    assert [configurations.applied(table) for table in found] == found
    assert not any(configurations.are_in(table) for table in found)


def test_numbers_are_no_names() -> None:
    text = f"{CONFIGS}\n{RESULTS}".replace("`7b.toml`", "1").replace("`7b_tp4.toml`", "2")
    configurations, found = tables(text.replace("**7b_tp4.toml**", "2"))
    assert [configurations.applied(table) for table in found] == found


def test_the_own_cell_of_a_row_counts() -> None:
    text = f"{CONFIGS}\n{RESULTS}".replace("Mem/GPU |", "GPUs |").replace("81.0 GB", "8")
    configurations, (_, measured) = tables(text)
    found = configurations.applied(measured)
    assert found.header.cells[5:] == ("Model", "Nodes", "Parallelism")
    assert found.rows[0].cells[3] == "8"
