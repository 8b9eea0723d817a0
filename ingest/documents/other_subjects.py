"""Sentences about others: comparisons, plans, quotations and defaults state no facts of a table."""

from __future__ import annotations

import re

from ...vocabulary.prefilter import HintedPattern

_PLAN = r"plan(?:s|ned|ning)? to|(?:will|want to|going to|would like to) (?:try|test|run|use)"
# After a statement: `We use MBS 2, and plan to try 4.`
_THEN = re.compile(rf",?\s(?:and|but)\s(?:we\s)?(?:now\s|then\s|later\s)?(?:{_PLAN})\b", re.I)
_OTHERS = HintedPattern(
    r"\b(?:(?:for|in|by) comparison|others (?:report|claim|use|get|got|reach|ran|have)\w*"
    r"|the (?:original |\w+ )?papers?|(?:its|their) authors?"
    r"|according to(?! (?:our|the (?:logs?|launch|job|scripts?|config\w*))\b)"
    rf"|says? that|who says?|suggest(?:s|ed)?|{_PLAN}|next,? we"
    r"|for example|for instance|one (?:could|can|may|might)"
    r"|you (?:could|can|may|might)(?! (?:reproduce|repeat|re-?run) (?:our|these)\b)"
    r"|(?:is|are) recommended|we recommend|could (?:use|try)|hypothetically)\b"
    r"|(?:^|[.!?]\s)\W{0,6}(?:defaults?\s?:|e\.?g\.?\s)"
    r"|\bflops (?:for|of|per) [^.]{0,60}\bis\b",
    re.I,
)
_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*(\d])")
_ENDED = (".", "!", "?", ":", ";")


def without_others(text: str, goes_on: bool = False) -> tuple[str, bool]:
    """A line without its sentences about others, and whether the last continues on the next line.

    `goes_on`: the previous line ended within one.
    """
    if not (goes_on or _OTHERS.search(text)):
        return text, False
    kept, dropped = [], goes_on
    for at, sentence in enumerate(_END.split(text)):
        within = at == 0 and goes_on
        dropped = within or bool(_OTHERS.search(sentence))
        own = "" if within else _before_a_plan(sentence) if dropped else sentence
        if own:
            kept.append(own)
    return " ".join(kept), dropped and not text.rstrip(" *_`)").endswith(_ENDED)


def _before_a_plan(sentence: str) -> str:
    """The part of a sentence before a plan, which states what was done."""
    plan = _THEN.search(sentence)
    done = sentence[: plan.start()] if plan else ""
    return "" if _OTHERS.search(done) else done
