"""Runs that give no speed, and why; those that ran out of memory measure their configurations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..decide.rows import with_dp
from ..schema.warehouse import Row
from .setting import setting, words_of

OUT_OF_MEMORY = "oom"  # the status of a run
_SPLIT = (
    "device_count", "dp", "tp", "pp", "cp", "vpp", "mbs", "layers", "hidden", "heads",
)  # fmt: skip
_ALIKE = ("system", "size", "gbs", "seq_len")
_ONE = ("tp", "pp", "cp", "vpp")  # default to 1


def split_of(row: Row, dated: bool = True) -> tuple[Any, ...]:
    """A key equal for runs of one shape and settings with the same split, on one day or any."""
    words = words_of(row)
    if not dated:
        words.pop("date", None)
    return (*_sizes(row), frozenset(words.items()))


def _sizes(row: Row) -> tuple[Any, ...]:
    row = with_dp(row)
    return tuple(row[name] or (1 if name in _ONE else None) for name in _SPLIT)


@dataclass(frozen=True, slots=True)
class Failures:
    """The runs of a warehouse that ran out of memory."""

    rows: Sequence[Row]
    _known: dict[Hashable, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            self._known.setdefault(_key(row), []).append(row)

    def of(self, row: Row) -> tuple[Row, ...]:
        """Those of a configuration, on any day: a repair of the machine adds no memory."""
        return tuple(self._known.get(_key(row), ()))

    def told(self, row: Row) -> dict[str, Any]:
        """A predicted row with the failures of its configuration, which are no longer a risk."""
        found = self.of(row)
        return {**row, "failed": found, **({"out_of_memory": 1.0} if found else {})}


def failures(rows: Sequence[Row]) -> Failures:
    """The failures among runs that were left out of a fit."""
    return Failures([row for row in rows if row["status"] == OUT_OF_MEMORY])


def _key(row: Row) -> Hashable:
    return (*split_of(row, dated=False), *(row[name] for name in _ALIKE))


def only_failed(rows: Sequence[Row]) -> Mapping[str, Any] | None:
    """The first run of a model, if it ran out of memory and no run of it has a speed."""
    failed = [row for row in rows if row["status"] == OUT_OF_MEMORY]
    measured = any(row["pace"] is not None for row in rows if row["status"] != OUT_OF_MEMORY)
    return None if measured or not failed else failed[0]


_APART = 2.5  # times that ways of counting FLOPs, attention and recomputation may differ


def lacking(row: Row) -> str | None:
    """What a run does not state, or how it contradicts itself; None if a model can be fitted to it.

    Printed TFLOP/s that its own time is far from mean that one of its batch, devices and times is
    not what it seems: of a device, not the job.
    """
    if not row["device_count"]:
        return "no number of devices"
    one = setting(row)
    if one is None:
        return "no size of the model"
    if one.s_per_token is None:
        return "no tokens/s or TFLOP/s, and no step time at a known batch and sequence length"
    times = one.s_per_token / (one.s_per_token_by_flops or one.s_per_token)
    if max(times, 1 / times) > _APART:
        return f"its TFLOP/s are {times:.2g} times those of its time or tokens/s"
    return None
