"""What may be ranked together: one side of a boundary, and models of about one size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deciding import HEAD, RULE, answer, lines, table
from tests.program import quick

BEFORE = (
    "4 | 13B | 8 | 4 | 1 | 2 | 512 | 40GB | 40.00 | | 02-21",
    "8 | 13B | 16 | 4 | 1 | 2 | 512 | 40GB | 19.00 | | 02-21",
)
AFTER = (
    "8 | 13B | 16 | 4 | 1 | 2 | 512 | 40GB | 19.90 | | 02-25",
    "16 | 13B | 32 | 4 | 1 | 2 | 512 | 40GB | 9.70 | | 02-25",
)
CHANGED = "Note: the network was improved today: do not compare today's numbers to yesterday's."


def sweep(folder: Path) -> None:
    """Two days with a boundary between them; line 8 to 9, and 15 to 16."""
    path = table(folder / "a.md", BEFORE)
    later = "".join(f"| {row} |\n" for row in AFTER)
    path.write_text(f"{path.read_text()}\n{CHANGED}\n\n{HEAD}\n{RULE}\n{later}")


def test_only_what_stands_behind_the_last_boundary_is_ranked(folder: Path) -> None:
    sweep(folder)
    for command in ("best", "days"):
        found = answer(folder, command, "a.md")
        assert [row["step_time_s"] for row in found] == [9.70, 19.90, 40.00, 19.00]
        assert [row["left_out"] for row in found[2:]] == ["other regime (before l.11)"] * 2
        said = quick(folder, command, "a.md").out
        assert "ranked are only runs of a since l.11; 2 others are excluded" in said
        earlier = answer(folder, command, "a.md", "--where", "epoch = 'before l.11'")
        assert [row["step_time_s"] for row in earlier] == [19.00, 40.00]


def test_days_are_compared_across_the_boundary_that_parts_them(folder: Path) -> None:
    sweep(folder)
    for column in ("date", "regime", "epoch"):
        found = answer(folder, "compare", "a.md", "--by", column)
        [pair] = [row for row in found if not row["left_out"]]
        assert pair["nodes"] == 8 and pair["also_differs"] is None
        assert pair["speedup"] < 1


def test_models_of_other_sizes_have_fronts_and_boundaries_of_their_own(folder: Path) -> None:
    rows = (
        "4 | 13B | 8 | 4 | 1 | 2 | 512 | 40GB | 40.00 | | ",
        "8 | 13B | 16 | 4 | 1 | 2 | 512 | 40GB | 21.00 | | ",
        "4 | 1.3B | 32 | 1 | 1 | 2 | 512 | 40GB | 4.00 | | ",
        "8 | 1.3B | 64 | 1 | 1 | 2 | 512 | 40GB | 2.10 | | ",
    )
    table(folder / "a.md", rows)
    found = answer(folder, "best", "a.md")
    assert all(row["pareto"] for row in found) and len(lines(found)) == 4
    said = quick(folder, "best", "a.md").out
    assert "Devices against speed for 13B" in said and "Devices against speed for 1.3B" in said


def test_sizes_are_in_order(folder: Path) -> None:
    rows = (
        "4 | 13B | 8 | 4 | 1 | 2 | 512 | 40GB | 40.00 | | ",
        "4 | 7B | 8 | 4 | 1 | 2 | 512 | 40GB | 22.00 | | ",
    )
    table(folder / "a.md", rows)
    [pair] = answer(folder, "compare", "a.md", "--by", "size")
    assert (pair["base"], pair["level"]) == ("7B", "13B")


def test_a_ramp_up_chooses_among_the_runs_that_can(folder: Path) -> None:
    """The side of a boundary is taken of the runs whose batch ramps up so."""
    sweep(folder)
    found = answer(folder, "days", "a.md", "--ramp-up", "16,16,1000", "--where", "nodes < 9")
    assert [row["step_time_s"] for row in found if not row["left_out"]] == [40.00]


LLAMA = """# Llama

