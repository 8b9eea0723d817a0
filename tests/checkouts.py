"""Checkouts of git with a sweep in them, for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROWS = (
    "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86",
    "8 | 1.3B | 2 | 4 | 1 | 1 | 1024 | 51.0 | 0.85",
    "16 | 1.3B | 4 | 4 | 1 | 1 | 1024 | 26.0 | 0.84",
)
GIT = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@y", "GIT_COMMITTER_NAME": "x",
       "GIT_COMMITTER_EMAIL": "x@y", "GIT_CONFIG_GLOBAL": os.devnull}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    """What git prints of a command in a folder."""
    done = subprocess.run(["git", *words], cwd=folder, env=os.environ | GIT, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return done.stdout
