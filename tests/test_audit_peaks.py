"""What MFU and percentages of a peak are shares of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.audit.finding import Finding
from tests.auditing import found_in

RATES = (452.5, 447.0, 442.2, 434.3)


def peaks(
    folder: Path, peak: float, heading: str = "MFU", title: str = "# 7B, H100, bf16", odd: float = 0
) -> list[Finding]:
    rows = [
        f"| {8 * 2**place} | {rate} | {100 * rate / (odd if odd and place == 2 else peak):.1f}% |"
        for place, rate in enumerate(RATES)
    ]
    lines = [title, "", f"| GPUs | TFLOP/s/GPU | {heading} |", "|--|--|--|", *rows]
    (folder / "README.md").write_text("\n".join(lines) + "\n")
    return [one for one in found_in(folder) if one.rule == "R1h"]


def test_the_dense_peak_needs_no_word(tmp_path: Path) -> None:
    assert peaks(tmp_path, 989.4) == []
    assert peaks(tmp_path, 989.4 * 4 / 3) == [], "TFLOPs that count recompute, beside a model's MFU"


def test_the_sparse_peak_is_reported(tmp_path: Path) -> None:
    [told] = peaks(tmp_path, 1979)
    assert (told.severity, told.confidence) == ("warning", "high")
    assert "sparse peak" in told.message and "twice the dense peak of H100 in bf16" in told.evidence
    assert "45.8% instead of 22.9% on line 5" in told.suggestion


def test_a_row_over_another_peak_does_not_compare(tmp_path: Path) -> None:
    for title, peak, odd, said in (
        ("# 7B, H100, bf16", 989.4, 1978.8, "MFU doubled"),
        ("# 7B, H100, fp8", 1978.8, 989.4, "MFU halved"),
    ):
        peaks(tmp_path, peak, title=title, odd=odd)
        file = tmp_path / "README.md"
        lines = file.read_text().splitlines()
        file.write_text("\n".join(lines[:-1]) + "\n")  # of three rows no quotient has a majority
        [told] = [one for one in found_in(tmp_path) if one.severity == "error"]
        assert (told.rule, told.line) == ("R1h", 7) and told.suggestion.startswith(said)


def test_the_peak_of_another_device(tmp_path: Path) -> None:
    [told] = peaks(tmp_path, 756)
    assert told.severity == "warning" and "H100-PCIe in bf16" in told.evidence


@pytest.mark.parametrize(
    "heading", ["% of peak", "Peak %", "Percentage of theoretical peak FLOP/s", "Percent of peak"]
)
def test_a_percentage_of_the_peak_is_read_and_reported(tmp_path: Path, heading: str) -> None:
    [told] = peaks(tmp_path, 989.4, heading)
    assert told.severity == "note" and "the dense peak of H100 in bf16" in told.evidence
    [told] = peaks(tmp_path, 989.4, heading, "# 7B")
    assert told.severity == "note" and "H100 in bf16" in told.evidence, "the device is not stated"
    found = found_in_damaged(tmp_path)
    assert [(one.severity, one.line) for one in found if one.severity == "error"] == [("error", 6)]


def found_in_damaged(folder: Path) -> list[Finding]:
    file = folder / "README.md"
    file.write_text(file.read_text().replace("45.2%", "65.2%"))
    return found_in(folder)


def test_mfu_without_tflops(tmp_path: Path) -> None:
    rows = [f"| {n} | {rate} | {6 * 7e9 * rate / 1979e12:.1%} |"
            for n, rate in ((8, 10192), (16, 10067), (32, 9960))]  # fmt: skip
    text = ["# H100, bf16", "", "| Model | GPUs | Tokens/s/GPU | MFU |", "|--|--|--|--|"]
    (tmp_path / "README.md").write_text("\n".join([*text, *(f"| 7B {row}" for row in rows)]) + "\n")
    [told] = [one for one in found_in(tmp_path) if one.rule == "R1h"]
    assert told.severity == "note" and "sparse" in told.message
