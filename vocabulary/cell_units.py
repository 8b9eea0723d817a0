"""The units of numbers in cells, by the kind of column."""

from __future__ import annotations

import re

from .headings import Column

# `tokens/s/p`, as Chinese pages write it
DEVICE = "GPU|gpu|device|chip|NPU|HPU|TPU|GCD|card|卡|p"
_UNITS = {
    "time": r"(?:[uµμ]s|ms|msec|milliseconds?|secs?|seconds?|s|mins?|minutes?|hours?|hrs?|h"
    r"|秒钟?|分钟|小时)"
    r"(?:/(?:it|iter|iteration|step)s?)?",
    "memory": r"[KMGT]i?B|bytes",
    "clock": r"[MG]?Hz",
    "percent": r"%",
    "power": r"k?W(?:atts?)?",
    "energy": r"[kMG]?Wh|[kMG]?J",
    "price": r"USD|\$",
    "rate": rf"[TPG]FLOP(?:s|/s|S)?(?:/(?:{DEVICE}))?"
    r"|(?:tok(?:en)?s?|samples?|seq(?:uence)?s?|sentences?|examples?)/s(?:ec(?:ond)?)?"
    rf"(?:/(?:{DEVICE}))?"
    r"|(?:it|iter|iteration|step)s?/s(?:ec(?:ond)?)?",
}
_UNITS["throughput"] = f"{_UNITS['time']}|{_UNITS['rate']}"
ANY_UNIT = "|".join(_UNITS.values())
_OF_STEPS = re.compile(
    r"(?:it|iter|iteration|step)s?/s(?:ec(?:ond)?)?|(?:m?s|secs?)/(?:it|iter|iteration|step)", re.I
)


def fits(unit: str, column: Column) -> bool:
    """Whether a column's numbers may have a unit; none is of a count."""
    if column.type == "count":
        return False
    if column.metric == "step_time_s" and _OF_STEPS.fullmatch(unit):
        return True  # `1.3s/it` under it/s, as progress bars invert it
    if column.type == "rate" and _quantity(unit) != _quantity(column.metric or ""):
        return False
    return column.type not in _UNITS or bool(re.fullmatch(_UNITS[column.type], unit, re.I))


def _quantity(text: str) -> str | None:
    match = re.search(r"flop|(?P<sequence>sample|seq|sentence|example)|tok", text, re.I)
    return "sample" if match and match["sequence"] else match[0].lower() if match else None
