"""A predictor of configurations that were never run, trained on a warehouse's runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..decide.jobs import by_configuration
from ..schema.errors import BenchError
from ..schema.warehouse import Row
from ..vocabulary.format import number
from .failures import lacking
from .folds import ExtrapolationKind, reach
from .intervals import END, IntervalWidths, apart
from .memory import fitted, needs, offloads, usual_room
from .posterior import Posterior, fit
from .proposals import beating, order, rival, worth_repeating
from .recompute import UnstatedDefaults, place, unstated
from .setting import Setting, setting, system_of
from .similarity import PACE_SCALES, likeness
from .terms import PACE, recomputed

MOST = 800  # training runs: the time of a fit grows with their cube
FARTHEST = 8  # times more devices than any run of the system: beyond, waits are unknown
_RATE = "tokens_per_s_per_device"
_NEAREST = 3  # runs shown as the basis of a prediction


@dataclass(frozen=True)
class Predictor:
    """A model fitted to runs; `rows` are the training runs, in the order of its settings."""

    rows: tuple[Row, ...]
    pace: Posterior
    memory: Posterior | None
    left_out: tuple[Row, ...]  # each with its reason
    failures: int  # number of training runs out of memory
    unstated: UnstatedDefaults  # what sources do without stating it
    widths: IntervalWidths = field(repr=False)
    memory_widths: IntervalWidths | None = field(default=None, repr=False)
    # The runs that tell how steady the machine was, if these are others than the training runs.
    jobs: tuple[Sequence[Row], Sequence[Setting]] | None = field(default=None, repr=False)

    def rated(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Rows of configurations with their predictions; raises BenchError for one without a basis:
        unknown device count or size, neither runs nor a peak of its system, or far more devices
        than in any run of it."""
        settings = self._settings(rows)
        if not settings:
            return []
        mean, covariance = self.pace.predicted(settings)
        reaches = [reach(self.pace.settings, one) for one in settings]
        need = needs(self.memory, self.memory_widths, list(zip(settings, reaches, strict=True)))
        rests_on = self._nearest(settings)
        found = []
        for at, (row, one) in enumerate(zip(rows, settings, strict=True)):
            self._refuse_far(one)
            of = reaches[at]
            width = self.widths.width(of, one.source[0], covariance[at, at], one.system)
            by = self.widths.of(of.kinds[0]).sources
            jobs = apart(*(self.jobs or (self.rows, self.pace.settings)), one)
            middle = float(mean[at])
            ends = (middle - width, middle + width)
            ends = jobs.ends(middle, width) if jobs else ends
            known = {"beyond": str(of.kinds[0]), "scores": len(by), "rests_on": rests_on[at]}
            known["scores_own"] = by.count(one.source[0])
            known["scored_by"] = str(self.widths.scored_by(of.kinds[0]))
            known["outside_text"] = "; ".join(each.words for each in of.outside) or None
            known["jobs_apart"] = jobs
            known["peak_known"] = one.peak_flop_s is not None
            known |= self._inferred(row, one)
            known["times_beyond"] = max((each.times for each in of.outside), default=1.0)
            known |= _of_pace(row, one, middle, ends)
            bounded = not offloads(self.pace.settings, one.source[0])
            known |= need[at].told(one, row["device"], bounded)
            known["terms"] = self.pace.terms(one, middle)
            found.append({**row, **known})
        return found

    def proposed(
        self, rows: Sequence[Row], most: int, per_device: bool = False
    ) -> list[dict[str, Any]]:
        """The rated configurations of `made` that are most worth running, in order: by their time,
        or `per_device`, by their device-hours. Their gains are over the best measured of as many
        devices, None without one."""
        settings = self._settings(rows)
        mean, covariance = self.pace.predicted(settings)
        work = np.log([_work(one, per_device) for one in settings])
        mean = mean - work
        known = {one.group for one in settings}
        sizes = {one.devices for one in settings}
        system, models = settings[0].system, {one.model for one in settings}
        measured = [
            math.log(float(one.s_per_token or 0) / _work(one, per_device))
            for one in self.pace.settings
            if one.system == system
            and (one.model in models or one.group in known)
            and (per_device or one.devices in sizes)  # more devices are faster with any split
            and not _above_peak(one)
        ]
        best = min(measured, default=None)
        aim = float(mean.min()) if best is None else best
        fits = np.array([1 - (row["out_of_memory"] or 0.0) for row in rows])
        wide = np.array([_deviation(row) for row in rows])
        chosen = order(mean, covariance, aim, self.pace.scales.noise, fits, most, wide)
        return [
            {
                **rows[one.at],
                **_beats(rows[one.at], float(work[one.at]), best),
                "narrows": one.narrows,
                "narrows_most": one.narrows_most,
                "tells_of": None if one.most is None else rows[one.most],
            }
            for one in chosen
        ]

    def repeated(self, rows: Sequence[Row], per_device: bool = False) -> list[dict[str, Any]]:
        """Rated measured configurations with the value of one more job of each, the most valuable
        first: it decides which of two within the noise is faster."""
        if not rows:
            return []
        settings = self._settings(rows)
        mean, covariance = self.pace.predicted(settings)
        mean = mean - np.log([_work(one, per_device) for one in settings])
        variance = np.maximum(np.diag(covariance), 1e-12)
        gain = worth_repeating(mean, variance, self.pace.scales.noise)
        found = [
            {**row, "expected_gain": float(one), "tells_of": rows[rival(mean, at)]}
            for at, (row, one) in enumerate(zip(rows, gain, strict=True))
        ]
        return sorted(found, key=lambda row: -row["expected_gain"])

    def with_speed(self, row: Row) -> Row:
        """A measured run with the tokens/s that its printed TFLOP/s stand for, if it has none."""
        one = setting(row)
        if one is None or not one.by_flops:
            return row
        rate = 1 / float(self.unstated.settled(one).s_per_token or math.inf)
        speeds = {_RATE: rate, "tokens_per_s": rate * one.devices}
        return {**row, **speeds, "by_flops": True}

    def _settings(self, rows: Sequence[Row]) -> list[Setting]:
        return [self.unstated.settled(_of(row, self.systems)) for row in rows]

    def _inferred(self, row: Row, one: Setting) -> dict[str, Any]:
        """What is inferred of a configuration that does not state it."""
        silent = self.unstated
        return {
            "recompute_inferred": place(one) in silent.recomputing and not row["recompute"],
            "stage_inferred": None if one.zero_is_stated else silent.stages.get(place(one)),
        }

    def _refuse_far(self, one: Setting) -> None:
        """Raises BenchError for far more devices than in any run of its system; for an unknown
        system, in any run."""
        same = [run for run in self.pace.settings if run.system == one.system]
        most = max(run.devices for run in same or self.pace.settings)
        if one.devices > FARTHEST * most:
            raise BenchError(
                f"no run of about {number(one.devices)} devices",
                why=f"the largest of this system had {number(most)},"
                f" more than {FARTHEST} times fewer",
                hint="--nodes asks for fewer",
            )  # fmt: skip

    @property
    def systems(self) -> frozenset[object]:
        """The systems of the training runs."""
        return frozenset(one.system for one in self.pace.settings)

    def _nearest(self, settings: Sequence[Setting]) -> list[tuple[Row, ...]]:
        """The runs of its system most similar to each configuration, by the covariance of the
        model."""
        pairs = likeness(settings, self.pace.settings)
        alike = self.pace.overlap.between(settings, self.pace.settings)
        shared = pairs.shared(self.pace.scales, False, alike).covariance(np.ones(alike.shape))
        order = np.argsort(-shared - 1e-6 * np.exp(-pairs.apart), axis=1, kind="stable")
        return [
            tuple(self.rows[at] for at in nearest[:_NEAREST] if own[at] > 0)
            for own, nearest in zip(shared, order, strict=True)
        ]

    def has_context_parallelism(self, system: object) -> bool:
        """Whether a run of a system has more than one CP rank."""
        return any(one.cp > 1 for one in self.pace.settings if one.system == system)

    def agreement(self, system: object) -> list[tuple[Row, float, float, float]]:
        """The runs of a system with the tokens/s a device predicted without their configuration,
        and the ends of the 90% interval."""
        found, known = [], self.widths.of(ExtrapolationKind.SETTING)
        factors = {source: known.factor(source) for source in set(known.sources)}
        half = [factors[of] * own for of, own in zip(known.sources, known.deviations, strict=True)]
        for at, miss, width in zip(known.runs, known.errors, half, strict=True):
            if self.pace.settings[at].system == system:
                rate = math.exp(miss) / float(self.pace.settings[at].s_per_token or 1)
                ends = (rate * math.exp(-width), rate * math.exp(width))
                found.append((self.rows[at], rate, *ends))
        return found


