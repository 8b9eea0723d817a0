"""Times printed in several units: `3 min 16 sec`, `2h10m`, `4m53s`."""

from __future__ import annotations

import re

from .cell import Cell
from .cell_pieces import half_digit

_LONG = re.compile(
    r"(?P<about>[~≈]\s?)?(?:(?P<d>\d{1,3})\s?d(?:ays?)?[\s,]*+)?(?:(?P<h>\d{1,4})\s?h(?:(?:ou)?rs?)?[\s,]*+)?"
    r"(?:(?P<m>\d{1,2})\s?m(?:ins?|inutes?)?[\s,]*+)?(?:(?P<s>\d{1,2}(?:\.\d{1,3})?)\s?s(?:ecs?|econds?)?)?\s*",
    re.I,
)
_PART_OF = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}  # seconds


def duration(raw: str) -> Cell | None:
    """A time in several units, in seconds, half of the last unit about it."""
    match = _LONG.fullmatch(raw)
    parts = [name for name in _PART_OF if match and match[name]]
    if match is None or len(parts) < 2:
        return None
    value = sum(float(match[name]) * _PART_OF[name] for name in parts)
    half = _PART_OF[parts[-1]] * half_digit(match[parts[-1]])
    text = "about" if match["about"] else None
    return Cell(raw, "number", value, 0, half, "s", text, pieces=(["word", raw],))
