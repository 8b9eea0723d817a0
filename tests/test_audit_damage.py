"""Correct rows damaged at random: how much of it the audit sees, and whom it accuses wrongly.

A sample of what `tests/campaigns/audit.py` damages: 9 in 10 of each kind are demanded of both, and
a rule that is lost misses all of a kind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage import DAMAGES, check, of_made_sweeps, of_published_documents, tell


@pytest.mark.slow
def test_made_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = of_made_sweeps(tmp_path, range(1))
    tell("made sweeps", *result, capsys)
    check(*result)


@pytest.mark.slow
def test_published_documents(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = of_published_documents(root / "data" / "tables", tmp_path, DAMAGES, seed=7)
    tell("published documents", *result, capsys)
    check(*result)
