"""Sentences that set values for some rows: `bf16 on A100 and fp8 on H100`, `Eager uses MBS 1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...vocabulary.hardware import device_pattern
from ...vocabulary.prefilter import HintedPattern
from .fact import Fact
from .frameworks import frameworks_in
from .model_families import families_in
from .prose import lead_facts
from .subjects import is_of_all, words_of_name

_APART = re.compile(r"[,;]\s(?:and\s|but\s|while\s|whereas\s)?|\s(?:and|but|while|whereas)\s")
_WORDS = (
    r"(?:\d{1,4}(?:\.\d{1,2})?[BM]\b|[A-Za-z][\w+/-]{0,30})(?: (?!and\b|or\b)[\w+/-]{1,30}){0,2}"
)
_AFTER = re.compile(
    rf"\s(?:(?:on|for|with|in)\s(?:(?:the|an?)\s)?[`*]{{0,2}}(?P<name>{_WORDS})|\([`*]{{0,2}}(?P<inner>{_WORDS})[`*]{{0,2}}\))"
    r"[`*]{0,2}[.:]?$"
)
_BEFORE = re.compile(
    rf"^\W{{0,6}}(?P<name>{_WORDS})\s(?:uses?|used|runs?|ran|has|had|is|are|was|were)\s(?!\()", re.I
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*")
_SPLIT = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\d])")
_LONGEST = 300  # characters of a sentence
_FEWEST = 2
# The devices of a site are not those of a run.
_INSTALLED = HintedPattern(
    r"\bsupercomputer\b|\b(?:has|have|having|with|consist\w*|compris\w+|equipped)\b[^.]{0,40}"
    r"\b(?:total of|in total)\b"
    r"|\b(?:in|the) (?:whole|entire|full) (?:system|cluster|machine)\b",
    re.I,
)
# Such a sentence may state another value for other rows.
_OTHERS = re.compile(r"\b(?:others?|rest|remaining)\b", re.I)


def facts_by_subject(text: str, line: int) -> list[Fact]:
    """The facts of a text whose clauses name one subject each."""
    sentences = (sentence for sentence in _SPLIT.split(text) if len(sentence) <= _LONGEST)
    return [
        fact for sentence in sentences if not is_installed(sentence) for fact in _of(sentence, line)
    ]


def is_installed(sentence: str) -> bool:
    """Whether a sentence is about the devices of a site, which are not those of a run."""
    return bool(_INSTALLED.search(sentence))


def without_clauses(text: str, bound: list[Fact]) -> str:
    """A text without the sentences with facts about one subject only."""
    stated = {fact.raw for fact in bound}
    others = (part for part in _SPLIT.split(text) if part.strip() not in stated)
    return " ".join(others) if stated else text


def without_subjects(facts: list[Fact], bound: list[Fact]) -> list[Fact]:
    """The facts, with those of fields that are bound replaced."""
    fields = {fact.field for fact in bound}
    return [*(fact for fact in facts if fact.field not in fields), *bound]


def _of(sentence: str, line: int) -> list[Fact]:
    groups: dict[str, list[Fact]] = {}
    for clause, subject in _clauses(sentence):
        for fact in _facts(clause, line):
            only = None if is_of_all(subject) else subject
            named = replace(fact, raw=sentence.strip(), only_named=only, only_there=bool(only))
            groups.setdefault(fact.field, []).append(named)
    several = [
        fact
        for facts in groups.values()
        if min(len({fact.only_named for fact in facts}), len({fact.value for fact in facts}))
        >= _FEWEST
        for fact in facts
    ]
    fields = {one.field for one in several}
    return [*several, *(fact for fact in _of_one(sentence, line) if fact.field not in fields)]


def _of_one(sentence: str, line: int) -> Iterator[Fact]:
    """The facts of a sentence about one subject: `Eager uses MBS 1`, `MBS 1 for eager`."""
    front, others = "", bool(_OTHERS.search(sentence))
    for clause in _APART.split(sentence):
        before, after = _BEFORE.match(clause), _AFTER.search(clause)
        front = words_of_name(before["name"]) if before else front
        leads = not is_of_all(front)
        subject = (
            front if leads else words_of_name(after["name"] or after["inner"]) if after else ""
        )
        if is_of_all(subject):
            continue
        # A device, a model or a trainer may be named though there is only one.
        known = device_pattern().search(subject) or frameworks_in(subject) or families_in(clause)
        for fact in _facts(clause, line):
            bound = replace(fact, raw=sentence.strip(), only_named=subject)
            yield replace(bound, only_there=others or (leads and not known))


def _facts(clause: str, line: int) -> Iterator[Fact]:
    for fact in lead_facts(clause, line):
        if fact.field not in ("device", "device_memory", "model_name", "size"):
            yield fact


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Clauses and the subject of each; a bare value repeats the words of the first clause."""
    parts = _APART.split(sentence)
    number = _NUMBER.search(parts[0])
    lead = parts[0][: number.start()] if number else ""
    for at, part in enumerate(parts):
        after, before = _AFTER.search(part), _BEFORE.match(part)
        if after:
            value, subject = part[: after.start()], after["name"] or after["inner"]
        elif before:
            value, subject = part[before.end() :], before["name"]
        else:
            continue
        bare = at > 0 and _NUMBER.match(value.strip())
        yield (f"{lead}{value.strip()}" if bare else value), words_of_name(subject)
