"""R1h: the peak that MFU, HFU and percentages of the peak are shares of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ...vocabulary.hardware import Device, device_of, devices
from ..finding import Finding
from ..input import AuditInput, Row, Table
from ..input import title as title_of
from ..interval import Interval
from ..rule import declared
from ..same_configuration import device_name

RULE = declared(__name__)


_OFF = 0.02  # peaks are rounded: 989.4 is 989, 990 or 1000
_SPARSE = 2.0
_TIMES = (1.0, _SPARSE, 0.5)  # half: an fp8 run over the peak of bf16
_ROUGH = (1.6, 2.5)  # of the sparse peak, where the FLOPs of a token are only 6 x parameters
# TFLOPs printed with an MFU may count recompute, those printed with an HFU may not.
_COUNTED = {"mfu": (1.0, 4 / 3), "hfu": (1.0, 3 / 4), "peak_share": (1.0,)}


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Tables whose shares are not of the dense peak, and the basis of percentages of the peak."""
    doubted = data.doubted()
    for table in data.tables:
        for name, counted in _COUNTED.items():
            groups: dict[tuple[str | None, str | None], list[Row]] = {}
            for row in table.rows:
                share = row.printed.get(name)
                fine = (row.uri, row.line) not in doubted and not row.invalid
                if share and share.value > 0 and fine:
                    groups.setdefault((device_name(row), row.dtype), []).append(row)
            for rows in groups.values():
                yield from _judge(table, name, counted, rows)


def _judge(
    table: Table, name: str, counted: Sequence[float], rows: Sequence[Row]
) -> Iterator[Finding]:
    with_tflops = [row for row in rows if row.tflops and row.tflops.scope != "job"]
    device = device_of(rows[0].device) if rows[0].device else None
    if not with_tflops:
        yield from _without_tflops(name, device, rows)
        return
    middle = median(_implied(row, name).middle for row in with_tflops)
    dense = _dense(device, rows[0].dtype)
    if not dense:
        yield from _unknown_device(name, with_tflops, middle)
        return
    at = {row.line: _multiple(_implied(row, name), dense, counted) for row in with_tflops}
    by_peak = [[row for row in with_tflops if at[row.line] == times] for times in _TIMES]
    single, double, _ = by_peak
    _, few, many = sorted(by_peak, key=len)
    if few and len(many) > len(few):
        yield _mixed(name, few, many, rows[0], dense)
    elif double and 3 * len(double) >= 2 * len(with_tflops):
        yield _sparse(name, double, rows[0], middle, dense)
    elif single and name == "peak_share":
        yield _named(table, single, rows[0], middle)
    elif not single and not double and _agree(with_tflops, name):
        yield _other(name, with_tflops, middle, rows[0], dense)


def _implied(row: Row, name: str) -> Interval:
    """The peak in TFLOP/s that the share implies."""
    assert row.tflops is not None, "callers pass rows with TFLOPs"
    return (row.tflops.either / row.printed[name].either).widened(_OFF / 2)


def _dense(device: Device | None, dtype: str | None) -> tuple[float, ...]:
    """The possible dense peaks, in TFLOP/s; for fp8 twice that of bf16."""
    if device is None:
        return ()
    if dtype and dtype in device.peak:
        return tuple({device.peak[dtype], device.bound(dtype) or device.peak[dtype]})
    if dtype == "fp8" and "bf16" in device.peak:
        return (2 * device.peak["bf16"],)
    # An unstated format is not one of 8 or 4 bits, whose peaks would pass for sparse ones.
    wide = {peak for name, peak in device.peak.items() if name not in ("tf32", "fp8", "fp4")}
    return tuple(wide) if dtype is None else ()


def _multiple(implied: Interval, dense: Sequence[float], counted: Sequence[float]) -> float | None:
    for times in _TIMES:
        if any(implied.meets(peak * times * more) for peak in dense for more in counted):
            return times
    return None


def _agree(rows: Sequence[Row], name: str) -> bool:
    intervals = [_implied(row, name) for row in rows]
    return len(rows) >= 3 and max(one.low for one in intervals) <= min(
        one.high for one in intervals
    )


