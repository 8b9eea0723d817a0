"""Notes and warnings on what a document leaves open, repeats in its text, or cannot explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auditing import audited
from tests.program import quick

HEADS = (
    "| Nodes | DP | TP | PP | MBS | NHEADS | GBS | Mem | Sec/it | TFLOPs |\n" + "|--" * 10 + "|\n"
)


def said(file: Path, rule: str) -> list[tuple[str, str, list[int]]]:
    """Severity, evidence and doubted lines of the findings of a rule."""
    return [
        (one["severity"], one["evidence"], [cell["line"] for cell in one["cells"]])
        for one in audited(file)
        if rule in one["rules"]
    ]


def heads(memory: tuple[int, ...], times: tuple[float, ...]) -> str:
    rows = zip((16, 32, 64, 128), memory, times, strict=True)
    return "Sequence length 2048, NHIDDEN=8192 / NLAYERS=64\n\n" + HEADS + "".join(
        f"| 8 | 8 | 8 | 1 | 1 | {count} | 512 | {mem}GB | {time} | {1500 / time:.1f} |\n"
        for count, mem, time in rows
    )  # fmt: skip


def test_slow_numbers_of_heads(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    file.write_text(heads((50, 50, 51, 51), (12.1, 12.3, 14.4, 12.2)))
    [(severity, evidence, lines)] = said(file, "R7c")
    assert (severity, lines) == ("note", [7])
    assert "+18%" in evidence and "8 heads a TP rank of size 128" in evidence
    file.write_text(heads((50, 50, 51, 51), (12.1, 12.3, 12.4, 12.2)))
    assert said(file, "R7c") == []


def test_fewer_heads_with_more_memory(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    file.write_text(heads((58, 55, 54, 52), (12.1, 12.3, 12.4, 12.2)))
    [(severity, evidence, lines)] = said(file, "R7c")
    assert (severity, lines) == ("note", [5, 8]) and "58 with 16 heads" in evidence
    file.write_text(heads((50, 52, 54, 58), (12.1, 12.3, 12.4, 12.2)))
    assert said(file, "R7c") == [], "scores of more heads take more"


@pytest.mark.parametrize(
    ("text", "severity"),
    [("DP=8, TP=4: 12.3 secs/it | 141 TFLOPS", None), ("DP=8, TP=4: 12 secs/it | 141 TFLOPS", None),
     ("DP=8, TP=4: 12.34 secs/it | 141.1 TFLOPS", None),
     ("DP=8, TP=8: 12 secs/it | 130 TFLOPS", "note"),
     ("DP=8, TP=4: 11.3 secs/it | 141 TFLOPS", "warning"),
     ("DP=8, TP=2: 11.3 secs/it | 141 TFLOPS", None), ("DP=8: 11.3 secs/it | 141 TFLOPS", None)],
)  # fmt: skip
def test_numbers_that_the_text_repeats(tmp_path: Path, text: str, severity: str | None) -> None:
    file = tmp_path / "x.md"
    file.write_text(
        "| Nodes | DP | TP | Sec/it | TFLOPs |\n|--|--|--|--|--|\n"
        f"| 4 | 8 | 4 | 12.34 | 141.1 |\n| 8 | 8 | 8 | 12.71 | 130.4 |\n\n* {text}\n"
    )
    found = said(file, "R12b")
    assert [one[0] for one in found] == ([severity] if severity else [])
    assert all(lines == [6] for _, _, lines in found)


def test_constraints_that_rows_keep_and_do_not(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    rows = "".join(f"| 8 | {mbs} | {10 - mbs / 4} | 100 |\n" for mbs in (1, 2, 4, 8))
    table = f"| Nodes | MBS | Sec/it | TFLOPs |\n|--|--|--|--|\n{rows}"
    file.write_text(f"`log2(MBS) % 2 = 0`\n\n{table}")
    [(severity, evidence, lines)] = said(file, "R10b")
    assert (severity, lines) == ("note", [1]) and "2 of the 4 rows" in evidence
    file.write_text(f"`MBS % 2 = 0`\n\n{table}")
    assert [one[2] for one in said(file, "R10b")] == [[5]], "the one row that does not keep it"
    file.write_text(f"`MBS % 1 = 0`\n\n{table}")
    assert said(file, "R10b") == []


def test_what_a_document_leaves_open(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    file.write_text(
        "| Nodes | MBS | Sec/it | Notes |\n|--|--|--|--|\n"
        "| 8 | 1 | 12.3 | 41GB |\n| 8 | 2 | - | |\n| 8 | 4 | OOM | |\n| 8 | 8 | x | |\n\n"
        "| Nodes | MBS |\n|--|--|\n| 16 | 2 |\n"
    )
    found = {tuple(lines): evidence for _, evidence, lines in said(file, "R10c")}
    assert set(found) == {(3,), (4, 6), (6,), (10,)}
    assert "'x'" in found[6,] and "plan" not in found[4, 6]


def test_the_edge_of_a_device(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    head = "| Nodes | DP | MBS | Mem | Sec/it |\n|--|--|--|--|--|\n"
    file.write_text(
        f"# A100 80GB\n\n{head}| 1 | 8 | 1 | 60GB | 12.3 |\n| 1 | 8 | 2 | 78GB | 11.3 |\n"
        f"\n# A100 40GB\n\n{head}| 1 | 8 | 1 | OOM | |\n| 1 | 8 | 4 | OOM | |\n"
    )
    assert [(one[0], one[2]) for one in said(file, "R5c")] == [("note", [6])]
    file.write_text(file.read_text().replace("60GB", "30GB"))
    found = [(severity, lines) for severity, _, lines in said(file, "R5c")]
    assert found == [("warning", [5, 12]), ("note", [6])]


@pytest.mark.parametrize(("stated", "notes"), [("250k", 1), ("250680", 0)])
def test_a_rounded_vocabulary(tmp_path: Path, stated: str, notes: int) -> None:
    h, layers, s, v = 4096, 32, 2048, 250880
    work = 96 * 512 * s * layers * h * h * (1 + s / (6 * h) + v / (16 * layers * h)) / 64e12
    rows = "".join(
        f"| 64 | 8 | 8 | {m} | 512 | {t} | {work / t:.2f} |\n"
        for m, t in ((1, 7.21), (2, 6.58), (4, 6.13))
    )
    head = "| GPUs | DP | TP | MBS | GBS | Sec/it | TFLOPs |\n" + "|--" * 7 + "|\n"
    context = f"SEQ_LEN=2048, NHIDDEN={h}, NLAYERS={layers}, VOCAB_LENGTH={stated}"
    (tmp_path / "x.md").write_text(
        f"{context}\n\n### \\\\w activation checkpointing\n\n{head}{rows}"
    )
    found = [one for one in audited(tmp_path / "x.md") if "stated vocabulary" in one["message"]]
    assert len(found) == notes, audited(tmp_path / "x.md")
    assert all("250k" in one["evidence"] and "250680" in one["evidence"] for one in found)


def test_notes_do_not_fail(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("| Nodes | MBS | Sec/it |\n|--|--|--|\n| 8 | 2 | x |\n")
    assert quick(tmp_path, "audit", "x.md", "--fail-on", "warning").code == 0
