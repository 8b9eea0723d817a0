"""The spread of jobs of one configuration, on a day and between days of a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..schema.warehouse import Row
from .setting import Setting

_ALIKE = math.log(1.1)  # tolerance for days of equal duration of a configuration


@dataclass(frozen=True, slots=True)
class Apart:
    """Jobs that show the variation of a machine; `low`, `high`: their ln(device-seconds a token)
    less `middle`, that of the day of the prediction."""

    middle: float
    low: float
    high: float
    rows: tuple[Row, ...]
    itself: bool  # jobs of the predicted configuration, not of a neighbor

    def ends(self, mean: float, width: float) -> tuple[float, float]:
        """The ends of an interval of ln(cost) about the prediction that includes these jobs."""
        middle = self.middle if self.itself else mean
        return min(mean - width, middle + self.low), max(mean + width, middle + self.high)


def apart(rows: Sequence[Row], settings: Sequence[Setting], setting: Setting) -> Apart | None:
    """The jobs of a configuration, or else those of the least steady one of its source, model and
    devices, from the first day on with the machine's state of the prediction's day.

    Jobs before a repair do not count; a machine that was slow between two fast days may be slow
    again.
    """
    day = setting.other_settings.get("date")
    here = [
        (row, run)
        for row, run in zip(rows, settings, strict=True)
        if (run.source, run.system, run.model, run.devices)
        == (setting.source, setting.system, setting.model, setting.devices)
    ]
    groups: dict[object, list[tuple[Row, Setting]]] = {}
    for row, run in here:
        groups.setdefault(run.group_any_day, []).append((row, run))
    own = _of(groups.pop(setting.group_any_day, []), day)
    if own and len(own.rows) > 1:
        return own
    spreads = [found for jobs in groups.values() if (found := _of(jobs, day))]
    # The fit treats differences within a day as noise; days differ by more.
    spreads = [replace(spread, itself=False) for spread in spreads if len(spread.rows) > 1]
    return max(spreads, key=lambda spread: spread.high - spread.low, default=own)


def _of(jobs: Sequence[tuple[Row, Setting]], day: str | None) -> Apart | None:
    today = [
        math.log(run.s_per_token)
        for _, run in jobs
        if run.other_settings.get("date") == day and run.s_per_token
    ]
    if not today:
        return None
    middle = today[0]
    dated = [
        (run.other_settings.get("date") or "", row, run) for row, run in jobs if run.s_per_token
    ]
    first = min(
        of for of, _, run in dated if abs(math.log(run.s_per_token or 1) - middle) <= _ALIKE
    )
    since = [(row, run) for of, row, run in dated if of >= first]
    ends = [end - middle for row, run in since for end in _ends(row, run)]
    return Apart(middle, min(ends), max(ends), tuple(row for row, _ in since), itself=True)


def _ends(row: Row, run: Setting) -> list[float]:
    """ln(device-seconds a token) of the slowest and the fastest of the jobs of a day."""
    rates = [row[end] for end in ("tokens_per_s_low", "tokens_per_s_high")]
    known = [math.log(run.devices / rate) for rate in rates if rate] if run.jobs > 1 else []
    return [math.log(run.s_per_token or 1), *known]
