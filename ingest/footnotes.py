"""What the marks of a document mean, by the legends that explain them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .statements import Statement

_MEANS = (
    ("hang", re.compile(r"\b(?:stuck|hangs?|hung)\b", re.I)),
    ("oom", re.compile(r"\boom\b|out of memory", re.I)),
    ("fail", re.compile(r"\b(?:fail\w*|crash\w*)\b", re.I)),
)
_ESTIMATED = re.compile(r"\bestimat", re.I)


class Footnotes:
    """The legends of one document by mark."""

    def __init__(self, legends: Iterable[Statement] = ()) -> None:
        self._legends: Mapping[str, Statement] = {one.subject or "": one for one in legends}

    def flags(self, marks: Iterable[str]) -> set[str]:
        """What marks say of a number: estimated, doubtful, or unexplained."""
        return {flag for mark in marks for flag in self._flags(mark)}

    def failure(self, mark: str) -> tuple[str, Statement] | None:
        """The failure that a mark's legend tells of (hang, oom, fail), and the legend."""
        legend = self._legends.get(mark)
        if legend is None:
            return None
        text = legend.detail["text"]
        return next(((kind, legend) for kind, words in _MEANS if words.search(text)), None)

    def _flags(self, mark: str) -> Iterator[str]:
        legend = self._legends.get(mark)
        if legend is None:
            yield "doubtful" if set(mark) == {"?"} else "unexplained_mark"
        elif _ESTIMATED.search(legend.detail["text"]):
            yield "estimated"
