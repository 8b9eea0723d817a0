"""Sentences of others: a comparison, a plan, a quotation or a default lends nothing to a table."""

from __future__ import annotations

import re

_OTHERS = re.compile(
    r"\b(?:(?:for|in|by) comparison|the (?:original |\w+ )?papers?|(?:its|their) authors?"
    r"|according to|thanks to|says? that|who says?|suggest(?:s|ed)?"
    r"|plan(?:s|ned|ning)? to|next,? we"
    r"|(?:will|want to|going to|would like to) (?:try|test|run|use)"
    r"|for example|for instance|one (?:could|can|may|might)|you (?:could|can|may|might)"
    r"|(?:is|are) recommended|we recommend|could (?:use|try)|hypothetically)\b"
    r"|(?:^|[.!?]\s)\W{0,6}(?:defaults?\s?:|e\.?g\.?\s)"
    r"|\bflops (?:for|of|per) [^.]{0,60}\bis\b",
    re.I,
)
_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*(\d])")
_ENDED = (".", "!", "?", ":", ";")


def without_others(text: str, goes_on: bool = False) -> tuple[str, bool]:
    """A line without its sentences of others, and whether the last of these goes on behind it.

    `goes_on`: the line before it ended within one.
    """
    if not (goes_on or _OTHERS.search(text)):
        return text, False
    kept, dropped = [], goes_on
    for at, sentence in enumerate(_END.split(text)):
        dropped = bool(_OTHERS.search(sentence)) or (at == 0 and goes_on)
        if not dropped:
            kept.append(sentence)
    return " ".join(kept), dropped and not text.rstrip(" *_`)").endswith(_ENDED)
