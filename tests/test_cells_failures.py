"""Cells that tell how a run ended, and those that tell of a mere risk."""

from __future__ import annotations

import pytest

from bench.ingest.documents.tables import read_markdown
from bench.vocabulary.outcome_words import failure_of, risk_of
from tests.cells import read


@pytest.mark.parametrize(
    ("heading", "text", "kind"),
    [
        ("Mem", "OOM", "oom"),
        ("Speed", "OOM", "oom"),
        ("Notes", "OOM", "oom"),
        ("Mem", "fail", "fail"),
        ("Notes", "always hangs", "hang"),
        ("Notes", "32GB OOMs", "oom"),
        ("Mem", "CUDA out of memory", "oom"),
        ("Mem", "29138.6 MiB (OOM after first epoch)", "oom"),
        ("Sec/it", "crashed", "fail"),
        ("Sec/it", "timeout", "timeout"),
        ("TFLOPs", "hung", "hang"),
    ],
)
def test_failures(heading: str, text: str, kind: str) -> None:
    cell = read(heading, text)
    assert cell.invalid is None
    assert failure_of(cell.raw) == kind
    assert risk_of(text) is None


@pytest.mark.parametrize(
    ("text", "risk"),
    [
        ("may hang", "hang_risk"),
        ("16GB borderline OOM", "oom_risk"),
        ("02-20 too close to OOM", "oom_risk"),
        ("might fail", "fail_risk"),
        ("almost OOM", "oom_risk"),
    ],
)
def test_mere_risks(text: str, risk: str) -> None:
    assert risk_of(text) == risk
    assert failure_of(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no OOM", None),
        ("didn't fail", None),
        ("ran without hanging", None),
        ("no OOM, but a hang", "hang"),
        ("no, OOM", "oom"),
        ("baselines OOM", None),
        ("baseline OOM", "oom"),
    ],
)
def test_a_denied_failure_is_none(text: str, kind: str | None) -> None:
    assert failure_of(text) == kind


@pytest.mark.parametrize("text", ["42,5", "1.234,56", "**617,28**"])
def test_a_decimal_comma_is_no_remark(text: str) -> None:
    """Such a row ran: its number is not read, and that is said."""
    table = f"| GPUs | TP | Sec/it |\n|---|---|---|\n| 8 | 2 | {text} |\n"
    rows = read_markdown(f"# Training 7B\n\n{table}", "page")[0].by_table
    assert [run["status"] for run in rows["runs"]] == ["ok"]
    assert not rows["measurements"]
    assert any(text.strip("*") in str(warning["message"]) for warning in rows["warnings"])
