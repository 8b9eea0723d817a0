"""Environment variables and settings of schedulers and launchers, from logs and job scripts.

A command line sets them for the program that it starts: in front of it, and by its options.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ...vocabulary.job_variables import states
from ...vocabulary.package_toml import declared
from ...vocabulary.secrets import redact
from .record import Fields

LONGEST_VALUE = 2000
NAME = r"[A-Z_][A-Z0-9_]*"
WORD = r"""(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"';,]{0,2000})"""
ASSIGNED = re.compile(rf"\s*(?P<name>{NAME})=(?P<value>{WORD})(?=[\s;]|$)")
# mpirun -x K=V, mpiexec -genv K=V, docker --env=K=V, jsrun -E K=V
OPTIONS = re.compile(
    rf"(?:(?<=\s)(?:-x|-e|-E|--env|-env|-genv)[\s=])\s*(?P<name>{NAME})=(?P<value>{WORD})"
)
PAIRS = re.compile(rf"(?<=\s)-g?env\s+(?P<name>{NAME})\s+(?P<value>{WORD})")  # -genv K V
# srun --export=ALL,K=V,L=W; a value with a comma in it is quoted
LISTS = re.compile(r"(?<=\s)(?:--export|-genvlist)[\s=](?P<list>\"[^\"]{0,4000}\"|\S{1,4000})")
LISTED = re.compile(rf"(?:^|,)(?P<name>{NAME})=(?P<value>'[^']*'|[^,]*)")
# pdsh ... export K=V;   mpirun -np 4 env K=V L=W python
SET = re.compile(r"(?<![\w-])(?:export|declare -x|env)\s+(?=[A-Z_])")
SETENV = re.compile(rf"(?<![\w-])setenv\s+(?P<name>{NAME})\s+(?P<value>{WORD})")  # csh
MCA = re.compile(r"(?<=\s)--?mca\s+(?P<name>\w+)\s+(?P<value>[^\s\"']{1,500})")
IMAGE = re.compile(r"[a-z0-9.-]{1,60}(?:/[\w.-]{1,80}){1,4}:[\w.-]{1,80}")
LONGEST_COMMAND = 20_000  # characters of a command that are read
_FILES, _IMAGES = ("singularity", "apptainer"), ("docker", "podman")
CONTAINER = "container_image"


@dataclass(frozen=True, slots=True)
class Flags:
    """One flag: its value with secrets taken out, what it belongs to, its line."""

    value: str
    kind: str
    line: int


@functools.cache
def _declared() -> Mapping[str, tuple[str, ...]]:
    found = declared(__package__ or "bench.ingest.logs", "environment.toml")
    return {kind: tuple(names) for kind, names in found.items()}


def is_recorded(name: str) -> bool:
    """Whether a variable is stored and shown in reports."""
    declared = _declared()
    return name.startswith(declared["prefixes"]) and name not in declared["places"]


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
        """Stores the flags of a line; returns the job ids among them, None if it has no flags."""
        kind = str(fields.get("kind", "env"))
        if reads == "env":
            found = [(str(fields["name"]), str(fields.get("value", "")), kind)]
        else:
            found = list(of_command(str(fields["command"])))
        recorded = [one for one in found if one[2] != "env" or is_recorded(one[0])]
        for name, value, of in recorded:
            self.flags[name] = flag(name, value, of, line)
        return self.job_ids([name for name, _, _ in recorded]) if recorded else None

    def job_ids(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """The job ids among the flags."""
        every = self.flags if names is None else names
        return tuple(self.flags[name].value for name in every if states(name) == "job_ids")


def of_command(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and kind of each setting of a command line: in front of it and by its options."""
    text, end = text[:LONGEST_COMMAND], 0
    while match := ASSIGNED.match(text, end):
        yield match["name"], match["value"], "env"
        end = match.end()
    for match in OPTIONS.finditer(text, end):
        yield match["name"], match["value"], "env"
    for pattern in (PAIRS, SETENV):
        for match in pattern.finditer(text, end):
            yield match["name"], match["value"], "env"
    for match in LISTS.finditer(text, end):
        for one in LISTED.finditer(match["list"].strip('"')):
            yield one["name"], one["value"], "env"
    at = end
    while begins := SET.search(text, at):
        at = begins.end()
        while match := ASSIGNED.match(text, at):
            yield match["name"], match["value"], "env"
            at = match.end()
    for match in MCA.finditer(text, end):
        yield f"OMPI_MCA_{match['name']}", match["value"], "launcher"
    if image := _image(text.split()):
        yield CONTAINER, image, "launcher"


def _image(arguments: Sequence[str]) -> str | None:
    """The container image that the command starts."""
    program = ""
    for argument, following in pairwise([*arguments, ""]):
        name = argument.rsplit("/", 1)[-1]
        if name in (*_FILES, *_IMAGES):
            program = name
        elif argument.startswith("--container-image"):
            return (argument.partition("=")[2] or following).strip("\"'") or None
        elif (program in _FILES and argument.endswith((".sif", ".simg"))) or (
            program in _IMAGES and IMAGE.fullmatch(argument)
        ):
            return argument
    return None
