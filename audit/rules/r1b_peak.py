"""R1b: no device is faster than its peak."""

from __future__ import annotations

from collections.abc import Iterator

from ...schema.hardware import device_of
from ..book import Book, Row
from ..finding import Finding
from ..rule import Rule

_FASTEST = 20_000.0  # TFLOP/s of one device: twice the densest low-precision peak of any yet sold


def check(book: Book) -> Iterator[Finding]:
    """Rows whose TFLOPs are above the peak of their device, or of any."""
    for table in book.tables:
        for row in table.rows:
            yield from _shares(row)
            rate = row.tflops
            if rate is None or row.unshifted or rate.scope == "job":
                continue
            peak, name = _peak(row)
            if peak and rate.rounded.low > peak:
                yield Finding(
                    ("R1b",),
                    "error",
                    "high",
                    "more TFLOPs than the device can do",
                    f"{rate.value:.6g} TFLOPs, but the peak of {name} is "
                    f"{peak:g}{_as_job(row, peak)}",
                    (row.at("tflops"),),
                )


def _shares(row: Row) -> Iterator[Finding]:
    """MFU and HFU are shares of the peak: above 1 something under or above the line is wrong."""
    for name in ("mfu", "hfu"):
        share = row.printed.get(name)
        if share is not None and not row.unshifted and share.rounded.low > 1.0:
            yield Finding(
                ("R1b",),
                "error",
                "high",
                f"{name.upper()} is above 100%",
                f"{share.raw or share.value} is {100 * share.value:.4g}% of the peak",
                (row.at(name),),
            )


def _peak(row: Row) -> tuple[float, str]:
    device = device_of(row.device) if row.device else None
    if device is None or not device.peak:
        return _FASTEST, "any device"
    if row.dtype and row.dtype in device.peak:
        return device.peak[row.dtype], f"{device.name} in {row.dtype}"
    fp8 = 2 if row.dtype == "fp8" or "bf16" in device.peak else 1  # fp8 and int8 double it
    return max(device.peak.values()) * fp8, f"{device.name} in any number format"


def _as_job(row: Row, peak: float) -> str:
    """What it would be as the whole job's, where that is possible."""
    if row.tflops is None or not row.world or row.world < 2 or row.tflops.value / row.world > peak:
        return ""
    each = row.tflops.value / row.world
    return f"; as the TFLOPs of all {row.world} processes it is {each:.4g} each"


RULE = Rule(
    "R1b",
    30,
    "Peak",
    "TFLOPs are at most the dense peak of the device for its number format",
    "1.0; without a stated number format the highest peak counts, doubled for fp8",
    "error",
    check,
)
