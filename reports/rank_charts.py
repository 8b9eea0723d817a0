"""Charts of rankings: TFLOP/s, MFU and memory, a bar per configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..project.short_names import ShortNames
from ..vocabulary.format import percent, significant
from .answer import Answer, devices_words
from .chart_parts import (
    MOST_BARS,
    ChartDraft,
    bar_labels,
    cut,
    is_estimated,
    of_one_origin,
    require,
    sized_labels,
    subject,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def tflops(names: ShortNames, answer: Answer) -> ChartDraft:
    """TFLOP/s of a device, a bar per configuration, with the MFU if known."""
    return _ranking(names, answer, "tflops", " TFLOP/s", "TFLOP/s per device, as printed")


def mfu(names: ShortNames, answer: Answer) -> ChartDraft:
    """MFU, a bar per configuration: as printed, for models and systems that print none by the known
    peak of the device."""
    rows = of_one_origin(answer.rows)
    answer = replace(answer, rows=tuple(rows))
    assumed = any(row["mfu"] and row["peak_assumed"] for row in rows)
    printed = all(row["mfu_from"] == "printed" for row in rows if row["mfu"])
    origin = ", as printed" if printed else " assuming 16 bits" if assumed else ""
    head = f"Model FLOPs utilization (MFU), %{origin}"
    return _ranking(names, answer, "mfu", "%", head)


def memory(names: ShortNames, answer: Answer) -> ChartDraft:
    """Memory, a bar per configuration, the least first."""
    return _ranking(names, answer, "memory_gb", " GB", "Memory, GB as printed")


def _ranking(names: ShortNames, answer: Answer, column: str, unit: str, head: str) -> ChartDraft:
    from .chart import ranked_bars
    from .charts.data import Bar

    scale = 100 if column == "mfu" else 1  # a share, drawn in percent
    rows = [row for row in answer.rows if row[column]]
    require(rows, f"no run states {head.partition(',')[0]}")
    # By the drawn value: the ranking by model TFLOPs differs from that with recompute.
    rows.sort(key=lambda row: row[column] if column == "memory_gb" else -row[column])
    drawn = rows[:MOST_BARS]
    labels, every = sized_labels(names, drawn), bar_labels(names, rows)
    bars = [
        Bar(
            label,
            row[column] * scale,
            note=f"MFU {percent(row['mfu'])}" if column == "tflops" and row.get("mfu") else None,
            estimated=is_estimated(row),
        )
        for label, row in zip(labels, drawn, strict=True)
    ]

    def draw(title: str) -> Figure:
        def text(value: float) -> str:
            return f"{significant(value, 3)}{unit}"

        return ranked_bars(bars, title=title, x_label=head, value_text=text)

    best = f"{significant(drawn[0][column] * scale, 3)}{unit}"
    if column == "mfu":
        printed = drawn[0]["mfu_from"] == "printed" and drawn[0].get("jobs", 1) == 1
        best += " MFU as printed" if printed else " MFU"
    at = labels[0] or devices_words(drawn[0])
    message = f"{subject(names, drawn)}{best} at best, {at}"
    more = cut("configurations, ranked below", every, MOST_BARS)
    return ChartDraft(draw, tuple(drawn), tuple(more), message)
