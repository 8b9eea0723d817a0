"""Scaling: runs that differ in devices alone, their efficiency, fits, and the pipeline's bubble."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reports.format import percent, significant
from ..reports.short import Names
from .answer import (
    MEASURED,
    RUN,
    Answer,
    left_out_words,
    with_words,
)
from .fits import Fit, chance, fits, likeliest
from .jobs import combined, grain
from .rows import Row, configuration
from .scaling_words import fit_words, group_words

_FREE = (
    "nodes",
    "devices",
    "world_size",
    "dp",
    "dp_replicate",
    "dp_shard",
)  # what may differ beside the batch
COLUMNS = (
    "group", "scaling", "base_devices", "efficiency", "efficiency_low", "efficiency_high",
    "efficiency_fit", "fit_base", "fit_from", "bubble", "efficiency_without_bubble", "law", "alpha",
    "alpha_low", "alpha_high", "beta", "beta_low", "beta_high", "rms_error", "worst_error", *RUN,
    "measure", *MEASURED, "left_out",
)  # fmt: skip
_SHOWN = (
    ("group", "Group"), ("nodes", "Nodes (devices)"), ("split", "DP/TP/PP"), ("mbs", "MBS"),
    ("gbs", "GBS"), ("device_batch", "Batch/device"), ("jobs_text", "Jobs"),
    ("step_time_s", "Sec/it"),
    ("tokens_per_s", "Tokens/s"), ("tflops", "TFLOPs"), ("efficiency_text", "Efficiency"),
    ("range", "Range"), ("fit_text", "Fit"),
    ("bubble_text", "Bubble"), ("without_text", "Without bubble"), ("where", "Where"),
)  # fmt: skip
FITTED = ("alpha", "beta", "rms_error", "worst_error")


@dataclass(frozen=True, slots=True)
class Point:
    """The runs of one size: `x` nodes (or devices), and one row with the medians of their jobs."""

    x: float
    row: Row
    rows: tuple[Row, ...]

    @property
    def rate(self) -> float:
        """Tokens/s of the job; sequences/s where no length of these is stated, TFLOP/s where those
        alone are printed."""
        if self.row["measure"] == "tflops":
            return float(self.row["tflops"] * self.row["device_count"])
        if self.row["measure"] == "step_time_s":
            return float(self.row["batch"] / self.row["step_time_s"])
        return float(self.row["tokens_per_s"])

    @property
    def low(self) -> float | None:
        """The least that jobs, or the printed digits, tell; of one log its intervals tell none."""
        return self._end("tokens_per_s_low", "step_time_high")

    @property
    def high(self) -> float | None:
        """The most that jobs, or the printed digits, tell."""
        return self._end("tokens_per_s_high", "step_time_low")

    def _end(self, name: str, time: str) -> float | None:
        row = self.row
        if row["jobs"] < 2 and row["basis"] != "cell":
            return None
        if row["measure"] == "step_time_s":
            return float(row["batch"] / row[time]) if row[time] else None
        return float(row[name]) if row[name] else None


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ in size alone: strong (one batch) or weak (one batch a device) scaling, or
    unknown where no batch is."""

    kind: str  # strong, weak or unknown
    unit: str  # nodes or device_count
    points: tuple[Point, ...]

    @property
    def base(self) -> Point:
        return self.points[0]

    def efficiency(self, point: Point) -> float:
        """The rate per device against that of the base point."""
        return point.rate / point.x / (self.base.rate / self.base.x)

    def fits(self, first: int = 0) -> list[Fit]:
        """The laws fitted to the points from `first` on, which is their base."""
        points = self.points[first:]
        per_unit = [one.rate / one.x for one in points]
        shares = [one / per_unit[0] for one in per_unit]
        rounded = grain(row for one in points for row in one.rows)
        return fits([one.x / points[0].x for one in points], shares, rounded)

    def law(self) -> tuple[Fit | None, int]:
        """The likeliest law, and the point that is its base: the first, or the second where the
        law misses a point by far and is twice as good without the first."""
        law = likeliest(self.fits())
        if law is None or not law.misses or len(self.points) < 5:
            return law, 0
        again = likeliest(self.fits(1))
        return (again, 1) if again and again.rms <= law.rms / 2 else (law, 0)


def groups(rows: Sequence[Row]) -> tuple[list[Group], list[Row]]:
    """Strong and weak scaling groups of two sizes or more, and the rows that are in none."""
    found: list[Group] = []
    used: set[int] = set()
    for kind in ("strong", "weak", "unknown"):
        sets: dict[Hashable, list[Row]] = {}
        for row in rows:
            if (row["nodes"] or row["device_count"]) and (key := _key(row, kind)) is not None:
                sets.setdefault(key, []).append(row)
        for alike in sets.values():
            unit = "nodes" if all(row["nodes"] for row in alike) else "device_count"
            for members in _by_day([row for row in alike if row[unit]], unit):
                if len({row[unit] for row in members}) > 1:
                    found.append(Group(kind, unit, _points(members, unit)))
                    used |= {id(row) for row in members}
    return found, [row for row in rows if id(row) not in used]


