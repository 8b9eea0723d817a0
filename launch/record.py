"""What the launcher adds to a run's log: facts in front, how it ended behind.

The formats `launch_*.toml` of the reader take these lines as any other, so that a log is all that
another machine needs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from ..vocabulary.secrets import redact, redact_text
from .cases import Case

MARK = "bench launch"


def begins(plan: str, case: Case, trainer: str, repeat: int, repeats: int, **known: object) -> str:
    """Plan and settings: they tell the run also if its program never says a word."""
    known_facts = {
        name: value for name, value in {**known, **case.facts}.items() if value is not None
    }
    head = {"plan": plan, "case": case.id, "label": case.label, "trainer": trainer}
    return _line("begins", head | {"repeat": repeat, "repeats": repeats} | known_facts)


def as_shell(words: Sequence[str], env: Mapping[str, str]) -> str:
    """What is run, as a shell would be told; values of names that look secret are left out."""
    set_ = [f"{name}={shlex.quote(redact(name, value))}" for name, value in env.items() if value]
    return " ".join([*set_, redact_text(shlex.join(words))])


def command(words: Sequence[str], env: Mapping[str, str]) -> str:
    """The exact command of a run, without its secrets."""
    return _one_line(f"{MARK} command {as_shell(words, env)}")


def sets(values: Mapping[str, object], word: str = "sets") -> str:
    """The words of a template, or of a job, which no other line tells; one line each."""
    known_facts = {name: redact(name, str(value)) for name, value in values.items()}
    return "".join(
        _one_line(f"{MARK} {word} {name}={value}") + "\n" for name, value in known_facts.items()
    )


def measured(facts: Mapping[str, object]) -> str:
    """What the launcher saw of the run: wall_s, exit_code, peak_memory_mb, left_behind."""
    return _line("measured", {name: value for name, value in facts.items() if value is not None})


def ends(status: str, evidence: str) -> str:
    """How it ended; this counts over whatever the log says of itself."""
    known_facts = " ".join(redact_text(evidence).split())
    return f"{MARK} ends {status}{': ' if known_facts else ''}{known_facts}"


def _line(word: str, facts: Mapping[str, object]) -> str:
    return f"{MARK} {word} {json.dumps(facts, ensure_ascii=False)}"


def _one_line(line: str) -> str:
    """One line, whatever stands in it."""
    return " ".join(line.splitlines())
