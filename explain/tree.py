"""Derivation trees: values, derivations, inputs and places; and answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..audit.finding import Finding

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """The place of a text; `column` is that of its first character, from 1."""

    uri: str
    line: int | None
    column: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A derivation: an expression over inputs; `formula` is the id of a known one."""

    expression: str
    formula: str = ""
    title: str = ""
    source: str = ""
    counts: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One value; `printed` are its texts on pages, `low` and `high` its range."""

    name: str
    value: Value
    unit: str = ""
    low: float | None = None
    high: float | None = None
    how: Arithmetic | None = None
    place: SourceSpan | None = None
    note: str = ""
    inputs: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """The node and its descendants."""
        yield self
        for node in self.inputs:
            yield from node.walk()

    def places(self) -> set[tuple[str, int]]:
        """Every file and line of the tree."""
        return {
            (node.place.uri, node.place.line)
            for node in self.walk()
            if node.place and node.place.line is not None
        }


@dataclass(frozen=True, slots=True)
class Match:
    """One match: `where` is the argument that explains only this, `tree` its derivation."""

    where: str
    title: str
    tree: Node


@dataclass(frozen=True, slots=True)
class Version:
    """A source of an answer as it was read, with the version of the reading code."""

    uri: str
    generation: int
    sha256: str
    parser_version: int
    state: str = ""  # why its text is not available


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of `bench explain`; `more` is the number of matches not derived."""

    question: str
    kind: str  # run, place, number, formula, rule
    matches: tuple[Match, ...]
    more: int = 0
    findings: tuple[Finding, ...] = ()
    versions: tuple[Version, ...] = ()
    notes: tuple[str, ...] = ()
