"""The folder of a run: its log, its exact command, its state; found again by what was run."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..reports.whole import write_whole
from .cases import Case, slug
from .witness import SEEN

STATE = "run.json"
COMMAND = "command.sh"
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class State:
    """How a run stands; `status` is `running` until it has ended."""

    plan: str
    case: str
    label: str
    repeat: int
    status: str
    evidence: str = ""
    exit_code: int | None = None
    wall_s: float | None = None
    peak_memory_mb: int | None = None
    step_time_s: float | None = None
    token: str = ""
    job_id: str | None = None
    attempt: int = 1  # those before lie in attempt-1, attempt-2, ...
    settings: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: str = ""  # without secrets: what runs is in command.sh


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run of one case: `NAME/NAME.log` and beside it command and state."""

    path: Path

    @property
    def log(self) -> Path:
        """What the run printed, between what the launcher says."""
        return self.path / f"{self.path.name}.log"

    def state(self) -> State | None:
        """How it stands; None when nothing was begun, or what was begun cannot be read."""
        try:
            found = json.loads((self.path / STATE).read_text(encoding="utf-8"))
            return State(**found)
        except (OSError, ValueError, TypeError):
            return None

    def size(self) -> int:
        """Bytes of the log; none where it is not there."""
        return self.log.stat().st_size if self.log.exists() else 0

    def save(self, state: State) -> None:
        """Write the state, whole or not at all."""
        text = json.dumps(asdict(state), indent=1, ensure_ascii=False) + "\n"
        write_whole(self.path / STATE, text.encode("utf-8", "backslashreplace"))

    def earlier(self) -> list[Path]:
        """The logs of earlier attempts, the first of them first."""
        found = self.path.glob("attempt-*/*.log")
        return sorted(found, key=lambda log: int(log.parent.name.removeprefix("attempt-")))

    def begin(self, script: str) -> int:
        """Make the folder, with the command as a script; earlier attempts are kept within it.

        The number of this attempt, from 1.
        """
        number = 1 + sum(1 for _ in self.path.glob("attempt-*"))
        if self.log.exists():
            earlier = self.path / f"attempt-{number}"
            earlier.mkdir()
            self.log.rename(earlier / f"{self.log.stem}-attempt-{number}.log")  # pages name it so
            for name in (STATE, COMMAND, SEEN):
                if (self.path / name).exists():
                    (self.path / name).rename(earlier / name)
            number += 1
        self.path.mkdir(parents=True, exist_ok=True)
        write_private(self.path / COMMAND, script)
        return number


def write_private(file: Path, text: str) -> None:
    """A file that only its owner may read, from its first byte on: it may hold secrets."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def as_script(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, before: Sequence[str] = ()
) -> str:
    """The run as a shell would be told: exactly what was started; `before`: lines in front."""
    lines = ["#!/bin/sh", *before, f"cd {shlex.quote(str(cwd))} || exit 1"]
    for name, value in sorted(env.items()):
        lines.append(f"export {name}={shlex.quote(value)}" if value else f"unset {name}")
    return "\n".join([*lines, f"exec {shlex.join(command)}", ""])


def run_folder(root: Path, case: Case, repeat: int) -> RunFolder:
    """The folder of a run below that of its plan: the one that there is, else a new name."""
    end = f"{case.id}-r{repeat}"
    found = sorted(root.glob(f"*-{end}"))
    return RunFolder(found[0] if found else root / f"{slug(case.label)}-{end}")
