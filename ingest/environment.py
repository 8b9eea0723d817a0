"""Environment variables and settings of schedulers and launchers, as logs and job scripts say."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources

from .commandline import of_command
from .record import Fields
from .secrets import redact

LONGEST_VALUE = 2000


@dataclass(frozen=True, slots=True)
class Flags:
    """One flag: its value with secrets taken out, what it belongs to, its line."""

    value: str
    kind: str
    line: int


@functools.cache
def _declared() -> Mapping[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("environment.toml").read_text(encoding="utf-8")
    return {word: tuple(names) for word, names in tomllib.loads(text).items()}


def is_told(name: str) -> bool:
    """Whether a variable is one that reports tell."""
    declared = _declared()
    return name.startswith(declared["prefixes"]) and name not in declared["places"]


def states(name: str) -> str | None:
    """What a variable says of the run: job_ids, hosts or nodes."""
    declared = _declared()
    return next((w for w in ("job_ids", "hosts", "nodes") if name in declared[w]), None)


def flag(name: str, value: str, kind: str, line: int) -> Flags:
    """A flag without quotes and without secrets."""
    plain = value.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'":
        plain = plain[1:-1]
    return Flags(redact(name, plain[:LONGEST_VALUE]), kind, line)


@dataclass(slots=True)
class Environment:
    """The flags that a file has stated so far; a later one of the same name counts."""

    flags: dict[str, Flags] = field(default_factory=dict)

    def take(self, reads: str, fields: Fields, line: int) -> tuple[str, ...] | None:
        """The flags of a line; the job ids among them, or None where nothing is told."""
        kind = str(fields.get("kind", "env"))
        if reads == "env":
            found = [(str(fields["name"]), str(fields.get("value", "")), kind)]
        else:
            found = list(of_command(str(fields["command"])))
        told = [one for one in found if one[2] != "env" or is_told(one[0])]
        for name, value, of in told:
            self.flags[name] = flag(name, value, of, line)
        return self.job_ids([name for name, _, _ in told]) if told else None

    def job_ids(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """The job ids among the flags."""
        every = self.flags if names is None else names
        return tuple(self.flags[name].value for name in every if states(name) == "job_ids")
