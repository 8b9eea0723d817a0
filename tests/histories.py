"""Small repositories with the real git, and their histories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

FIRST = 1_640_995_200  # 2022-01-01 00:00 UTC; a commit a day


class Repository:
    """A repository that commits a day apart, from the first of January 2022 on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.days = 0
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str, given: bytes | None = None) -> str:
        at = f"{FIRST + 86_400 * self.days} +0000"
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{who}_DATE": at, f"GIT_{who}_NAME": "Ada"}
            own |= {f"GIT_{who}_EMAIL": "ada@example.org"}
        done = subprocess.run(["git", "-C", str(self.folder), *words], env=os.environ | own,
                              input=given, capture_output=True, check=True)  # fmt: skip
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, files: Mapping[str, str | None], message: str = "A change") -> str:
        """Write files (None removes one) and commit all that changed; the id of the commit."""
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text, "utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        self.days += 1
        return self.git("rev-parse", "HEAD")


def document(rows: Sequence[str], head: str = "Nodes | DP | TP | PP | MBS | GBS | Sec/it | TFLOPs",
             text: str = "# Sweep of 1.3B on V100 32GB, sequence length 2048") -> str:  # fmt: skip
    """A document with one table."""
    lines = [head, " | ".join("---" for _ in head.split("|")), *rows]
    return f"{text}\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"
