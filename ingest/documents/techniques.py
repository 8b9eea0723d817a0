"""Techniques in the name of a row: `+ Activation Checkpointing`, `FSDP + no AC`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.cell_words import without_links
from .fact import Fact

_APART = re.compile(r"[;,+&|]|\band\b|\s(?=(?:with|without|w/o?)\s)", re.I)
_RECOMPUTE = (
    r"(?:activations?|act\.?|gradients?|grad)[ _-]?"
    r"(?:check-?point(?:ing|s)?|ckpt(?:ing)?|re-?comput(?:e|ation|ing)|remat(?:erialization)?)"
    r"|re-?comput(?:e|ation)|remat(?:erialization)?|激活重计算|重计算|梯度检查点|激活检查点"
)
_NAMED = re.compile(
    rf"(?P<no>(?:no|without|w/o|w\\o|disabl(?:e|ed|ing)|remov(?:e|ed|ing)|无|不使用|关闭)\s*)?"
    rf"(?:(?:with|w/|use|using|enabl(?:e|ing)|开启|使用)\s*)?"
    rf"(?P<kind>full|selective|全|选择性)?[ -]?(?:{_RECOMPUTE})"
    r"(?:\s*(?:[:=]\s*|\(\s*|is\s+)?(?P<state>on|enabled|true|yes|full|off|disabled|false|none|no"
    r"|selective)\s*\)?)?",
    re.I,
)
# Two letters are the word only within a list of techniques, or as `full AC`.
_SHORT = re.compile(
    r"(?P<no>(?i:no|w/o|without)\s+)?(?P<kind>(?i:full[\s-]+|selective[\s-]+|sel[\s-]))?(?:AC|SAC)(?:\s*[=:]\s*(?P<state>on|full|off|none|selective))?"
)
# Without a word for what is saved, `checkpointing` may save the model.
_SWITCHED = re.compile(
    r"(?:(?P<no>no|without)|(?P<kind>full|selective))\s+(?:check-?pointing|ckpt)"
    r"|(?:check-?pointing|ckpt)\s?[:=]?\s?(?P<state>on|enabled|off|disabled)",
    re.I,
)
_CODE = re.compile(r"\b[A-Za-z]{2,4}[ =]?\d{1,5}\b|\bopt? ?= ?\d\b")  # `MP4 recompute`
_OFF = frozenset(("off", "disabled", "false", "none", "no"))


def recompute_named(words: str, of_column: bool = False) -> str | None:
    """none, selective or full if the words of a row, or of a cell of a column of recompute, name
    one of them; else None.

    A part has to be the name alone: `checkpointing every 2nd layer` is another technique.
    """
    listed = of_column or "+" in words
    words = " ".join(
        without_links(words).split()
    )  # one space each: the length of a row has no limit
    parts = _APART.split(words)
    plain = (_CODE.sub("", part).strip(" *_`") for part in parts)
    kinds = {kind for part in plain if (kind := _kind_of(part, listed) or _behind(part, listed))}
    return kinds.pop() if len(kinds) == 1 else None


def recompute_added(heading: str, line: int) -> list[Fact]:
    """The recompute that a heading adds to what the runs below it have: `FSDP + AC`."""
    kind = recompute_named(heading) if "+" in heading else None
    return [Fact("recompute", kind, heading.strip(), line, "heading")] if kind else []


def techniques_of_rows(rows: Sequence[Sequence[str]]) -> frozenset[str]:
    """`recompute`, if a row adds it by name: the text around is then about that row."""
    added = (
        part
        for cells in rows
        for cell in cells
        if cell.lstrip(" *`_").startswith("+")
        for part in _APART.split(without_links(cell))
    )
    kinds = {_kind_of(part.strip(" *_`"), True) for part in added}
    return frozenset(("recompute",)) if kinds & {"full", "selective"} else frozenset()


def _behind(part: str, listed: bool) -> str | None:
    """What the part of a name behind its colon adds: `run B: grad ckpt OFF`."""
    return _kind_of(part.partition(": ")[2], listed)


def _kind_of(part: str, listed: bool) -> str | None:
    short = _SHORT.fullmatch(part)
    found = _NAMED.fullmatch(part) or (short if short and (listed or short["kind"]) else None)
    if found is None:
        switched = _SWITCHED.fullmatch(part)
        if switched is None or switched["kind"]:
            return switched["kind"].lower() if switched else None
        return "none" if switched["no"] or switched["state"].lower() in _OFF else "full"
    state = (found["state"] or found["kind"] or "").strip(" -").lower()
    if found["no"]:
        return None if state else "none"
    if state in _OFF:
        return "none"
    return "selective" if state in ("selective", "sel", "选择性") or "SAC" in part else "full"
