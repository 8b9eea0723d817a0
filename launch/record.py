"""Lines that the launcher adds to a run's log: facts at its head, the outcome at its tail.

The formats `launch_*.toml` read these lines, so a log is complete without its state files.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from ..vocabulary.secrets import redact, redact_text
from .cases import Case

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
