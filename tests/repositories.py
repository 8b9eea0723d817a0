"""A repository of somebody else, with secrets in and beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

SECRET = "TOKEN-OF-THE-JOB"
PAGE = "# Page\n\n<!-- bench:begin report=days {options} -->\n<!-- bench:end -->\n"


@pytest.fixture
def cloned(folder: Path, data: Path) -> Path:
    """A repository in its folder, a secret beside it and one among git's own files."""
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    for secret in (folder / "secret", work / ".git/config", work / ".git/days.md.j2"):
        secret.write_text(f"{SECRET}\n")
    (work / "sweep.md").write_bytes((data / "tables/004_tr3m-1B3.md").read_bytes())
    (work / "mine").mkdir()
    (work / "page.md").write_text(PAGE.format(options="from=sweep.md"))
    return work
