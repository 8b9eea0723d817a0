"""TFLOPs, tokens per second and size, where each row is a model of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_audit_tables import audited

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
