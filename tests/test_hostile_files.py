"""Every command over files that attack: it ends, within bounds, in words, and says nothing raw."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.commands import names
from tests.hostile_commands import COMMANDS, walked
from tests.hostile_files import KINDS, make


@pytest.mark.slow
def test_every_command_ends_in_words(folder: Path) -> None:
    """Over two files of each kind; `tests/campaigns/hostile.py` makes a thousand."""
    make(folder, 2 * len(KINDS), seed=48)
    (folder / "deep.toml").write_text("x = " + "[" * 90_000)
    lines = [line for name in names() for line in COMMANDS[name]]
    failures = []
    for line in lines:
        try:
            walked(folder, line, 30)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures.append(str(error))
    assert not failures, "\n\n".join(failures)