def _work(one: Setting, per_device: bool) -> float:
    """The amount that a run's time is divided by: FLOPs, and devices unless by device-hours."""
    return one.flops * (1 if per_device else one.devices)


def _above_peak(one: Setting) -> bool:
    """Whether a measured pace is faster than the device computes."""
    fastest = one.flops / one.peak_flop_s if one.peak_flop_s else 0.0
    return (one.s_per_token or 0.0) < fastest


def _beats(row: Row, work: float, best: float | None) -> dict[str, float | None]:
    """What a rated configuration may gain on the best measured ln(cost) by its ln(work), and the
    probability that it does; nothing without a best, or without an interval."""
    rate, low, high = (row.get(f"{_RATE}{end}") for end in ("", "_low", "_high"))
    if best is None or not (rate and low and high):
        return {"expected_gain": None, "chance_of_best": None}
    middle, slow, fast = (-math.log(each) - work for each in (rate, low, high))
    gain, share = beating(middle, (fast, slow), best)
    return {"expected_gain": gain, "chance_of_best": share}


def _deviation(row: Row) -> float:
    """The deviation of ln(cost) by the 90% interval of a rated configuration."""
    return math.log(row[f"{_RATE}_high"] / row[f"{_RATE}_low"]) / 2 / END


def _of(row: Row, systems: frozenset[object]) -> Setting:
    one = setting(row)
    if one is None:
        raise BenchError(
            "this configuration cannot be predicted", why=lacking(row) or "its size is not known",
            hint="--layers, --hidden and --nodes state it",
        )  # fmt: skip
    if one.peak_flop_s is None and one.system not in systems:
        raise BenchError(
            f"{row['system']} was never measured and has no known peak",
            why="its speed is unknown", hint="bench ingest a run of it",
        )  # fmt: skip
    return one


