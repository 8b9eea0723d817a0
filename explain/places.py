"""Runs as places: the line of each, with its text."""

from __future__ import annotations

from collections.abc import Iterable

from .decision import Told
from .node import Node, Place

_MOST = 12


def of_places(told: Told, places: Iterable[str]) -> tuple[Node, ...]:
    """The lines that `FILE:LINE` name, the first of too many."""
    found = list(dict.fromkeys(places))
    nodes = []
    for at, where in enumerate(found[:_MOST], 1):
        uri, _, line = where.rpartition(":")
        text = told.world.lines.text(uri, int(line))
        nodes.append(Node(f"{at}", "", place=Place(uri, int(line), None, text)))
    more = len(found) - len(nodes)
    return (*nodes, *([Node("more", more, note="runs")] if more else []))
