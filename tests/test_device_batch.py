"""Tables of TPU trainers state a batch for one device: it tells tokens a second like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deciding import answer, lines
from tests.program import quick

HEAD = "| Model | Chips | Per-device batch | seq len | Step time (s) | TFLOP/s/chip | MFU |"
ROWS = (
    "8B | 128 | 4 | 8192 | 5.02 | 258.3 | 56.3%",
    "8B | 256 | 4 | 8192 | 5.10 | 254.2 | 55.4%",
    "8B | 256 | 2 | 8192 | 2.61 | 248.4 | 54.1%",
    "8B | 512 | 0.5 | 8192 | 0.90 | 180.1 | 39.2%",
)


@pytest.fixture
def sweep(folder: Path) -> str:
    body = "".join(f"| {row} |\n" for row in ROWS)
    (folder / "v5p.md").write_text(f"# v5p\n\n{HEAD}\n|{'---|' * 7}\n{body}")
    return "v5p.md"


def test_ranked_by_batch_a_device_times_devices(sweep: str, folder: Path) -> None:
    found = answer(folder, "best", sweep)
    assert lines(found) == [8, 6, 7, 5]
    rates = {row["where"]: row["tokens_per_s"] for row in found}
    assert rates["v5p.md:5"] == pytest.approx(4 * 128 * 8192 / 5.02)
    assert rates["v5p.md:8"] == pytest.approx(0.5 * 512 * 8192 / 0.90)
    assert {row["where"]: row["tflops"] for row in found}["v5p.md:5"] == 258.3


def test_days_and_comparisons_take_it(sweep: str, folder: Path) -> None:
    found = answer(folder, "days", sweep, "--tokens", "1T")
    assert not any(row["left_out"] for row in found) and found[0]["device_batch"] == 0.5
    pair = next(
        row
        for row in answer(folder, "compare", sweep, "--by", "device_batch")
        if not row["also_differs"] and not row["left_out"]
    )
    assert (pair["base"], pair["level"]) == ("2", "4")
    assert pair["speedup"] == pytest.approx(4 / 5.10 / (2 / 2.61))


def test_one_batch_a_device_is_weak_scaling(sweep: str, folder: Path) -> None:
    said = quick(folder, "report", "scaling", sweep).out
    assert (
        "weak-scaling efficiency on" in said and ": 8B on " in said and "batch 4 per device" in said
    )


def test_the_batch_is_explained(sweep: str, folder: Path) -> None:
    told = quick(folder, "explain", "v5p:5.tokens_per_s", sweep).out
    assert "gbs = 512 sequences" in told and "[under 'Per-device batch']" in told


def test_an_accumulation_that_is_stated_counts(folder: Path) -> None:
    head = "| Size | TPUs | Batch per chip | GA | Seq len | Step time | \n|---|---|---|---|---|---|"
    (folder / "a.md").write_text(f"# a\n\n{head}\n| 1B | 8 | 2 | 4 | 1024 | 2.0s |\n")
    assert answer(folder, "best", "a.md")[0]["tokens_per_s"] == 2 * 8 * 4 * 1024 / 2.0


@pytest.mark.parametrize(
    ("name", "chips"),
    [("v5p-128", 64), ("v4-512", 256), ("v5e-256", 256), ("v6e-256", 256), ("TPU v5p-8", 4)],
)
def test_the_name_of_a_slice_tells_its_chips(folder: Path, name: str, chips: int) -> None:
    head = "| No. of params | Accelerator type | TFLOP/chip/sec | MFU |\n|---|---|---|---|"
    (folder / "a.md").write_text(f"# MaxText\n\n{head}\n| 32B | {name} | 328 | 67.76% |\n")
    [row] = answer(folder, "best", "a.md", "--by", "tflops")
    assert (row["devices"], row["device"]) == (chips, name)


@pytest.mark.parametrize(
    ("name", "chips"),
    [("1x v5p-128", 64), ("2x v5p-128", 128), ("2 x v5e-256", 512), ("32x v5e-256", 8192)],
)
def test_slices_are_so_many_times_the_chips_of_one(folder: Path, name: str, chips: int) -> None:
    (folder / "a.md").write_text(_of_machines("Hardware", (name, "60.1%")))
    [row] = answer(folder, "best", "a.md", "--by", "mfu")
    assert (row["devices"], row["device"]) == (chips, name)


@pytest.mark.parametrize(
    ("heading", "machines"),
    [
        ("Hardware", ("1x v5p-128", "2x v5p-128", "4x v5p-128")),
        ("Hardware", ("1x v5p-512", "2x v5p-256", "4x v5p-128")),  # 256 chips each
        ("Hardware", ("10,000+ H100", "6,000+ H100", "1,000+ H100")),
        ("GPUs", ("64-128", "256-512", "16 to 32")),
    ],
)
def test_other_machines_are_no_repeats(
    folder: Path, heading: str, machines: tuple[str, ...]
) -> None:
    shares = ("71.47%", "69.43%", "60.10%")
    (folder / "a.md").write_text(_of_machines(heading, *zip(machines, shares, strict=True)))
    found = answer(folder, "best", "a.md", "--by", "mfu")
    assert [(row["mfu"], row["jobs"]) for row in found] == [(0.7147, 1), (0.6943, 1), (0.601, 1)]
    said = quick(folder, "best", "a.md", "--by", "mfu").out
    assert "71.5% as printed" in said and "median of" not in said


def test_a_median_of_jobs_is_printed_nowhere(folder: Path) -> None:
    rows = (("v5p-128", "70.00%"), ("v5p-128", "71.00%"), ("v5p-128", "74.00%"))
    (folder / "a.md").write_text(_of_machines("Hardware", *rows))
    said = quick(folder, "best", "a.md", "--by", "mfu").out
    assert "71.0%, median of 3 jobs" in said and "as printed" not in said


def _of_machines(heading: str, *rows: tuple[str, str]) -> str:
    body = "".join(f"| 32B | {machine} | {share} |\n" for machine, share in rows)
    return f"# Training of 32B on H100\n\n| Model | {heading} | MFU |\n|---|---|---|\n{body}"
