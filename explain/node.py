"""A derivation tree: a value, how it was made, what it was made from, and where that stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