def _of_pace(row: Row, one: Setting, mean: float, ends: tuple[float, float]) -> dict[str, Any]:
    """Rates and times from ln(device-seconds a token) and the ends of its interval.

    No end of it is faster than the peak of the device, where that is known.
    """
    flops, peak = row["flops_per_token"], row["peak_tflops"]
    most = peak * 1e12 / (flops * recomputed(one)) if flops and peak else math.inf
    each = {end: min(math.exp(-cost), most) for end, cost in
            (("", mean), ("_low", ends[1]), ("_high", ends[0]))}  # fmt: skip
    made: dict[str, Any] = {}
    for end, rate in each.items():
        made[f"tokens_per_s_per_device{end}"] = rate
        made[f"tokens_per_s{end}"] = rate * one.devices
    tokens = row["tokens_per_step"]
    other = {"": "", "_low": "_high", "_high": "_low"}
    for end, of in other.items():
        name = "step_time_s" if not end else f"step_time{end}"
        made[name] = tokens / made[f"tokens_per_s{of}"] if tokens else None
    made["steps_per_s"] = 1 / made["step_time_s"] if tokens else None
    for end, rate in each.items():
        made[f"model_tflops{end}"] = rate * flops / 1e12 if flops else None
        made[f"mfu{end}"] = rate * flops / 1e12 / peak if flops and peak else None
    return made


def trained(rows: Sequence[Row], left_out: Sequence[Row], system: object = None) -> Predictor:
    """The predictor trained on runs; of more than `MOST`, those of the requested system first.

    Raises BenchError if no run states enough.
    """
    # Repeats on one day are one run; the machine may change by the next.
    days: dict[str, list[Row]] = {}
    for row in rows:
        days.setdefault(str(row["date"] or "")[:10], []).append(row)
    judged = [(row, lacking(row)) for day in days.values() for row in by_configuration(day)]
    kept = [row for row, why in judged if not why]
    left = [*left_out, *({**row, "left_out": why} for row, why in judged if why)]
    if not kept:
        reasons = sorted({str(row["left_out"]) for row in left})
        raise BenchError(
            "no run can train a prediction", why="; ".join(reasons[:5]) or "there are none",
            hint="bench runs shows what is known of each; --set or facts.toml adds what is missing",
        )  # fmt: skip
    kept.sort(key=lambda row: (system_of(row) != system, row["uri"], row["line"]))
    left += [{**row, "left_out": f"beyond the first {MOST:,} runs"} for row in kept[MOST:]]
    kept = kept[:MOST]
    read = [one for row in kept if (one := setting(row))]
    silent = unstated(read)
    settings = [silent.settled(one) for one in read]
    paces = [float(one.s_per_token or 0) for one in settings]
    pace = fit(PACE, settings, paces, [one.noise for one in settings], PACE_SCALES)
    failed = [(silent.settled(one), space) for one, space in _failed(left)]
    memory = fitted(settings, failed)
    widths = IntervalWidths(memory) if memory else None
    return Predictor(
        tuple(kept), pace, memory, tuple(left), len(failed), silent, IntervalWidths(pace), widths
    )


def _failed(rows: Sequence[Row]) -> list[tuple[Setting, float]]:
    """Runs out of memory, with the memory of their device."""
    found = []
    for row in rows:
        space = usual_room(row["device"])
        if row["status"] == "oom" and space and (one := setting(row)):
            found.append((one, space))
    return found
