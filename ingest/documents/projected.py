"""Tables of which the text says that nobody measured them: projections, estimates, suppositions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .context import is_aside
from .markdown import Heading, TextLine

_ESTIMATED = re.compile(
    r"\b(?:estimat(?:es?|ed|ions?)|theoretical(?:ly)?|predicted|performance predictions?"
    r"|proposed (?:\w+ )?(?:config\w*|set-?ups?|runs?|plans?|layouts?))\b"
    r"|预估|预计|估[算计]|理论(?:值|上|性能|计算|显存|吞吐)|推定|見積",
    re.I,
)
# A comparison has both; `measured, not estimated` has no estimate.
_MEASURED = re.compile(
    r"\b(?:measur\w+|actual\w*|achieved|observed|real|vs|versus|against|not)\b|实测|实际|对比|実測",
    re.I,
)
# Worked out from rates that were measured.
_TIMES = re.compile(r"\b(?:times?|tokens?|finish|costs?|prices?) estimat(?:es?|ions?)\b", re.I)
_SEVERAL = re.compile(r",|&|\band\b|[、和及与]", re.I)  # `Throughput and time estimates`
_SUPPOSED = re.compile(
    r"^\W*(?:let(?:'s|’s| us) )?(?:suppose|assum(?:e|ing)|imagine|假设|假定)\b", re.I
)
_OPENS = re.compile(r"^\W*(?:\w+[ -]){0,2}$")  # words before that of an estimate
_SENTENCE = re.compile(r"(?<=[.!?。;])\s+")


def is_projected(path: Sequence[Heading], lead: Sequence[TextLine], about: bool) -> bool:
    """Whether a heading but the title, or the sentence above a table, says that nobody measured it.

    `about`: all its results are about a number, as in `~50k`: then what is expected counts, too.
    """
    headings = [one.text for one in path if one.level > 1 or one is path[-1]]
    if any(
        is_aside(one, "projected") or (about and is_aside(one, "expected")) or _estimates(one)
        for one in headings
    ):
        return True
    sentence = _SENTENCE.split(lead[-1].text.strip())[-1] if lead else ""
    if not sentence.rstrip(" *_").endswith((":", "：")):
        return False
    opening = _ESTIMATED.search(sentence)
    led = opening and _OPENS.search(sentence[: opening.start()]) and not _MEASURED.search(sentence)
    return bool(led or _SUPPOSED.search(sentence))


def _estimates(heading: str) -> bool:
    """Whether a heading names estimates alone."""
    return bool(
        _ESTIMATED.search(heading)
        and not any(known.search(heading) for known in (_MEASURED, _TIMES, _SEVERAL))
    )
