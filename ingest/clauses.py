"""Sentences that set a value for each of several: `bf16 on A100 and fp8 on H100`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .fact import Fact
from .prose import lead_facts

_APART = re.compile(r"[,;]\s(?:and\s|but\s|while\s|whereas\s)?|\s(?:and|but|while|whereas)\s")
_WORDS = (
    r"(?:\d{1,4}(?:\.\d{1,2})?[BM]\b|[A-Za-z][\w+/-]{0,30})(?: (?!and\b|or\b)[\w+/-]{1,30}){0,2}"
)
_BEHIND = re.compile(
    rf"\s(?:(?:on|for|with|in)\s(?:the\s)?[`*]{{0,2}}(?P<name>{_WORDS})|\([`*]{{0,2}}(?P<inner>{_WORDS})[`*]{{0,2}}\))"
    r"[`*]{0,2}[.:]?$"
)
_BEFORE = re.compile(
    rf"^\W{{0,6}}(?P<name>{_WORDS})\s(?:uses?|used|runs?|ran|has|had|is|are|was|were)\s", re.I
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*")
_SPLIT = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(\d])")
_LONGEST = 300  # characters of a sentence
_FEWEST = 2


def facts_by_subject(text: str, line: int) -> list[Fact]:
    """The facts of a text that several of its clauses state of one subject each."""
    return [fact for one in _SPLIT.split(text) if len(one) <= _LONGEST for fact in _of(one, line)]


def without_subjects(facts: list[Fact], bound: list[Fact]) -> list[Fact]:
    """The facts, with those of fields that are bound replaced."""
    fields = {one.field for one in bound}
    return [*(one for one in facts if one.field not in fields), *bound]


def _of(sentence: str, line: int) -> list[Fact]:
    found: dict[str, list[Fact]] = {}
    for clause, subject in _clauses(sentence):
        for fact in lead_facts(clause, line):
            if fact.field not in ("device", "device_memory", "model_name", "size"):
                named = replace(fact, raw=sentence.strip(), only_named=subject, only_there=True)
                found.setdefault(fact.field, []).append(named)
    return [
        fact
        for facts in found.values()
        if min(len({one.only_named for one in facts}), len({one.value for one in facts})) >= _FEWEST
        for fact in facts
    ]


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Clauses and the subject of each; a bare value goes on with the words of the first one."""
    parts = _APART.split(sentence)
    number = _NUMBER.search(parts[0])
    lead = parts[0][: number.start()] if number else ""
    for at, part in enumerate(parts):
        behind, before = _BEHIND.search(part), _BEFORE.match(part)
        if behind:
            said, subject = part[: behind.start()], behind["name"] or behind["inner"]
        elif before:
            said, subject = part[before.end() :], before["name"]
        else:
            continue
        bare = at > 0 and _NUMBER.match(said.strip())
        yield (
            (f"{lead}{said.strip()}" if bare else said),
            " ".join(re.findall(r"[^\W_]+", subject.lower())),
        )
