"""Of which rows a statement is: `Eager: GA=1`, `For LoRA, ...` hold for the rows that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..vocabulary.headings import column_of
from ..vocabulary.sizes import find_size
from .context import setting_field
from .fact import Fact

_NAME = r"(?P<name>[A-Za-z][\w.+/-]{0,30}(?: [\w.+/-]{1,30}){0,3})"
_ITEM = re.compile(
    rf"^\s*(?:[-*+•]\s+|\d{{1,3}}[.)]\s+)?[*_`]{{0,3}}{_NAME}[*_`]{{0,3}}"
    r"(?:\s?\([^()]{1,60}\))?[*_`]{0,3}\s?[:：][*_`]{0,3}\s"
)
_FOR = re.compile(
    rf"^\W{{0,6}}(?:for|with|using|in)\s(?:the\s)?[*_`]{{0,3}}{_NAME}[*_`]{{0,3}},\s", re.I
)
_WORD = re.compile(r"[^\W_]+")
# `Eager, no graph mode` says nothing of graph mode; `Without CP` is a name itself.
_DENIED = re.compile(r"\b(?:no|not|non|without|w/o)\b[^,;:()/+|]*", re.I)
_MOST = 64  # subjects of a table
_NONE: frozenset[str] = frozenset()
_LEAST = 3  # letters of a cell that stands for the beginning of a name


def subject_named(text: str) -> str | None:
    """The name that a line or sentence begins with, of whom it speaks; none of a setting."""
    found = _ITEM.match(text) or _FOR.match(text)
    if not found:
        return None
    name = found["name"].strip()
    known = setting_field(name) or column_of(name) or find_size(name)
    return None if known else " ".join(_words(name))


def without_subject(text: str) -> str:
    """What a line says of whom it names first."""
    found = _ITEM.match(text)
    return text[found.end() :] if found and subject_named(text) else text


def of_subject(facts: Iterable[Fact], text: str) -> list[Fact]:
    """The facts, bound to the rows that the text speaks of, where it names any."""
    subject = subject_named(text)
    return [replace(one, only_named=one.only_named or subject) for one in facts]


def of_table(facts: Sequence[Fact], rows: Sequence[Sequence[str]]) -> list[Fact]:
    """The facts; one whose subject no row names is of all rows, unless others say otherwise.

    `rows`: the cells of each row in words.
    """
    every = list(dict.fromkeys(one.only_named for one in facts if one.only_named))[:_MOST]
    texts = {cell for cells in rows for cell in cells} if every else set()
    named = {name for cell in texts for name in _named_by(cell, every)}
    foreign = {one for one in facts if one.only_named and one.only_named not in named}
    said: dict[str, dict[str | None, set[str | None]]] = {}
    for one in foreign:
        said.setdefault(one.field, {}).setdefault(one.value, set()).add(one.only_named)
    apart = {
        field for field, values in said.items()
        if len(values) > 1 and len(set().union(*values.values())) > 1
    }  # fmt: skip
    apart |= {one.field for one in facts if one.only_named in named}
    return [
        replace(one, only_named=None) if one in foreign else one
        for one in facts
        if one not in foreign or not (one.only_there or one.field in apart)
    ]


def named_by(cells: Iterable[str], subjects: Iterable[str]) -> frozenset[str]:
    """The subjects that a row's cells say: `Full fine-tuning` says `full`, and back."""
    every = list(subjects)
    return frozenset(name for cell in cells for name in _named_by(cell, every)) if every else _NONE


def _named_by(cell: str, subjects: Sequence[str]) -> list[str]:
    """The subjects that a cell says; where there are none, those of which it is the beginning."""
    whole, said = (f" {' '.join(_words(text))} " for text in (cell, _DENIED.sub(",", cell)))
    found = [one for one in subjects if f" {one} " in (whole if _DENIED.search(one) else said)]
    if found or len(said.strip()) < _LEAST:
        return found
    return [one for one in subjects if f" {one} ".startswith(said)]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
