"""The quantity of a table as a text states it: `Training throughput in tokens/s/GPU`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...vocabulary.headings import column_of

_PER = r"\s*(?:/|per)\s*"
_DEVICE = r"(?:GPU|device|chip|NPU|TPU|HPU|card|accelerator|p)\b"
_SECOND = r"(?:s|sec|seconds?)"
_QUANTITY = re.compile(
    rf"(?<![\w/])(?:(?:tok(?:en)?s?|samples?|sequences?)(?:\s(?:trained|processed|seen))?{_PER}"
    rf"(?:{_SECOND}\b(?:{_PER}{_DEVICE})?|{_DEVICE}{_PER}{_SECOND}\b)"
    rf"|T(?:era)?FLOPs?(?:/s\b)?(?:{_PER}{_DEVICE})?|MFU|HFU|TGS"
    r"|(?:step|iteration) time(?:\s*\(\w{1,8}\))?"
    rf"|(?:m?s|secs?|seconds?){_PER}(?:step|iter\w*|it)\b)",
    re.I,
)
_OF_ALL = re.compile(
    r"\b(?:aggregated?|summed|sum|total|combined)\s(?:across|over|of|for)\s(?:all\s|the\s)*\d*\s?"
    r"(?:[A-Z]\w*\s)?(?:GPUs?|devices|chips|accelerators|NPUs|ranks|workers|nodes)",
    re.I,
)
_ANOTHER = re.compile(
    r"\b(?:memory|loss|accuracy|perplexity|times?|latency|cost|speed-?ups?|ratio|parameters|flops|scores?"
    r"|bandwidth|power|energy|utili[sz]ation|efficiency)\b",
    re.I,
)
_PASSED = re.compile(r"\s(?:trained|processed|seen)\b", re.I)


def quantity_in(texts: Sequence[str]) -> str:
    """The heading of the quantity in the first text that names any; "" for none or several."""
    for text in texts:
        found = {
            column.name: heading
            for match in _QUANTITY.finditer(text)
            if (column := column_of(heading := _PASSED.sub("", match[0])))
        }
        if len(found) == 1:
            heading = found.popitem()[1]
            total = column_of(f"Total {heading}") if _OF_ALL.search(text) else None
            return f"Total {heading}" if total and total == column_of(heading) else heading
        if found:
            return ""
    return ""


def quantity_above(lead: str, lines: Sequence[str]) -> str:
    """The quantity that the text of a section names before the paragraph right above a table.

    "" if that paragraph is about another one.
    """
    return "" if _ANOTHER.search(lead) else quantity_in([" ".join(lines)])