H100. Sequence length 4096.

| Nodes | Model | TP | GBS | Total tokens/s |
| --: | --- | --: | --: | --: |
| 1 | 7B | 1 | 128 | 25600 |
| 8 | 7B | 1 | 128 | 181000 |
"""


def test_devices_that_nothing_states_are_said_to_be_assumed(folder: Path) -> None:
    (folder / "a.md").write_text(LLAMA)
    for command in ("best", "days"):
        assert "assuming 1 process per node" in quick(folder, command, "a.md").out
        stated = quick(folder, command, "a.md", "--set", "procs_per_node=8").out
        assert "process per node" not in stated and "8 (64)" in stated


def test_a_split_that_does_not_fit_on_one_process_a_node_refutes_it(folder: Path) -> None:
    """TP 4 on one node: then the row of TP 1 has more devices than nodes, too."""
    (folder / "a.md").write_text(LLAMA + "| 1 | 7B | 4 | 128 | 24000 |\n")
    said = quick(folder, "best", "a.md").out
    assert "assuming 1 process per node" not in said
    assert "TP x PP does not fit on 1 process per node" in said
    assert {row["device_hours"] for row in answer(folder, "best", "a.md")} == {None}
    stated = answer(folder, "best", "a.md", "--set", "procs_per_node=8")
    assert sorted(row["devices"] or row["world_size"] for row in stated) == [8, 8, 64]


def test_a_token_costs_rows_of_one_model_the_same(folder: Path) -> None:
    """Rounded TFLOPs of one model are no shapes of their own."""
    rows = (
        "4 | 7B | 32 | 1 | 1 | 2 | 512 | 40GB | 10.00 | 43.0 | ",
        "8 | 7B | 64 | 1 | 1 | 2 | 512 | 40GB | 5.20 | 41.0 | ",
        "4 | 8B | 32 | 1 | 1 | 2 | 512 | 40GB | 11.00 | 44.0 | ",
    )
    table(folder / "a.md", rows)
    found = {row["step_time_s"]: row for row in answer(folder, "best", "a.md")}
    fast, slow = found[5.20], found[10.00]
    ratio = fast["tokens_per_s"] / slow["tokens_per_s"]
    assert fast["tokens_per_s_normalised"] / slow["tokens_per_s_normalised"] == pytest.approx(ratio)
    assert fast["tokens_per_s_normalised"] == pytest.approx(fast["tokens_per_s"])


def _models(folder: Path, heading: str, first: str, second: str) -> None:
    head = f"| {heading} | nodes | world_size | seq_len | mbs | gbs | tp | tok/s/gpu |"
    row = "| {} | {} | {} | 4096 | 2 | 128 | 1 | {} |"
    rows = [row.format(first, n, 8 * n, 35000 - 1000 * n) for n in (1, 2)]
    rows += [row.format(second, n, 8 * n, 5300 - 100 * n) for n in (1, 2)]
    (folder / "a.md").write_text("\n".join(["# H100 80GB", "", head, "|---" * 8 + "|", *rows, ""]))


@pytest.mark.parametrize("heading", ["Model", "name"])
def test_models_in_g_are_models_of_their_size(folder: Path, heading: str) -> None:
    _models(folder, heading, "1.34G", "8.86G")
    found = answer(folder, "best", "a.md")
    assert len(found) == 4
    said = quick(folder, "best", "a.md").out
    told = ("| Model |", "8.86B", "not comparable") if heading == "Model" else ("name=8.86G",)
    assert all(one in said for one in told), said


def test_models_of_unknown_size_are_no_rivals(folder: Path) -> None:
    _models(folder, "Model", "small", "large")
    found = answer(folder, "best", "a.md")
    assert sum(row["pareto"] for row in found) == 4
    said = quick(folder, "best", "a.md").out
    assert "These are different models (large, small), which are not comparable" in said
    assert "| Model |" in said and "for large (Pareto front)" in said
