"""How far the rate of a run may be off: digits, jobs, known repeats; at most the peak."""

from __future__ import annotations

from ..schema.warehouse import Row
from ..vocabulary.format import difference, percent
from ..vocabulary.hardware import device_of
from .budget import Budget
from .spreads import Spread
from .statistics import critical_difference


def rates(
    row: Row, known: Spread | None, budget: Budget | None = None
) -> tuple[float | None, float | None, str]:
    """The range of tokens/s, of a `budget` of steps of steps/s, and what it comes from: known
    repeats, else jobs or printed digits.

    Of repeats: the 95% prediction interval of a new job about the median of those measured, by
    Student's t (Hahn and Meeker, Statistical Intervals, 4.7, for means).
    """
    ends = ("", "_low", "_high")
    speeds = [budget.speed(row, end) if budget else row[f"tokens_per_s{end}"] for end in ends]
    rate, low, high = speeds
    if row["basis"] == "fit":
        return low, high, row["range_from"]
    count = row["jobs"]
    # Nothing was repeated: the variation within a single run is a lower bound.
    if known is None or not known.deviation or not rate:
        alone = "intervals of the log" if row["origin"] == "log" else "printed digits"
        return low, high, f"{count} jobs" if count > 1 else alone
    about = 1 + critical_difference(known, count)
    lowest, highest = min(low or rate, rate / about), max(high or rate, rate * about)
    basis = f"{count} jobs, repeats" if count > 1 else "repeats"
    spread = f"±{percent(about - 1, 1)}" if about < 2 else f"{difference(about - 1)} each way"
    # A spread known from few repeats may exceed what a device can do.
    most = _at_peak(row, rate)
    if most is not None and highest > most:
        highest, spread = most, f"{spread}, at most the device's peak"
    return lowest, highest, f"{basis} ({spread})"


def _at_peak(row: Row, rate: float) -> float | None:
    """The rate at 100% MFU; None where no MFU is known, or the printed one is impossible."""
    mfu = row.get("mfu")
    if not mfu or mfu > 1:
        return None
    known = device_of(row["device"]) if row.get("peak_assumed") and row["device"] else None
    # The number format is not stated: the highest peak of the device is the limit.
    higher = max(known.peak.values()) / row["peak_tflops"] if known and row["peak_tflops"] else 1.0
    return rate / float(mfu) * max(higher, 1.0)
