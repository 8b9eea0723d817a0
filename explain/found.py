"""What was asked for and what was found: trees, and places where only a line is told."""

from __future__ import annotations

from dataclasses import dataclass

from ..audit.finding import Finding
from .node import Node, Place


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
    kind: str  # run, place, number, formula
    matches: tuple[Match, ...]
    more: int = 0
    findings: tuple[Finding, ...] = ()
    versions: tuple[Version, ...] = ()
    notes: tuple[str, ...] = ()


__all__ = ["Answer", "Match", "Node", "Place", "Version"]