def bubble(row: Row) -> float | None:
    """The share of a step that pipeline stages wait: (p - 1) / (v m + p - 1), of v chunks a stage.

    arXiv 2104.04473 section 2.2, for m micro-batches a step and stages of equal length.
    """
    p, batch = row["pp"], (row["mbs"] or 0) * (row["dp"] or 0)
    step = row["gbs"] or row.get("batch")
    if not p or p == 1 or not batch or not step or step % batch:
        return None
    chunks = (row["vpp"] or 1) * (step // batch)
    return float((p - 1) / (chunks + p - 1))


def scaling(names: Names, kept: Sequence[Row], left_out: Sequence[Row]) -> Answer:
    """The groups one after the other, each with its fits."""
    found, alone = groups(kept)
    rows: list[dict[str, Any]] = []
    said: list[str] = []
    for at, group in enumerate(found, 1):
        said += [f"Group {at}: {group_words(names, group)}{fit_words(group, group.fits())}"]
        rows += [_row(at, group, point) for point in group.points]
    if not found:
        said = ["No two runs here differ in the number of devices alone."]
    reason = "no run of another size with its settings"
    left = (*left_out, *({**row, "left_out": reason} for row in alone))
    cells = tuple(_cells(names, row) for row in rows)
    return Answer(
        tuple(said), COLUMNS, _SHOWN, tuple(rows), left, left_out_words(names, left), cells
    )


def _key(row: Row, kind: str) -> Hashable | None:
    """Equal for runs that scale into each other; of tables within one document."""
    batch, known = row["batch"], bool(row["batch"] or row["device_batch"])
    if known == (kind == "unknown") or (kind == "strong" and not batch):
        return None
    if kind == "weak" and not row["device_count"]:
        return None
    free = (*_FREE, "gbs", "device_batch") if kind == "strong" else (*_FREE, "gbs")
    whole = {name: value for name, value in configuration(row).items() if name not in free}
    whole["batch"] = batch
    if kind == "weak":
        whole["batch"] = batch / row["device_count"] if batch else None
    document = row["uri"] if row["origin"] == "row" else None
    stated = (*sorted(row["versions"].items()), *sorted(row["arguments"].items()))
    return (
        document,
        row["epoch"],
        row["measure"],
        stated,
        *sorted((n, str(v)) for n, v in whole.items()),
    )


def _by_day(rows: Sequence[Row], unit: str) -> list[list[Row]]:
    """The rows apart by date where one size was measured on several days: days are not pooled."""
    days: dict[Hashable, set[Hashable]] = {}
    for row in rows:
        days.setdefault(row[unit], set()).add(row["date"] if row["origin"] == "row" else None)
    if all(len(found) == 1 for found in days.values()):
        return [list(rows)]
    apart: dict[Hashable, list[Row]] = {}
    for row in rows:
        apart.setdefault(row["date"], []).append(row)
    return list(apart.values())


def _points(rows: Sequence[Row], unit: str) -> tuple[Point, ...]:
    sizes: dict[float, list[Row]] = {}
    for row in rows:
        sizes.setdefault(float(row[unit]), []).append(row)
    return tuple(
        Point(x, combined(members), tuple(members)) for x, members in sorted(sizes.items())
    )


def _row(at: int, group: Group, point: Point) -> dict[str, Any]:
    row, base = point.row, group.base
    share = group.efficiency(point)
    waits, at_base = bubble(row), bubble(base.row)
    without = share * (1 - at_base) / (1 - waits) if waits and at_base is not None else None
    scale = base.x / point.x
    return {
        **row,
        **_fitted(group, point),
        "group": at,
        "scaling": group.kind,
        "base_devices": base.row["device_count"],
        "efficiency": share,
        "efficiency_low": point.low / base.high * scale if point.low and base.high else None,
        "efficiency_high": point.high / base.low * scale if point.high and base.low else None,
        "bubble": waits,
        "efficiency_without_bubble": without,
        "left_out": None,
    }


def _fitted(group: Group, point: Point) -> Mapping[str, Any]:
    """The law that tells the group best, and what it gives for a point from its base on."""
    law, first = group.law()
    start = group.points[first]
    if law is None or point.x < start.x:
        return {}
    fit = law.efficiency(point.x / start.x) * group.efficiency(start)
    return {**_told(law), "efficiency_fit": fit, "fit_from": start.x}


def laws_of(group: Group) -> list[dict[str, Any]]:
    """All laws that the answer tells of a group, as the columns of its rows, `points`, and of the
    second the `p` of the F test against the first."""
    laws = group.fits()
    chosen, first = group.law()
    more = [chosen] if chosen and first else []
    told = [{**_told(law), "points": law.points} for law in (*laws, *more)]
    if len(laws) > 1:
        told[1]["p"] = chance(*laws)
    return told


def _told(law: Fit) -> dict[str, Any]:
    """A law as columns."""
    return {
        "law": law.law, "fit_base": law.base, "alpha": law.alpha, "alpha_low": law.alpha_range[0],
        "alpha_high": law.alpha_range[1], "beta": law.beta, "beta_low": law.beta_range[0],
        "beta_high": law.beta_range[1], "rms_error": law.rms, "worst_error": law.worst,
    }  # fmt: skip


def _cells(names: Names, row: Row) -> dict[str, Any]:
    low, high = row["efficiency_low"], row["efficiency_high"]
    return {
        **with_words(names, row),
        "gbs": row["gbs"] or (f"{row['batch']:.10g}" if row["batch"] else None),
        "tflops": significant(row["tflops"], 4) if row["measure"] == "tflops" else None,
        "jobs_text": row["jobs"] if row["jobs"] > 1 else None,
        "efficiency_text": percent(row["efficiency"], 1),
        "range": f"{percent(low, 1)}-{percent(high, 1)}" if low and high else None,
        "fit_text": percent(row.get("efficiency_fit"), 1),
        "bubble_text": percent(row["bubble"], 1),
        "without_text": percent(row["efficiency_without_bubble"], 1),
    }
