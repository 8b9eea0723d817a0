"""Derivation trees: a value, how it was made, from what, and where that stands; and answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..audit.finding import Finding

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands; `column` is its first character, from 1."""

    uri: str
    line: int | None
    column: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class How:
    """How a value is made: an expression over its inputs; `formula` is the id of a known one."""

    expression: str
    formula: str = ""
    title: str = ""
    source: str = ""
    counts: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One value; `printed` are the texts that pages show for it, `low` and `high` its range."""

    name: str
    value: Value
    unit: str = ""
    low: float | None = None
    high: float | None = None
    how: How | None = None
    place: Place | None = None
    note: str = ""
    inputs: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node and all below it."""
        yield self
        for node in self.inputs:
            yield from node.walk()

    def places(self) -> set[tuple[str, int]]:
        """Every file and line that it rests on."""
        return {
            (node.place.uri, node.place.line)
            for node in self.walk()
            if node.place and node.place.line is not None
        }


def leaves(node: Node) -> Iterator[Node]:
    """The nodes without inputs."""
    return (one for one in node.walk() if not one.inputs)


@dataclass(frozen=True, slots=True)
class Match:
    """One answer: `where` is what to ask for to have it alone, `tree` its derivation."""

    where: str
    title: str
    tree: Node


@dataclass(frozen=True, slots=True)
class Version:
    """A source that an answer rests on: what was read, and by which version of the reading code."""

    uri: str
    generation: int
    sha256: str
    parser_version: int
    state: str = ""  # why its text is not at hand


@dataclass(frozen=True, slots=True)
class Answer:
    """All that `bench explain` says to one question; `more` matches were not worked out."""

    asked: str
    kind: str  # run, place, number, formula, rule
    matches: tuple[Match, ...]
    more: int = 0
    findings: tuple[Finding, ...] = ()
    versions: tuple[Version, ...] = ()
    notes: tuple[str, ...] = ()
