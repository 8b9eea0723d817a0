"""What the audit suggests agrees with every other cell, and strangers in a table are no errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.audit.finding import Finding
from bench.audit.formula_fixes import as_in_cell
from bench.audit.interval import Printed
from tests.auditing import found_in

SHAPE = "# GPT 6.7B: 32 layers, hidden size 4096, 32 heads, sequence length 2048, A100-80GB"
HEAD = "GPUs | GBS | Sec/it | Samples/s | TFLOPs"
ROWS = ("32 | 256 | 6.91 | 37.05 | 135.32", "64 | 512 | 7.02 | 72.93 | 133.20",
        "128 | 1024 | 7.12 | 143.82 | 131.33", "256 | 2048 | 7.33 | 279.40 | 127.56",
        "512 | 2048 | 3.81 | 537.53 | 122.71")  # fmt: skip
LLAMA = "# Llama-2 7B, H100, bf16, sequence length 4096"
RATES = "GPUs | GBS | Step time (s) | Tokens/s/GPU | TFLOP/s/GPU | MFU"
FOUR = ("8 | 128 | 6.43 | 10192 | 452.5 | 45.7%", "16 | 256 | 6.51 | 10067 | 447.0 | 45.2%",
        "32 | 512 | 6.58 | 9960 | 442.2 | 44.7%", "64 | 1024 | 6.70 | 9782 | 434.3 | 43.9%",
        )  # fmt: skip


def audited(folder: Path, title: str, head: str, *rows: str) -> list[Finding]:
    rule = " | ".join("--" for _ in head.split("|"))
    lines = [title, "", *(f"| {line} |" for line in (head, rule, *rows))]
    (folder / "README.md").write_text("\n".join(lines) + "\n")
    return [one for one in found_in(folder) if one.severity != "note"]


def one_of(folder: Path, title: str, head: str, *rows: str) -> Finding:
    [finding] = audited(folder, title, head, *rows)
    return finding


def test_rows_that_agree(tmp_path: Path) -> None:
    assert audited(tmp_path, SHAPE, HEAD, *ROWS) == []
    assert audited(tmp_path, LLAMA, RATES, *FOUR) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("64 | 1024 | 7.12 | 143.82 | 131.33", "GPUs=128"),  # 512 is the GBS of a neighbour
        ("128 | 512 | 7.12 | 143.82 | 131.33", "GBS=1024"),  # 64 are the GPUs of a neighbour
        ("128 | 1024 | 1.72 | 143.82 | 131.33", "Sec/it 7.12"),
        ("128 | 1024 | 7.12 | 143.82 | 181.33", "TFLOPs 131.33"),
        ("128 | 1024 | 7.12 | 243.82 | 131.33", "Samples/s about 143.8"),
        ("128 | 1024 | 131.33 | 143.82 | 7.12", "Sec/it=7.12, TFLOPs=131.33"),
    ],
)
def test_the_repair_agrees_with_every_other_cell(tmp_path: Path, wrong: str, said: str) -> None:
    finding = one_of(tmp_path, SHAPE, HEAD, *ROWS[:2], wrong, *ROWS[3:])
    assert (finding.severity, finding.line) == ("error", 7)
    assert finding.suggestion.startswith(said)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("32 | 256 | 6.58 | 9960 | 442.2 | 44.7%", "GBS=512"),
        ("64 | 512 | 6.58 | 9960 | 442.2 | 44.7%", "GPUs=32"),
        ("32 | 512 | 5.68 | 9960 | 442.2 | 44.7%", "Sec/it"),
        ("32 | 512 | 6.58 | 9060 | 442.2 | 44.7%", "Tokens/s/device about 996"),
        ("32 | 512 | 6.58 | 9960 | 442.2 | 47.4%", "MFU about 44.7%"),
    ],
)
def test_a_table_without_a_shape(tmp_path: Path, wrong: str, said: str) -> None:
    finding = one_of(tmp_path, LLAMA, RATES, *FOUR[:2], wrong, FOUR[3])
    assert (finding.severity, finding.line) == ("error", 7)
    assert finding.suggestion.startswith(said)


@pytest.mark.parametrize(
    ("head", "first", "last"),
    [
        ("Config", "llama2-7b", "llama2-13b"),
        ("Architecture", "dense baseline", "GQA + SwiGLU"),
        ("Context", "4k", "32k"),
        ("Notes", "", "activation checkpointing"),
    ],
)
def test_rows_of_another_context_are_no_errors(
    tmp_path: Path, head: str, first: str, last: str
) -> None:
    rows = ("8 | 10192 | 430.5 | 43.5%", "16 | 10067 | 425.2 | 43.0%", "32 | 9960 | 420.7 | 42.5%",
            "32 | 5610 | 455.0 | 46.0%")  # fmt: skip
    told = [f"{first} | {row}" for row in rows[:3]] + [f"{last} | {rows[3]}"]
    title = "# Throughput, H100"
    assert (
        audited(tmp_path, title, f"{head} | GPUs | Tokens/s/GPU | TFLOP/s/GPU | MFU", *told) == []
    )
    same = [f"{first} | {row}" for row in rows]
    heads = f"{head} | GPUs | Tokens/s/GPU | TFLOP/s/GPU | MFU"
    assert one_of(tmp_path, title, heads, *same).line == 8


def test_a_throughput_of_the_job_is_not_that_of_a_device(tmp_path: Path) -> None:
    head = "GPUs | Step time (s) | GBS | Tokens/s | MFU (%)"
    title = "# GPT 6.7B on A100-80GB, bf16, sequence length 2048"
    rows = ("64 | 2.62 | 256 | 200107 | 41.6", "128 | 1.33 | 256 | 394195 | 41.0",
            "256 | 0.67 | 256 | 782519 | 40.7", "512 | 0.345 | 256 | 1519675 | 39.5")  # fmt: skip
    assert audited(tmp_path, title, head, *rows) == []
    wrong = one_of(tmp_path, title, head, *rows[:2], rows[2].replace("40.7", "71.1"), rows[3])
    assert (wrong.line, wrong.suggestion) == (7, "MFU about 40.7%")
    # The same with the throughput of one device: the step time says whose it is, the heading not.
    each = [f"{n} | {t} | 256 | {256 * 2048 / float(t) / int(n):.1f} | {m}"
            for n, t, _, _, m in (row.split(" | ") for row in rows)]  # fmt: skip
    assert audited(tmp_path, title, head, *each) == []
    # Three rows on 8 GPUs and one on 64: MFU goes with tokens/s, whosever they are.
    few = [f"{n} | {rate} | {mfu}" for n, rate, mfu in (
        (8, 3127, 41.6), (8, 3080, 41.0), (8, 3057, 40.7), (64, 2968, 39.5))]  # fmt: skip
    assert audited(tmp_path, title, "GPUs | Tokens/s | MFU (%)", *few) == []


FULL = "Nodes | GPUs | TP | PP | MBS | GA | GBS | Step time (s) | Tokens/s/GPU | TFLOP/s/GPU"
EIGHTS = (
    "1 | 8 | 1 | 1 | 1 | 16 | 128 | 14.90 | 8797 | 453.2",
    "2 | 16 | 1 | 1 | 1 | 8 | 128 | 7.52 | 8715 | 449.0",
    "4 | 32 | 1 | 1 | 1 | 8 | 256 | 7.61 | 8612 | 443.7",
    "8 | 64 | 1 | 1 | 1 | 8 | 512 | 7.70 | 8511 | 438.5",
)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("3 | 32 | 1 | 1 | 1 | 8 | 256 | 7.61 | 8612 | 443.7", "Nodes=4"),
        ("4 | 64 | 1 | 1 | 1 | 8 | 256 | 7.61 | 8612 | 443.7", "GPUs=32"),
        ("4 | 32 | 2 | 1 | 1 | 8 | 256 | 7.61 | 8612 | 443.7", "TP=1"),
        ("4 | 32 | 1 | 3 | 1 | 8 | 256 | 7.61 | 8612 | 443.7", ""),
        ("4 | 32 | 1 | 1 | 2 | 8 | 256 | 7.61 | 8612 | 443.7", "MBS=1"),
        ("4 | 32 | 1 | 1 | 1 | 8 | 264 | 7.61 | 8612 | 443.7", "GBS=256"),
    ],
)
def test_counts_of_a_row(tmp_path: Path, wrong: str, said: str) -> None:
    title = "# Llama-3 8B, H100, bf16, sequence length 8192"
    assert audited(tmp_path, title, FULL, *EIGHTS) == []
    finding = one_of(tmp_path, title, FULL, *EIGHTS[:2], wrong, EIGHTS[3])
    assert (finding.severity, finding.line) == ("error", 7)
    assert finding.suggestion.startswith(said)


def test_of_three_rows_physics_knows_the_wrong_one(tmp_path: Path) -> None:
    title, head = "# 47B, H100, sequence length 8192", "GPUs | GBS | Step time (s) | Tokens/s/GPU"
    rows = ("64 | 256 | 7.10 | 4615", "128 | 512 | 7.21 | 4545", "256 | 1024 | 7.38 | 4440")
    assert audited(tmp_path, title, head, *rows) == []
    assert one_of(tmp_path, title, head, *rows[:2], "256 | 1024 | 7.38 | 4840").line == 7


def test_a_topology_is_mended_as_the_rates_say(tmp_path: Path) -> None:
    title = "# 1.1B, H100"
    head = "Nodes | DP | TP | PP | MBS | GA | GBS | Step time (s) | Samples/s"
    rows = (
        "1 | 8 | 1 | 1 | 4 | 8 | 256 | 2.26 | 113.3",
        "2 | 8 | 2 | 1 | 4 | 8 | 256 | 1.35 | 189.6",
        "4 | 16 | 2 | 1 | 4 | 8 | 512 | 1.39 | 368.3",
        "8 | 32 | 2 | 1 | 4 | 8 | 1024 | 1.44 | 711.1",
    )
    assert audited(tmp_path, title, head, *rows) == []
    wrong = rows[1].replace("2 | 8 | 2", "2 | 16 | 2")
    assert one_of(tmp_path, title, head, rows[0], wrong, *rows[2:]).suggestion == "DP=8"


def test_a_time_is_suggested_in_the_unit_of_its_cell() -> None:
    def printed(value: float, raw: str) -> Printed:
        return Printed(value, 0.00005, "s", None, raw)

    assert as_in_cell(printed(17.8755, "17,875.5")) == (1e3, " ms")
    assert as_in_cell(printed(17.8755, "17875.5 ms")) == (1e3, " ms")
    assert as_in_cell(printed(90.0, "1.5 min")) == (1 / 60, " min")
    assert as_in_cell(printed(14.5, "14.5")) == (1.0, "")
