"""Patterns that are searched only where a match is possible: each match contains one of few words.

A line is searched for dozens of patterns, and most lines hold none of their words. To look for
these takes a twentieth of the time, and a pattern that no text needs is never compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

# What `re` itself reads patterns with. It is not public and has no types: tests/test_prefilter.py
# proves what is made of it here.
_codes: Any = import_module("re._constants")
_parser: Any = import_module("re._parser")
_REPEATS = (_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT)
_NO_TEXT = (_codes.AT, _codes.ASSERT, _codes.ASSERT_NOT)
_MOST = 32  # words of one part
_ENOUGH = 3  # letters that tell a word from most others
Items = Sequence[tuple[Any, Any]]  # opcodes of a pattern and their values


class HintedPattern:
    """A regular expression that is compiled and searched only in texts with one of its hints."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """Words in small letters; each match contains one. None: it may match anywhere."""
        return hints(_parser.parse(self.pattern, self.flags))

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def may_match(self, text: str) -> bool:
        """Whether a text has a word without which nothing matches."""
        small = _small(text)
        for hint in self.hints:
            if hint in small:
                return True
        return not self.hints

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.regex.finditer(text) if self.may_match(text) else iter(())

    def search(self, text: str) -> re.Match[str] | None:
        return self.regex.search(text) if self.may_match(text) else None

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        # From a place within, hints of the rest would be looked for at each place again.
        return self.regex.match(text, at) if at or self.may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.regex.fullmatch(text) if self.may_match(text) else None

    def sub(self, by: str, text: str) -> str:
        return self.regex.sub(by, text) if self.may_match(text) else text


@lru_cache(8)
def _small(text: str) -> str:
    """The text in letters that are equal where `re.IGNORECASE` takes them for equal to ASCII."""
    small = text.casefold()
    return small if small.isascii() else small.replace("i\u0307", "i").replace("\u0131", "i")


def hints(items: Items) -> tuple[str, ...]:
    """The words of the part of a parsed pattern that says most; none if no part must match."""
    words = {_longest(one) for one in min(_parts(items), key=_reach, default=frozenset[str]())}
    kept = [one for one in words if not any(other in one for other in words - {one})]
    return tuple(sorted(kept))


def _longest(words: str) -> str:
    """One word of several, which are written apart, with a hyphen or together."""
    word = max(re.findall(r"[a-z]+", words), key=len, default="")
    return word if len(word) > _ENOUGH else words


def _reach(words: frozenset[str]) -> tuple[int, int]:
    """How likely it is that a text has one of the words: short ones are everywhere."""
    return -min(_ENOUGH, *map(len, words)), len(words)


def _parts(items: Items) -> Iterator[frozenset[str]]:
    """For each part of a pattern that must match: the words of which it contains one."""
    run = {""}
    for code, value in items:
        texts = _texts(code, value)
        if texts is not None and len(run) * len(texts) <= _MOST:
            run = {before + text for before in run for text in texts}
            continue
        yield from _usable(run)
        run = texts or {""}
        if texts is None:
            yield from _below(code, value)
    yield from _usable(run)


def _usable(texts: set[str]) -> Iterator[frozenset[str]]:
    """The texts, if none is empty and each has ASCII letters or a script without capitals."""
    if all(text and (text.isascii() or text.upper() == text.lower()) for text in texts):
        yield frozenset(texts)


def _below(code: Any, value: Any) -> Iterator[frozenset[str]]:
    if code is _codes.BRANCH:
        each = [min(_parts(one), key=_reach, default=None) for one in value[1]]
        known = [words for words in each if words]
        if len(known) == len(each):
            yield frozenset[str]().union(*known)
    elif code is _codes.SUBPATTERN:
        yield from _parts(value[3])
    elif code is _codes.ATOMIC_GROUP:
        yield from _parts(value)
    elif code in _REPEATS and value[0] > 0:
        yield from _parts(value[2])


def _texts(code: Any, value: Any) -> set[str] | None:
    """All texts that a part matches, in small letters; None if they are many or unknown."""
    if code is _codes.LITERAL:
        return {chr(value).casefold()}
    if code in _NO_TEXT:
        return {""}
    if code is _codes.SUBPATTERN:
        return _whole(value[3])
    if code is _codes.ATOMIC_GROUP:
        return _whole(value)
    if code is _codes.BRANCH:
        return _either([_whole(one) for one in value[1]])
    if code is _codes.IN:
        return _either([_texts(*one) for one in value])
    if code in _REPEATS and value[1] == 1:
        texts = _whole(value[2])
        return texts if texts is None or value[0] else texts | {""}
    return None


def _whole(items: Items) -> set[str] | None:
    found = {""}
    for code, value in items:
        texts = _texts(code, value)
        if texts is None or len(found) * len(texts) > _MOST:
            return None
        found = {before + text for before in found for text in texts}
    return found


def _either(each: Sequence[set[str] | None]) -> set[str] | None:
    known = [texts for texts in each if texts is not None]
    if len(known) < len(each):
        return None
    texts = set[str]().union(*known)
    return texts if len(texts) <= _MOST else None
