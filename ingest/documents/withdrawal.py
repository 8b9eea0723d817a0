"""Words by which an author withdraws a table: `these numbers are wrong`, `do not use them`."""

from __future__ import annotations

import re

from ...vocabulary.prefilter import HintedPattern

_OF = (
    r"(?:tables?|numbers?|results?|measurements?|T\w*FLOP\S*|rows|figures|benchmarks?|values"
    r"|timings?|data)"
)
_BAD = (
    r"(?:invalid|incorrect|wrong|bogus|not valid|not correct|unreliable|not reliable"
    r"|not trustworthy|misleading|retracted|withdrawn|broken|off by)"
)
_WITHDRAWN = HintedPattern(
    rf"\b(?:this|these|the|all|above|below|following)\s+(?:[\w-]+\s+){{0,4}}?{_OF}"
    r"(?:\s+[\w-]+){0,4}?\s+(?:is|are|was|were|seems?|turned out)\s+"
    rf"(?:[\w-]+\s+){{0,2}}?{_BAD}\b"
    rf"|\b{_OF}\s+(?:is|are)\s+(?:all\s+)?{_BAD}\b"
    rf"|\b(?:do not|don't|please don't|never)\s+(?:use|trust|rely on|cite|quote|believe)\s+"
    rf"(?:any of\s+)?(?:this|these|the|those)?\s*(?:[\w-]+\s+){{0,3}}?(?:{_OF})\b"
    rf"|^\W*(?:invalid|withdrawn|retracted|deprecated numbers)\b"
    r"|(?:数据|结果|表格|性能数字)[^。]{0,10}(?:作废|无效|有误|不准确)",
    re.I,
)
# Conditions, and statements about others.
_IF = re.compile(
    r"\b(?:if|unless|would|could|might|whether|when|once|otherwise|paper|their)\b", re.I
)
_STRUCK = re.compile(r"^\s*~~.+~~\s*$")


def withdraws(text: str) -> bool:
    """Whether a line of prose withdraws the table that it is about."""
    return bool(_WITHDRAWN.search(text)) and not _IF.search(text)


def is_struck(heading: str) -> bool:
    """Whether a heading is struck out, or withdraws what is below it."""
    return bool(_STRUCK.match(heading)) or withdraws(heading)
