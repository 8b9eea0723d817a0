"""The unit in a heading: in brackets, or after a word for memory."""

from __future__ import annotations

import re

IN_BRACKETS = re.compile(r"[\(\[]\s*+(?:in\s++)?+((?>[^)\]]*[^)\]\s]))\s*+[\)\]]\s*$")
_TIME_UNITS = {
    "us": "us", "µs": "us", "μs": "us", "microseconds": "us", "ms": "ms", "msec": "ms",
    "s": "s", "sec": "s", "secs": "s", "seconds": "s", "min": "min", "mins": "min",
    "minutes": "min", "milliseconds": "ms", "h": "h", "hr": "h", "hrs": "h", "hours": "h",
}  # fmt: skip
_PER_STEP = re.compile(r"(?<!\s)\s*(?:/|per)\s*(?:it|iter|iteration|step)s?$")  # of `s/it`
_OF_PARAMS = re.compile(r"(?<!\s)\s*(?:params?|parameters)$")
_SIZE_UNITS = {"b": "B", "billion": "B", "billions": "B", "m": "M", "million": "M", "millions": "M"}
_MEMORY_UNITS = {"mb": "MB", "mib": "MiB", "gb": "GB", "gib": "GiB", "tb": "TB"}
_UNITS = {
    "time": _TIME_UNITS,
    "throughput": _TIME_UNITS,
    "memory": _MEMORY_UNITS,
    "percent": {"%": "%"},
    "power": {"w": "W", "kw": "kW", "watts": "W"},
    "energy": {"wh": "Wh", "kwh": "kWh", "mwh": "MWh", "j": "J", "kj": "kJ", "mj": "MJ"},
    "label": _SIZE_UNITS,
}


def unit_of(heading: str, cells: str) -> str | None:
    """The unit in a heading, for cells of a type."""
    match = IN_BRACKETS.search(heading)
    unit = match[1].strip().lower() if match else ""
    if cells == "time":
        unit = _PER_STEP.sub("", unit)
    if cells == "label":  # `Model size (billion params)`
        unit = _OF_PARAMS.sub("", unit)
    printed = _UNITS.get(cells, {}).get(unit)
    if printed is None and cells == "memory" and heading.split():
        printed = _MEMORY_UNITS.get(heading.split()[-1].lower())  # `Peak memory GB`
    return printed


def is_in_tokens(heading: str) -> bool:
    """`GlobalBatchSize (T)`"""
    match = IN_BRACKETS.search(heading)
    return bool(match and re.fullmatch(r"(?:[kKmM]\s?)?(?:T|tok(?:en)?s?)", match[1].strip(), re.I))
