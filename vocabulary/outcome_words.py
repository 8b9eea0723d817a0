"""How a run ended, by the words of its cells: failures, and mere risks."""

from __future__ import annotations

import re
from functools import lru_cache

_FAILURE = re.compile(
    r"\bOOMs?\b|out of memory|\bfail(?:s|ed|ure)?\b|\bhangs?\b|\bhung\b|\bcrash(?:es|ed)?\b"
    r"|\btime-?out\b|\btimed out\b|\bNaN\b|\bDNF\b|\bdid not finish\b|\bkilled\b|\baborted\b"
    r"|\berror(?:ed)?\b|\bcancel+ed\b",
    re.I,
)
_RISK = re.compile(
    r"\b(?:may|might|could)\s+(?:hang|oom|fail)|borderline|close to oom|almost oom|oom[- ]prone",
    re.I,
)
_DENIED = re.compile(
    r"\b(?:no|never|without|did(?: not|n't)|does(?: not|n't)"
    r"|(?:baselines|others|competitors)(?: all)?)\s+(?:an?\s+)?"
    r"(?:ooms?|oomed|out of memory|hang(?:s|ing)?|fail(?:s|ed|ures?)?|time-?outs?|nans?)\b",
    re.I,
)
_KINDS = {
    "oom": "oom",
    "out": "oom",
    "han": "hang",
    "hun": "hang",
    "tim": "timeout",
    "nan": "nan",
    "can": "cancelled",
}  # by the first letters of the word

_REMEMBERED = 1 << 12  # texts: words for an end, configurations and labels repeat in many rows


@lru_cache(_REMEMBERED)
def failure_of(text: str) -> str | None:
    """oom, hang, fail, timeout or nan, if the words of a cell report it; not for mere risks."""
    if _RISK.search(text):
        return None
    found = [
        _KINDS.get(match[0].lower()[:3], "fail")
        for match in _FAILURE.finditer(_DENIED.sub(" ", text))
    ]
    # `FAIL (OOM)`: the cause tells more
    return next((kind for kind in found if kind != "fail"), found[0] if found else None)


@lru_cache(_REMEMBERED)
def risk_of(text: str) -> str | None:
    """oom_risk, hang_risk or fail_risk, if the words of a cell report the possibility."""
    match = _RISK.search(text)
    if not match:
        return None
    words = match[0].lower()
    return "hang_risk" if "hang" in words else "fail_risk" if "fail" in words else "oom_risk"
