"""Derivations in the heads of SQL files: the edges of the graph of metrics.

A head has one line for each way to make its value: the first with a true condition is used, else
the last. `bench explain` follows them, so the arithmetic is in SQL alone, with its
description next to it.

    -- from: tokens_per_s / devices | unit tokens/s of a device
    -- from: F7(b=gbs, s=seq_len, l=layers, ...) | when model_formula = 'F7'
    -- from: as printed | of printed tokens_per_s | when rate_from = 'tokens_per_s'

The part before the first `|` is the arithmetic, with a formula's id before it or as a call of it;
or `stated`, `printed`, or `assumed`. The parts after it, each once: `of` names the inputs if the
arithmetic does not; `when` is a SQL condition over the columns of `selected`, by default that all
inputs are known; `value` and `note` are SQL over them too, and `unit` is a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CALL = re.compile(r"([A-Z]\d+[A-Z]?)\((.*)\)")
_FORMULA = re.compile(r"([A-Z]\d+[A-Z]?): (.+)")
_NAME = re.compile(r"(?<![\w.])[a-z]\w+")
_SOURCE = re.compile(
    r'(?:(?P<kind>printed|stated) )?(?:(?P<scale>\d[\de.]*)\*)?(?P<name>\w+)(?: "(?P<note>[^"]*)")?'
)
_WORDS = frozenset(("x", "else", "as", "printed", "one", "process", "device"))
_ALONE = re.compile(r"(?:printed|stated)(?: \w+)?")


@dataclass(frozen=True, slots=True)
class Source:
    """One possible origin of an input: a column, a printed metric, or a constant."""

    name: str  # '' is the explained value itself
    kind: str = ""  # printed, stated, or '': a node of the graph if there is one, else stated
    scale: float | None = None
    note: str = ""

    @property
    def constant(self) -> int | None:
        """The number of a constant."""
        return int(self.name) if self.name.isdigit() else None


@dataclass(frozen=True, slots=True)
class Input:
    """An input under its name in the arithmetic; the first known source is used."""

    name: str  # '' keeps the name of the source
    sources: tuple[Source, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to make a value. Without `expression` it is its only input, renamed."""

    inputs: tuple[Input, ...]
    expression: str = ""
    formula: str = ""
    when: str = "true"
    value: str = ""
    unit: str = ""
    note: str = ""


def parse_way(text: str) -> Alternative:
    """Parse one line of a head. Raises ValueError for invalid syntax."""
    first, *rest = text.split(" | ")
    more = dict(part.split(" ", 1) for part in rest)
    if unknown := more.keys() - {"of", "when", "value", "unit", "note"}:
        raise ValueError(f"no such part of a derivation: {', '.join(sorted(unknown))}")
    expression, formula, inputs = _arithmetic(first.strip(), more.get("of"))
    when = more.get("when") or " AND ".join(filter(None, map(_known, inputs))) or "true"
    return Alternative(
        inputs, expression, formula, when, more.get("value", ""), more.get("unit", ""),
        more.get("note", ""),
    )  # fmt: skip


def _arithmetic(text: str, given: str | None) -> tuple[str, str, tuple[Input, ...]]:
    inputs = tuple(map(_input, given.split(", "))) if given else ()
    if call := _CALL.fullmatch(text):
        return "", call[1], tuple(map(_input, call[2].split(", ")))
    if text == "assumed":
        return "", "", ()
    if not given and _ALONE.fullmatch(text):
        return "", "", (_input(text),)
    formula = ""
    if named := _FORMULA.fullmatch(text):
        formula, text = named[1], named[2]
    if not inputs:
        names = dict.fromkeys(_NAME.findall(text))
        inputs = tuple(_input(name) for name in names if name not in _WORDS)
    return text, formula, inputs


def _input(text: str) -> Input:
    name, equals, sources = text.strip().rpartition("=")
    optional = sources.endswith("?")
    return Input(
        name if equals else "",
        tuple(map(_source, sources.removesuffix("?").split(" or "))),
        optional,
    )


def _source(text: str) -> Source:
    if text in ("printed", "stated"):
        return Source("", text)
    match = _SOURCE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no input of a derivation: {text!r}")
    scale = float(match["scale"]) if match["scale"] else None
    return Source(match["name"], match["kind"] or "", scale, match["note"] or "")


def _known(one: Input) -> str:
    """A condition over `selected`: the input is known."""
    if one.optional or any(s.constant is not None or s.kind or not s.name for s in one.sources):
        return ""
    return f"coalesce({', '.join(source.name for source in one.sources)}) IS NOT NULL"
