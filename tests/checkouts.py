"""Checkouts of git with a sweep in them, for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
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


def yaml_of(name: str) -> Any:  # Any: YAML
    """A YAML file of this repository."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))
