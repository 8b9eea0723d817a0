"""What a command line sets for the program that it starts: in front of it, and by its options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
LONGEST = 20_000  # letters of a command that are looked at
_FILES, _IMAGES = ("singularity", "apptainer"), ("docker", "podman")
CONTAINER = "container_image"


def of_command(text: str) -> Iterator[tuple[str, str, str]]:
    """Name, value and kind of what a command line sets: in front of it and by its options."""
    text, end = text[:LONGEST], 0
    while found := ASSIGNED.match(text, end):
        yield found["name"], found["value"], "env"
        end = found.end()
    for found in OPTIONS.finditer(text, end):
        yield found["name"], found["value"], "env"
    for pattern in (PAIRS, SETENV):
        for found in pattern.finditer(text, end):
            yield found["name"], found["value"], "env"
    for found in LISTS.finditer(text, end):
        for one in LISTED.finditer(found["list"].strip('"')):
            yield one["name"], one["value"], "env"
    at = end
    while begins := SET.search(text, at):
        at = begins.end()
        while found := ASSIGNED.match(text, at):
            yield found["name"], found["value"], "env"
            at = found.end()
    for found in MCA.finditer(text, end):
        yield f"OMPI_MCA_{found['name']}", found["value"], "launcher"
    if image := _image(text.split()):
        yield CONTAINER, image, "launcher"


def _image(words: Sequence[str]) -> str | None:
    """The container that a launcher or its own program starts."""
    program = ""
    for word, following in pairwise([*words, ""]):
        name = word.rsplit("/", 1)[-1]
        if name in (*_FILES, *_IMAGES):
            program = name
        elif word.startswith("--container-image"):
            return (word.partition("=")[2] or following).strip("\"'") or None
        elif (program in _FILES and word.endswith((".sif", ".simg"))) or (
            program in _IMAGES and IMAGE.fullmatch(word)
        ):
            return word
    return None