def _of(row: Row) -> str:
    device = device_of(row.device) if row.device else None
    return f"{device.name if device else row.device}{f' in {row.dtype}' if row.dtype else ''}"


def _mixed(
    name: str, few: Sequence[Row], many: Sequence[Row], row: Row, dense: Sequence[float]
) -> Finding:
    title = title_of(name)
    one, other = (_implied(rows[0], name).middle for rows in (few, many))
    return RULE.finding(
        "mixed",
        tuple(r.at(name) for r in few),
        title=title,
        one=one,
        lines=", line ".join(str(r.line) for r in few),
        other=other,
        device=_of(row),
        peak=max(dense),
        changed="halved" if one < other else "doubled",
    )


def _sparse(
    name: str, rows: Sequence[Row], row: Row, middle: float, dense: Sequence[float]
) -> Finding:
    title = title_of(name)
    also = "" if row.dtype else ", or the dense one in fp8"
    return RULE.finding(
        "sparse",
        tuple(r.at(name) for r in rows),
        confidence="high" if row.dtype else "medium",
        title=title,
        middle=middle,
        device=_of(row),
        peak=max(dense),
        also=also,
        doubled=200 * rows[0].printed[name].value,
        percent=100 * rows[0].printed[name].value,
        rows=rows,
    )


def _named(table: Table, rows: Sequence[Row], row: Row, middle: float) -> Finding:
    reading = table.detected.reading if table.detected and table.detected.certain else None
    counts = "MFU or HFU, as the TFLOPs count the model's FLOPs or recompute too"
    if reading:
        counts = "HFU" if reading.factor == 4 else f"as {reading} counts"
    return RULE.finding(
        "named",
        tuple(r.at("peak_share") for r in rows),
        middle=middle,
        device=_of(row),
        counts=counts,
    )


def _other(
    name: str, rows: Sequence[Row], middle: float, row: Row, dense: Sequence[float]
) -> Finding:
    like = [known for known in _devices_with(middle) if known]
    return RULE.finding(
        "other",
        tuple(r.at(name) for r in rows),
        title=title_of(name),
        middle=middle,
        device=_of(row),
        peaks=" or ".join(f"{peak:g}" for peak in sorted(dense)),
        more=f"; it would be that of {', '.join(like)}" if like else "",
    )


def _unknown_device(name: str, rows: Sequence[Row], middle: float) -> Iterator[Finding]:
    if name == "peak_share" and _agree(rows, name):
        like = _devices_with(middle)
        yield RULE.finding(
            "unknown_device",
            tuple(row.at(name) for row in rows),
            middle=middle,
            more=f", as the dense peak of {', '.join(like)}" if like else "",
        )


def _devices_with(peak: float) -> list[str]:
    """The devices and number formats with that dense peak."""
    return [
        f"{device.name} in {dtype}"
        for device in devices()
        for dtype, value in device.peak.items()
        if dtype != "tf32" and abs(peak / value - 1) < _OFF  # as large as half of bf16
    ]


def _without_tflops(name: str, device: Device | None, rows: Sequence[Row]) -> Iterator[Finding]:
    """MFU with tokens/s: 6 x parameters a token reveal a peak that is twice the dense one."""
    if name == "peak_share":
        yield RULE.finding("alone", tuple(row.at(name) for row in rows))
        return
    dense = _dense(device, rows[0].dtype)
    found = [one for row in rows if name == "mfu" and (one := _rough(row))]
    if len(dense) == 1 and len(found) >= 3:
        ratio = median(found) / dense[0]
        if _ROUGH[0] < ratio < _ROUGH[1]:
            yield RULE.finding(
                "rough",
                tuple(row.at(name) for row in rows),
                implied=median(found),
                ratio=ratio,
                device=_of(rows[0]),
                dense=dense,
            )


def _rough(row: Row) -> float | None:
    """TFLOP/s of the peak, by 6 FLOP a parameter and token."""
    each = row.printed.get("tokens_per_s_per_device")
    if not row.params_b or not each:
        return None
    return 6 * row.params_b * each.value / 1e3 / row.printed["mfu"].value
