"""The folder of a run: its log, exact command and state; named after the run's settings.

The formats `launch_*.toml` read the lines that the launcher adds to a log (facts at its head, the
outcome at its tail), so a log is complete without its state files.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..schema.errors import BenchError
from ..vocabulary.atomic import atomic_write
from ..vocabulary.regular_files import parse_json, read_regular
from ..vocabulary.secrets import redact, redact_text
from .cases import Case, slug
from .process_probe import SEEN

STATE = "run.json"
COMMAND = "command.sh"
RUNNING = "running"
_ATTEMPT = re.compile(r"attempt-(\d+)")


@dataclass(frozen=True, slots=True)
class State:
    """The state of a run; `status` is `running` until it has ended."""

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
    attempt: int = 1  # earlier ones are in attempt-1, attempt-2, ...
    settings: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    command: str = ""  # without secrets; the real command is in command.sh


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run of a case: `NAME/NAME.log`, the command and the state."""

    path: Path

    @property
    def log(self) -> Path:
        """The path of the log: the run's output between the launcher's lines."""
        return self.path / f"{self.path.name}.log"

    def state(self) -> State | None:
        """The stored state; None before the first attempt. Raises BenchError if unreadable."""
        file = self.path / STATE
        try:
            return State(**parse_json(read_regular(file)))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, TypeError) as error:
            why = "truncated, or written by another version"
            why = error.strerror or why if isinstance(error, OSError) else why
            hint = "remove the file to rerun; the log is kept"
            what = "cannot read the state of a run"
            raise BenchError(what, why=why, where=str(file), hint=hint) from error

    def size(self) -> int:
        """The size of the log in bytes; 0 where there is none."""
        return self.log.stat().st_size if self.log.exists() else 0

    def save(self, state: State) -> None:
        """Write the state atomically. Raises BenchError where it cannot be written."""
        text = json.dumps(asdict(state), indent=1, ensure_ascii=False) + "\n"
        try:
            atomic_write(self.path / STATE, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            what, why = "cannot write the state of a run", error.strerror or str(error)
            raise BenchError(what, why=why, where=str(self.path / STATE)) from error

    def earlier(self) -> list[Path]:
        """The logs of earlier attempts, in order."""
        attempts = self._attempts()
        return [log for number in sorted(attempts) for log in attempts[number].glob("*.log")]

    def _attempts(self) -> dict[int, Path]:
        """The folders of earlier attempts by number."""
        found = ((_ATTEMPT.fullmatch(path.name), path) for path in self.path.glob("attempt-*"))
        return {int(name[1]): path for name, path in found if name}

    def begin(self, script: str) -> int:
        """Create the folder with the command as a script; moves an earlier attempt to a subfolder.

        Returns the number of this attempt, from 1. Raises BenchError where it cannot be written.
        """
        try:
            return self._begin(script)
        except OSError as error:
            what, why = "cannot create the run directory", error.strerror or str(error)
            raise BenchError(what, why=why, where=str(error.filename or self.path)) from error

    def _begin(self, script: str) -> int:
        number = 1 + max(self._attempts(), default=0)  # some may have been removed
        if os.path.lexists(self.log):
            earlier = self.path / f"attempt-{number}"
            earlier.mkdir()
            self.log.rename(earlier / f"{self.log.stem}-attempt-{number}.log")  # as on pages
            for name in (STATE, COMMAND, SEEN):
                if (self.path / name).exists():
                    (self.path / name).rename(earlier / name)
            number += 1
        self.path.mkdir(parents=True, exist_ok=True)
        write_private(self.path / COMMAND, script)
        return number


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can ever read: it may hold secrets."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def as_script(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, before: Sequence[str] = ()
) -> str:
    """The exact command as a shell script; `before` are lines in front of it."""
    lines = ["#!/bin/sh", *before, f"cd {shlex.quote(str(cwd))} || exit 1"]
    for name, value in sorted(env.items()):
        lines.append(f"export {name}={shlex.quote(value)}" if value else f"unset {name}")
    return "\n".join([*lines, f"exec {shlex.join(command)}", ""])


def run_folder(root: Path, case: Case, repeat: int) -> RunFolder:
    """The folder of a run in that of its plan: an existing one, else a new name."""
    end = f"{case.id}-r{repeat}"
    found = sorted(root.glob(f"*-{end}"))
    return RunFolder(found[0] if found else root / f"{slug(case.label)}-{end}")


MARK = "bench launch"


def start_line(
    plan: str, case: Case, trainer: str, repeat: int, repeats: int, **known: object
) -> str:
    """Plan and settings, which identify the run even without any output."""
    known_facts = {
        name: value for name, value in {**known, **case.facts}.items() if value is not None
    }
    head = {"plan": plan, "case": case.id, "label": case.label, "trainer": trainer}
    return _line("begins", head | {"repeat": repeat, "repeats": repeats} | known_facts)


def as_shell(words: Sequence[str], env: Mapping[str, str]) -> str:
    """The command as a shell line; values of names that look secret are removed."""
    set_ = [f"{name}={shlex.quote(redact(name, value))}" for name, value in env.items() if value]
    return " ".join([*set_, redact_text(shlex.join(words))])


def command_line(words: Sequence[str], env: Mapping[str, str]) -> str:
    """The line with the exact command of a run, without secrets."""
    return _one_line(f"{MARK} command {as_shell(words, env)}")


def setting_lines(values: Mapping[str, object], word: str = "sets") -> str:
    """One line per value of the template or option of the job."""
    known_facts = {name: redact(name, str(value)) for name, value in values.items()}
    return "".join(
        _one_line(f"{MARK} {word} {name}={value}") + "\n" for name, value in known_facts.items()
    )


def measurement_line(facts: Mapping[str, object]) -> str:
    """The launcher's measurements: wall_s, exit_code, peak_memory_mb, left_behind."""
    return _line("measured", {name: value for name, value in facts.items() if value is not None})


def end_line(status: str, evidence: str) -> str:
    """The outcome; it has precedence over the rest of the log."""
    known_facts = " ".join(redact_text(evidence).split())
    return f"{MARK} ends {status}{': ' if known_facts else ''}{known_facts}"


def _line(word: str, facts: Mapping[str, object]) -> str:
    return f"{MARK} {word} {json.dumps(facts, ensure_ascii=False)}"


def _one_line(line: str) -> str:
    """The text on one line."""
    return " ".join(line.splitlines())
