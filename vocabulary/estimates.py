"""Headings of results that nobody measured: `Est. tokens/s`, `Memory (theoretical)`."""

from __future__ import annotations

import re

_ESTIMATED = re.compile(r"\b(?:est|estimated?|theoretical|predicted)(?![^\W_])", re.I)
# Shares of the peak and FLOPs are worked out from what was measured, whatever they are called.
_MEASURED = re.compile(
    r"(?:mem|step_time|steps_per|tokens_per|samples_per|throughput|train_time)\w*"
)


def is_estimate(name: str, heading: str) -> bool:
    """Whether a heading of a result of this name says that it is an estimate."""
    return bool(_MEASURED.fullmatch(name) and _ESTIMATED.search(heading))
