"""TFLOPs, tokens per second and size, where each row is a model of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditing import audited

HEAD = (
    "| Model | #-GPUs | GBS | Sequence Length | EP | Tokens/sec/GPU | Model TFLOP/sec/GPU |\n"
    "|---|---|---|---|---|---|---|\n"
)
ROWS = (
    ("LLAMA3-8B", 8, 128, 8192, 1, 14064, 814),
    ("LLAMA3-70B", 64, 128, 8192, 1, 1633, 786),
    ("LLAMA3-405B", 576, 252, 8192, 1, 312, 827),
    ("Nemotron-340B", 128, 32, 4096, 1, 367, 811),
    ("Mixtral-8x7B", 64, 256, 4096, 8, 9977, 798),
)


@pytest.mark.parametrize(
    ("line", "tokens", "said"),
    [(4, 1633, []), (4, 16330, [("R1i", "warning", 4)]), (5, 3120, [("R1i", "warning", 5)]),
     (3, 1406, [("R1i", "warning", 3)]), (7, 99770, [])],
)  # fmt: skip
def test_a_row_of_a_model_of_its_own(
    tmp_path: Path, line: int, tokens: int, said: list[tuple[str, str, int]]
) -> None:
    rows = [
        (*row[:5], tokens, row[6]) if place == line else row for place, row in enumerate(ROWS, 3)
    ]
    text = "".join("| " + " | ".join(map(str, row)) + " |\n" for row in rows)
    (tmp_path / "x.md").write_text(HEAD + text)
    found = [(one["rule"], one["severity"], one["line"]) for one in audited(tmp_path / "x.md")]
    assert [one for one in found if one[1] != "note"] == said


SWEEP = ((8, 256, 10.2), (16, 512, 10.4), (32, 1024, 10.9), (64, 2048, 11.3), (128, 4096, 11.9))


@pytest.mark.parametrize(
    ("heading", "cell", "suggestion"),
    [
        ("K tokens/s", "{0:.1f}", "384.8"),
        ("Tokens/s (k)", "{0:.1f}", "384.8"),
        ("kTokens/sec", "{0:.1f}", "384.8"),
        ("Throughput (M tokens/s)", "{1:.4f}", "0.3848"),
        ("ktok/s/GPU", "{2:.3f}", "12.025"),
        ("Throughput", "{0:.1f} k tok/s", "384.8k"),
        ("Throughput", "{0:.1f}K tokens/s", "384.8K"),
        ("Tokens/s", "{1:.4f}M", "0.3848M"),
        ("K tokens/s", "{0:.1f}k", "384.8k"),
    ],
)
def test_thousands_and_millions_of_tokens(
    tmp_path: Path, heading: str, cell: str, suggestion: str
) -> None:
    head = f"| GPUs | Model | GBS | Seq | Step time (s) | {heading} |\n|--|--|--|--|--|--|\n"

    def page(wrong: int | None) -> Path:
        rows = []
        for gpus, batch, time in SWEEP:
            rate = batch * 4096 / time * (1.3 if gpus == wrong else 1)
            shown = cell.format(rate / 1e3, rate / 1e6, rate / 1e3 / gpus)
            rows.append(f"| {gpus} | 7B | {batch} | 4096 | {time} | {shown} |\n")
        (tmp_path / "x.md").write_text(head + "".join(rows))
        return tmp_path / "x.md"

    assert audited(page(None)) == []
    [one] = audited(page(32))
    assert (one["rule"], one["severity"], one["line"]) == ("R1d", "error", 5)
    assert one["suggestion"].endswith(f" {suggestion}") or f" {suggestion}," in one["suggestion"]


def test_a_column_that_is_written_in_a_way_of_its_own_is_no_error(tmp_path: Path) -> None:
    head = "| GPUs | GBS | Step time (s) | TFLOPs |\n|--|--|--|--|\n"
    rows = [f"| {gpus} | 512 | {time} | {time} bananas/s |\n" for gpus, _, time in SWEEP]
    (tmp_path / "x.md").write_text(head + "".join(rows))
    [one] = audited(tmp_path / "x.md")
    assert (one["rule"], one["severity"], len(one["cells"])) == ("R9", "note", 5)
