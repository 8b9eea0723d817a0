"""R1h: the peak that MFU, HFU and percentages of the peak are shares of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ...schema.hardware import Device, device_of, devices
from ..alike import device_name
from ..book import Book, Row, Table
from ..finding import Finding
from ..interval import Interval
from ..rule import Rule
from ..titles import TITLES

_OFF = 0.02  # peaks are rounded: 989.4 is 989, 990 or 1000
_SPARSE = 2.0
_TIMES = (1.0, _SPARSE, 0.5)  # half: an fp8 run over the peak of bf16
_ROUGH = (1.6, 2.5)  # of the sparse peak, where the FLOPs of a token are only 6 x parameters
# TFLOPs beside an MFU may count recompute, those beside an HFU may not.
_COUNTED = {"mfu": (1.0, 4 / 3), "hfu": (1.0, 3 / 4), "peak_share": (1.0,)}


def check(book: Book) -> Iterator[Finding]:
    """Tables whose shares are not of the dense peak, and what a percentage of the peak is."""
    doubted = book.doubted()
    for table in book.tables:
        for name, counted in _COUNTED.items():
            groups: dict[tuple[str | None, str | None], list[Row]] = {}
            for row in table.rows:
                share = row.printed.get(name)
                fine = (row.uri, row.line) not in doubted and not row.misfits
                if share and share.value > 0 and fine:
                    groups.setdefault((device_name(row), row.dtype), []).append(row)
            for rows in groups.values():
                yield from _judge(table, name, counted, rows)


def _judge(
    table: Table, name: str, counted: Sequence[float], rows: Sequence[Row]
) -> Iterator[Finding]:
    told = [row for row in rows if row.tflops and row.tflops.scope != "job"]
    device = device_of(rows[0].device) if rows[0].device else None
    if not told:
        yield from _without_tflops(name, device, rows)
        return
    middle = median(_implied(row, name).middle for row in told)
    dense = _dense(device, rows[0].dtype)
    if not dense:
        yield from _unknown_device(name, told, middle)
        return
    at = {row.line: _multiple(_implied(row, name), dense, counted) for row in told}
    by_peak = [[row for row in told if at[row.line] == times] for times in _TIMES]
    single, double, _ = by_peak
    _, few, many = sorted(by_peak, key=len)
    if few and len(many) > len(few):
        yield _mixed(name, few, many, rows[0], dense)
    elif double and 3 * len(double) >= 2 * len(told):
        yield _sparse(name, double, rows[0], middle, dense)
    elif single and name == "peak_share":
        yield _named(table, single, rows[0], middle)
    elif not single and not double and _agree(told, name):
        yield _other(name, told, middle, rows[0], dense)


def _implied(row: Row, name: str) -> Interval:
    """TFLOP/s that the share is a share of."""
    assert row.tflops is not None, "rows with TFLOPs are asked"
    return (row.tflops.either / row.printed[name].either).widened(_OFF / 2)


def _dense(device: Device | None, dtype: str | None) -> tuple[float, ...]:
    """The dense peaks that may be meant, in TFLOP/s; of fp8 twice that of bf16."""
    if device is None:
        return ()
    if dtype and dtype in device.peak:
        return (device.peak[dtype],)
    if dtype == "fp8" and "bf16" in device.peak:
        return (2 * device.peak["bf16"],)
    return tuple(set(device.peak.values())) if dtype is None else ()


def _multiple(implied: Interval, dense: Sequence[float], counted: Sequence[float]) -> float | None:
    for times in _TIMES:
        if any(implied.meets(peak * times * more) for peak in dense for more in counted):
            return times
    return None


def _agree(rows: Sequence[Row], name: str) -> bool:
    found = [_implied(row, name) for row in rows]
    return len(rows) >= 3 and max(one.low for one in found) <= min(one.high for one in found)


def _of(row: Row) -> str:
    device = device_of(row.device) if row.device else None
    return f"{device.name if device else row.device}{f' in {row.dtype}' if row.dtype else ''}"


def _mixed(
    name: str, few: Sequence[Row], many: Sequence[Row], row: Row, dense: Sequence[float]
) -> Finding:
    title = TITLES[name]
    one, other = (_implied(rows[0], name).middle for rows in (few, many))
    return Finding(
        ("R1h",),
        "error",
        "medium",
        f"{title} of one table are shares of two peaks",
        f"TFLOPs / {title} is {one:.4g} on l.{', l.'.join(str(r.line) for r in few)} and "
        f"{other:.4g} on the other rows of {_of(row)}, whose dense peak is {max(dense):g}",
        tuple(r.at(name) for r in few),
        f"{title} {'halved' if one < other else 'doubled'}, as the other rows count",
    )


def _sparse(
    name: str, rows: Sequence[Row], row: Row, middle: float, dense: Sequence[float]
) -> Finding:
    title = TITLES[name]
    also = "" if row.dtype else ", or the dense one in fp8"
    return Finding(
        ("R1h",),
        "warning",
        "high" if row.dtype else "medium",
        f"{title} is a share of the sparse peak",
        f"TFLOPs / {title} is {middle:.4g}: twice the dense peak of {_of(row)}, {max(dense):g}; "
        f"that is the one with sparsity{also}",
        tuple(r.at(name) for r in rows),
        f"twice as much, of the dense peak: {200 * rows[0].printed[name].value:.1f}% instead of "
        f"{100 * rows[0].printed[name].value:.1f}% on l.{rows[0].line}",
    )


def _named(table: Table, rows: Sequence[Row], row: Row, middle: float) -> Finding:
    reading = table.detected.reading if table.detected and table.detected.certain else None
    counts = "MFU or HFU, as the TFLOPs count the model's FLOPs or recompute too"
    if reading:
        counts = "HFU" if reading.factor == 4 else f"as {reading} counts"
    return Finding(
        ("R1h",),
        "note",
        "medium",
        "what the percentage of the peak is",
        f"TFLOPs / percentage is {middle:.4g}, the dense peak of {_of(row)}: {counts}",
        tuple(r.at("peak_share") for r in rows),
    )


def _other(
    name: str, rows: Sequence[Row], middle: float, row: Row, dense: Sequence[float]
) -> Finding:
    like = [known for known in _known(middle) if known]
    return Finding(
        ("R1h",),
        "warning",
        "low",
        f"{TITLES[name]} is not a share of the device's dense peak",
        f"TFLOPs / {TITLES[name]} is {middle:.4g}; the dense peak of {_of(row)} is "
        f"{' or '.join(f'{peak:g}' for peak in sorted(dense))}"
        + (f"; it would be that of {', '.join(like)}" if like else ""),
        tuple(r.at(name) for r in rows),
    )


def _unknown_device(name: str, rows: Sequence[Row], middle: float) -> Iterator[Finding]:
    if name == "peak_share" and _agree(rows, name):
        like = _known(middle)
        yield Finding(
            ("R1h",),
            "note",
            "low",
            "the peak is not stated, nor the device",
            f"TFLOPs / percentage is {middle:.4g}"
            + (f", as the dense peak of {', '.join(like)}" if like else ""),
            tuple(row.at(name) for row in rows),
        )


def _known(peak: float) -> list[str]:
    """The devices and number formats with that dense peak."""
    return [
        f"{device.name} in {dtype}"
        for device in devices()
        for dtype, value in device.peak.items()
        if abs(peak / value - 1) < _OFF
    ]


def _without_tflops(name: str, device: Device | None, rows: Sequence[Row]) -> Iterator[Finding]:
    """MFU beside tokens/s: 6 x parameters a token tell a peak that is twice the dense one."""
    if name == "peak_share":
        yield Finding(
            ("R1h",),
            "note",
            "low",
            "a percentage of a peak that nothing tells",
            "without TFLOPs beside it, it may be MFU or HFU, of any peak",
            tuple(row.at(name) for row in rows),
        )
        return
    dense = _dense(device, rows[0].dtype)
    found = [one for row in rows if name == "mfu" and (one := _rough(row))]
    if len(dense) == 1 and len(found) >= 3:
        ratio = median(found) / dense[0]
        if _ROUGH[0] < ratio < _ROUGH[1]:
            yield Finding(
                ("R1h",),
                "note",
                "low",
                "MFU may be a share of the sparse peak",
                f"6 x parameters x tokens/s / MFU is {median(found):.4g} TFLOP/s, {ratio:.2g} "
                f"times the dense peak of {_of(rows[0])}, {dense[0]:g}",
                tuple(row.at(name) for row in rows),
            )


def _rough(row: Row) -> float | None:
    """TFLOP/s of the peak, by 6 FLOP a parameter and token."""
    each = row.printed.get("tokens_per_s_per_device")
    if not row.params_b or not each:
        return None
    return 6 * row.params_b * each.value / 1e3 / row.printed["mfu"].value


RULE = Rule(
    "R1h",
    45,
    "The peak that shares are of",
    "TFLOPs / MFU (HFU, % of peak) is the dense peak of the device for its number format",
    "2%; 4/3 or 3/4 of it where one of the two counts recompute; twice the peak is the sparse one, "
    "a warning; two peaks in one table are an error",
    "error",
    check,
)
