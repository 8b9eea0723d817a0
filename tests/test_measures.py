"""What speed is measured by where no times are printed, and what such a measure cannot tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deciding import answer, lines
from tests.program import quick

HEAD = (
    "| GPUs | Size | DP | TP | PP | MBS | GBS | Recompute | Sec/it | TFLOPs |\n"
    + "| --: " * 10
    + "|\n"
)


def sweep(folder: Path, *rows: str, above: str = "A100 80GB, SEQ_LEN=2048") -> str:
    path = folder / "sweep.md"
    path.write_text(f"# Sweep\n\n{above}\n\n{HEAD}" + "".join(f"| {row} |\n" for row in rows))
    return str(path)


def test_a_flag_measured_in_tflops_alone(data: Path, folder: Path) -> None:
    table = str(data / "tables" / "002_chronicles-prequel.md")
    rows = answer(folder, "compare", table, "--by", "async_launch")
    told = [row for row in rows if not row["left_out"]]
    assert [row["measure"] for row in told[:3]] == ["tflops"] * 3
    expected = [97.20 / 91.04, 84.44 / 84.59, 90.25 / 90.29]
    assert [row["speedup"] for row in told[:3]] == pytest.approx(expected)
    assert told[3]["verdict"] == "fails: hang"
    said = quick(folder, "compare", table, "--by", "async_launch").out
    assert "No times are printed" in said
    at = told[0]["where"].rsplit(":", 1)[1]
    tree = quick(folder, "explain", f"002:{at}.speedup", table, "--by", "async_launch").out
    assert "1 / (tflops x devices)" in tree and "'97.20'" in tree


def test_tflops_tell_no_speed_across_what_they_count(folder: Path) -> None:
    """A pass that is computed again counts, and so does a larger model."""
    path = sweep(
        folder,
        "64 | 13B | 8 | 8 | 1 | 1 | 512 | full | | 150",
        "64 | 13B | 8 | 8 | 1 | 1 | 512 | none | | 130",
    )
    done = quick(folder, "compare", path, "--by", "recompute")
    assert done.code == 5 and "nothing to compare" in done.text
    assert quick(folder, "compare", "recompute = 'full'", "recompute = 'none'", path).code == 5


def test_step_times_alone_tell_no_speed_across_batches(folder: Path) -> None:
    path = sweep(
        folder,
        "64 | 13B | 8 | 8 | 1 | 1 | 512 | full | 10.0 | ",
        "64 | 13B | 8 | 8 | 1 | 1 | 1024 | full | 19.0 | ",
        above="A100 80GB",
    )
    assert quick(folder, "compare", path, "--by", "gbs").code == 5
    rows = answer(folder, "compare", path, "--by", "gbs", "--set", "seq_len=2048")
    assert [row["speedup"] for row in rows] == pytest.approx([20 / 19])


def test_a_time_is_not_set_against_tflops(folder: Path) -> None:
    path = sweep(
        folder,
        "64 | 13B | 8 | 8 | 1 | 1 | 512 | full | 10.0 | 150",
        "64 | 13B | 8 | 8 | 1 | 2 | 512 | full | | 160",
    )
    assert quick(folder, "compare", path, "--by", "mbs").code == 5


def test_scaling_of_printed_tflops(folder: Path) -> None:
    path = sweep(
        folder,
        "64 | 13B | 8 | 8 | 1 | 1 | 512 | full | | 150",
        "128 | 13B | 16 | 8 | 1 | 1 | 512 | full | | 141",
        "256 | 13B | 32 | 8 | 1 | 1 | 512 | full | | 120",
    )
    rows = answer(folder, "report", "scaling", path)
    assert lines(rows) == [7, 8, 9]
    assert [row["efficiency"] for row in rows] == pytest.approx([1, 0.94, 0.8])
    assert "by printed TFLOPs" in quick(folder, "report", "scaling", path).out
    tree = quick(folder, "explain", "sweep:9.efficiency", path).out
    assert "tflops x devices" in tree


def test_kernels_launched_one_by_one_are_another_configuration(data: Path, folder: Path) -> None:
    table = str(data / "tables" / "002_chronicles-prequel.md")
    rows = [row for row in answer(folder, "report", "scaling", table) if not row["left_out"]]
    groups: dict[str, set[int]] = {}
    for row in rows:
        if row["settings"]:
            groups.setdefault(row["settings"], set()).add(row["group"])
    assert groups.keys() == {"async_launch=False", "async_launch=True"}
    assert not groups["async_launch=False"] & groups["async_launch=True"]
    assert {row["jobs"] for row in rows} == {1}
