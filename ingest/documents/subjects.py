"""Subjects of statements: `Eager: GA=1`, `For LoRA, ...` apply to the rows that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ...vocabulary.headings import column_of
from ...vocabulary.sizes import find_size
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
# `Eager, no graph mode` does not name graph mode; `Without CP` is a name itself.
_DENIED = re.compile(r"\b(?:no|not|non|without|w/o)\b[^,;:()/+|]*", re.I)
_MOST = 64  # subjects of a table
_ARTICLES = frozenset(("the", "a", "an"))
# A subject with one of these words is no single row.
_ALL = frozenset(
    re.findall(
        r"\w+",
        "we i you they it this that these those there which who what our ours all each every both"
        " most everything everyone training trainings run runs experiment experiments model models"
        " job jobs benchmark benchmarks test tests result results number numbers setup set config"
        " configuration configurations environment node nodes host hosts server servers machine"
        " machines instance instances cluster clusters system systems hardware gpu gpus device"
        " devices accelerator accelerators card cards batch batches size sizes length sequence"
        " sequences precision framework software code script scripts table tables row rows column"
        " columns section data dataset corpus optimizer memory world value values paper author"
        " authors step steps iteration iterations measurement measurements performance throughput"
        " timings checkpointing recomputation recompute parallelism sharding accumulation attention"
        " weights gradients activations parameters params layers heads vocabulary default defaults"
        " total average practice principle general addition particular parallel order contrast"
        " following above below network interconnect library version repository project team"
        " single one fixed common stack",
    )
)
_NONE: frozenset[str] = frozenset()
_LEAST = 3  # letters of a cell that may abbreviate a name


def subject_named(text: str) -> str | None:
    """The name at the beginning of a line or sentence, its subject; None for a setting."""
    found = _ITEM.match(text) or _FOR.match(text)
    if not found:
        return None
    name = found["name"].strip()
    return None if is_of_all(name) else " ".join(_words(name))


def is_of_all(subject: str) -> bool:
    """Whether a subject covers all rows, or is a setting: `we`, `Config`, `the batch size`."""
    words = words_of_name(subject).split()
    return (
        not words
        or not _ALL.isdisjoint(words)
        or bool(setting_field(subject) or column_of(subject) or find_size(subject))
    )


def words_of_name(name: str) -> str:
    """The words of a subject in small letters, without articles."""
    return " ".join(word for word in _words(name) if word not in _ARTICLES)


def without_subject(text: str) -> str:
    """A line without the subject at its beginning."""
    match = _ITEM.match(text)
    return text[match.end() :] if match and subject_named(text) else text


def of_subject(facts: Iterable[Fact], text: str) -> list[Fact]:
    """The facts, bound to the subject of the text, if it names one."""
    subject = subject_named(text)
    return [replace(fact, only_named=fact.only_named or subject) for fact in facts]


def of_table(facts: Sequence[Fact], rows: Sequence[Sequence[str]]) -> list[Fact]:
    """The facts; one whose subject no row names applies to all rows, unless others contradict.

    `rows`: the cells of each row in words.
    """
    every = list(dict.fromkeys(fact.only_named for fact in facts if fact.only_named))[:_MOST]
    texts = {cell for cells in rows for cell in cells} if every else set()
    named = {name for cell in texts for name in _named_by(cell, every)}
    foreign = {fact for fact in facts if fact.only_named and fact.only_named not in named}
    by_value: dict[str, dict[str | None, set[str | None]]] = {}
    for fact in foreign:
        by_value.setdefault(fact.field, {}).setdefault(fact.value, set()).add(fact.only_named)
    apart = {
        field for field, values in by_value.items()
        if len(values) > 1 and len(set().union(*values.values())) > 1
    }  # fmt: skip
    apart |= {fact.field for fact in facts if fact.only_named in named}
    return [
        replace(fact, only_named=None) if fact in foreign else fact
        for fact in facts
        if fact not in foreign or not (fact.only_there or fact.field in apart)
    ]


def named_by(cells: Iterable[str], subjects: Iterable[str]) -> frozenset[str]:
    """The subjects that a row's cells name: `Full fine-tuning` names `full`, and `full` it."""
    every = list(subjects)
    return frozenset(name for cell in cells for name in _named_by(cell, every)) if every else _NONE


def _named_by(cell: str, subjects: Sequence[str]) -> list[str]:
    """The subjects that a cell names; if none, those that begin with it."""
    whole, affirmed = (f" {' '.join(_words(text))} " for text in (cell, _DENIED.sub(",", cell)))
    found = [
        subject
        for subject in subjects
        if f" {subject} " in (whole if _DENIED.search(subject) else affirmed)
    ]
    if found or len(affirmed.strip()) < _LEAST:
        return found
    return [subject for subject in subjects if f" {subject} ".startswith(affirmed)]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
