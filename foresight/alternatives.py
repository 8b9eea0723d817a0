"""What an answer names next to a prediction: other devices, a split with room, the change.

`start` is the `Start` of `answers.py`, which imports this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..schema.warehouse import Row
from .failures import split_of
from .setting import system_of

LIKELY = 0.5  # a probability of out of memory above which a configuration is not ranked
_HARDLY = 0.1
_SPLIT = ("dp", "tp", "pp", "cp", "vpp", "mbs")


def with_room(start: Any, row: Row, request: Mapping[str, Any]) -> Row | None:
    """For a configuration that probably runs out of memory, the fastest split of its devices that
    hardly does, else the one with the most room; None where all probably do."""
    if (row["out_of_memory"] or 0.0) <= LIKELY:
        return None
    kept = {name: size for name, size in request.items() if name not in _SPLIT}
    same = {"nodes": row["nodes"]} if row["nodes"] else {}
    rows, _ = start.ranked(start.rated(start.splits({**kept, **same})), [])
    hardly = [one for one in rows if (one["out_of_memory"] or 0.0) <= _HARDLY]
    return min(hardly[:1] or rows, key=lambda one: one["out_of_memory"] or 0.0, default=None)


def elsewhere(start: Any) -> list[str]:
    """The other devices that the model was measured on, of those that a start was chosen from; none
    for a size that was never measured."""
    if start.model:
        return []
    here = system_of(start.base)
    alike = [row for row in start.rows if row["size"] == start.base["size"] and row["device"]]
    found = {str(system_of(row)): row["device"] for row in alike if system_of(row) != here}
    return sorted(found.values())


def change(row: Row) -> dict[str, Any] | None:
    """The change of the rate of a device from the measured run that a prediction starts from; None
    for the same configuration, or another model."""
    base = row["base"]
    before = base["tokens_per_s_per_device"]
    same = split_of(base) == split_of(row) and all(base[of] == row[of] for of in ("gbs", "seq_len"))
    if same or not before or base["size"] != row["size"]:
        return None
    each = [row[f"tokens_per_s_per_device{end}"] / before - 1 for end in ("", "_low", "_high")]
    middle, low, high = (f"{one:+.1%}" for one in each)
    return {"change": each[0], "text": f"{middle} ({low} to {high})"}
