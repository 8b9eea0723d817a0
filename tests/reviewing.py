"""A branch under review, for tests."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench.ci.comment import marker
from tests.checkouts import ROWS, git
from tests.hub import TOKEN, Hub
from tests.making import table
from tests.program import Outcome, quick

MARK = marker("bench")


def a_branch(folder: Path) -> None:
    """A checkout whose branch changes a row of sweep.md; README.md shows the old one."""
    shutil.copytree(Path(_made().name) / "branch", folder, dirs_exist_ok=True)
    git(folder, "update-index", "--refresh")


def write_anew(folder: Path) -> None:
    """What `bench report --update` writes into such a checkout."""
    shutil.copy(Path(_made().name) / "README.md", folder)


@cache
def _made() -> TemporaryDirectory[str]:
    """The checkout, made once for all tests that take copies, and its README as it has to be."""
    made = TemporaryDirectory(prefix="bench-branch-")
    folder = Path(made.name) / "branch"
    folder.mkdir()
    _make(folder)
    readme = folder / "README.md"
    before = readme.read_bytes()
    assert quick(folder, "report", "--update").code == 0
    shutil.copy(readme, made.name)
    readme.write_bytes(before)
    assert git(folder, "status", "--porcelain") == ""
    return made


def _make(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\n')
    (folder / "sweep.md").write_text(table(*ROWS))
    (folder / "README.md").write_text(
        "# R\n\n<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
    )
    assert quick(folder, "report", "--update", "README.md").code == 0
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(folder, "checkout", "-qb", "faster")
    (folder / "sweep.md").write_text(table(*ROWS).replace("51.0", "45.9"))
    git(folder, "commit", "-qam", "faster")


def run(folder: Path, *more: str) -> Outcome:
    done = quick(folder, "ci", "github", *more)
    assert TOKEN not in done.text and "Traceback" not in done.err
    return done


def a_request(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch that changes a result, its README not yet written anew; the job's environment."""
    a_branch(folder)
    event = folder.parent / f"{folder.name}.event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    for name, value in {
        "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": hub.url,
        "GITHUB_BASE_REF": "main", "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(folder.parent / f"{folder.name}.summary.md"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return folder
