"""A warehouse's runs as a predictor of configurations that nobody ran."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..decide.jobs import by_configuration
from ..decide.rows import Row
from ..schema.errors import BenchError
from ..vocabulary.format import number
from .intervals import Beyond, Widths, beyond, farther, folds
from .likeness import likeness
from .memory import fitted, most_room, room
from .posterior import Posterior, fit
from .proposals import expected_improvement, order, worth_repeating
from .scales import PACE_SCALES
from .setting import Setting, lacking, setting, system_of
from .terms import PACE, recomputed

MOST = 800  # runs that train: the time of a fit grows with their cube
_FARTHEST = 8  # times more devices than any run of the system: beyond, no run tells the waits
_NEAREST = 3  # runs that a prediction is said to rest on


@dataclass(frozen=True)
class Predictor:
    """A model fitted to runs; `rows` are those that trained it, in the order of its settings."""

    rows: tuple[Row, ...]
    pace: Posterior
    memory: Posterior | None
    left_out: tuple[Row, ...]  # each with its reason
    widths: Widths = field(repr=False)
    memory_widths: Widths | None = field(default=None, repr=False)

    def rated(self, made: Sequence[Row]) -> list[dict[str, Any]]:
        """Rows of configurations with what is predicted of them; raises BenchError for one that
        has no basis: no known device count or size, neither runs nor a peak of its system, or far
        more devices than any run of it had."""
        settings = [_of(row, self.systems) for row in made]
        if not settings:
            return []
        mean, covariance = self.pace.predicted(settings)
        needs = self.memory.predicted(settings) if self.memory else None
        rests_on = self._nearest(settings)
        found = []
        for at, (row, one) in enumerate(zip(made, settings, strict=True)):
            kind = beyond(self.pace, one)
            width, by = _width(self.widths, one, kind, covariance[at, at])
            width = max(width, self._between_jobs(one, float(mean[at])))
            known = {"beyond": str(kind), "scores": by, "rests_on": rests_on[at]}
            known["times_beyond"] = self._reached(one)
            known |= _of_pace(row, one, float(mean[at]), width)
            if needs:
                known |= self._of_memory(row, one, kind, float(needs[0][at]), needs[1][at, at])
            known["terms"] = self.pace.terms(one, float(mean[at]))
            found.append({**row, **_NO_MEMORY, **known})
        return found

    def _between_jobs(self, one: Setting, mean: float) -> float:
        """How far the jobs of this configuration lie from what is predicted, as ln: the next may
        lie as far, however sure their median is."""
        ends = [
            one.devices / row[end]
            for row, known in zip(self.rows, self.pace.settings, strict=True)
            if (known.group, known.source) == (one.group, one.source) and known.jobs > 1
            for end in ("tokens_per_s_low", "tokens_per_s_high")
            if row[end]
        ]
        return max((abs(math.log(pace) - mean) for pace in ends), default=0.0)

    def proposed(
        self, made: Sequence[Row], most: int, per_device: bool = False
    ) -> list[dict[str, Any]]:
        """The configurations of `made`, which are rated, that are worth most to run, in order: by
        their time, or `per_device`, by the device-hours that they take."""

        settings = [_of(row, self.systems) for row in made]
        mean, covariance = self.pace.predicted(settings)
        mean = mean - np.log([_work(one, per_device) for one in settings])
        known = {one.group for one in settings}
        sizes = {one.devices for one in settings}
        system, model = settings[0].system, settings[0].model
        measured = [
            math.log(float(one.pace or 0) / _work(one, per_device))
            for one in self.pace.settings
            if one.system == system
            and (one.model == model or one.group in known)
            and (per_device or one.devices in sizes)  # more devices are faster whatever the split
        ]
        best = min(measured, default=float(mean.min()))
        fits = np.array([1 - (row["out_of_memory"] or 0.0) for row in made])
        chosen = order(mean, covariance, best, self.pace.scales.noise, fits, most)
        gain = expected_improvement(mean, np.sqrt(np.maximum(np.diag(covariance), 1e-12)), best)
        return [{**made[at], "expected_gain": float(gain[at])} for at in chosen]

    def repeated(self, made: Sequence[Row], per_device: bool = False) -> list[dict[str, Any]]:
        """Measured configurations, which are rated, with what one more job of each is worth, the
        most valuable first: it tells which of two that noise does not tell apart is the faster."""
        if not made:
            return []
        settings = [_of(row, self.systems) for row in made]
        mean, covariance = self.pace.predicted(settings)
        mean = mean - np.log([_work(one, per_device) for one in settings])
        variance = np.maximum(np.diag(covariance), 1e-12)
        gain = worth_repeating(mean, variance, self.pace.scales.noise)
        found = [{**row, "expected_gain": float(one)} for row, one in zip(made, gain, strict=True)]
        return sorted(found, key=lambda row: -row["expected_gain"])

    def _reached(self, one: Setting) -> float:
        """How many times more or fewer devices than were measured a run has; raises BenchError for
        one that no run of its system tells of."""
        apart, of_system = farther(self.pace, one)
        if of_system > _FARTHEST:
            raise BenchError(
                f"no run of about {number(one.devices)} devices",
                why=f"the largest of this system had {number(one.devices / of_system)},"
                f" more than {_FARTHEST} times fewer",
                hint="--nodes asks for fewer",
            )  # fmt: skip
        return apart

    @property
    def systems(self) -> frozenset[object]:
        """The systems that runs were measured on."""
        return frozenset(one.system for one in self.pace.settings)

    def _chance(self, kind: Beyond, mean: float, variance: float, space: float) -> float:
        """The probability that a need exceeds the room: the share of runs left out that were missed
        by as many deviations, half of them on this side."""
        assert self.memory is not None and self.memory_widths is not None
        known = self.memory_widths.of(kind).scores
        deviation = math.sqrt(max(variance, 0.0) + self.memory.scales.noise**2)
        apart = (math.log(space) - mean) / deviation
        beyond_it = (1 + sum(one >= abs(apart) for one in known)) / (len(known) + 1) / 2
        return beyond_it if apart > 0 else 1 - beyond_it

    def _of_memory(
        self, row: Row, one: Setting, kind: Beyond, mean: float, variance: float
    ) -> dict[str, Any]:
        assert self.memory is not None and self.memory_widths is not None
        width, _ = _width(self.memory_widths, one, kind, variance)
        space = room(row["device"])
        # Of a device that is not stated only what no device has is out of memory for sure.
        limit = space or (most_room() if mean > math.log(most_room()) else None)
        return {
            "memory_gb_predicted": math.exp(mean),
            "memory_gb_low": math.exp(mean - width),
            "memory_gb_high": math.exp(mean + width),
            "memory_gb_device": space,
            "out_of_memory": self._chance(kind, mean, variance, limit) if limit else None,
            "memory_terms": self.memory.terms(one, mean),
        }

    def _nearest(self, settings: Sequence[Setting]) -> list[tuple[Row, ...]]:
        """The runs of its system most like each configuration, by the covariance of the model."""
        scale = self.pace.scales
        pairs = likeness(settings, self.pace.settings)
        shared = pairs.covariance(scale, False, np.ones((len(settings), len(self.rows))))
        order = np.argsort(-shared - 1e-6 * np.exp(-pairs.apart), axis=1, kind="stable")
        return [
            tuple(self.rows[at] for at in nearest[:_NEAREST] if own[at] > 0)
            for own, nearest in zip(shared, order, strict=True)
        ]

    def agreement(self, system: object) -> list[tuple[Row, float, float, float]]:
        """The runs of a system with the tokens/s a device that they would have been predicted as
        had their configuration not been measured, and the ends of the 90% interval."""
        found, known = [], self.widths.of(Beyond.SETTING)
        for fold in folds(self.pace.settings, Beyond.SETTING):
            if self.pace.settings[fold.tested[0]].system != system:
                continue
            error, deviation = self.pace.left_out(fold.removed, fold.tested)
            width = known.factor(system)[0] * deviation
            for at, miss, half in zip(fold.tested, error, width, strict=True):
                rate = math.exp(miss) / float(self.pace.settings[at].pace or 1)
                ends = (rate * math.exp(-half), rate * math.exp(half))
                found.append((self.rows[at], rate, *ends))
        return found


def _work(one: Setting, per_device: bool) -> float:
    """What a run's time is over: its FLOPs, and its devices unless device-hours are sought."""
    return one.flops * (1 if per_device else one.devices)


_NO_MEMORY = dict.fromkeys(
    (
        "memory_gb_predicted",
        "memory_gb_low",
        "memory_gb_high",
        "memory_gb_device",
        "out_of_memory",
        "memory_terms",
    )
)


def _width(of: Widths, one: Setting, kind: Beyond, variance: float) -> tuple[float, int]:
    """Half of the 90% interval of ln(cost), and how many runs left out tell it."""
    factor, by = of.factor(kind, one.system)
    return factor * math.sqrt(max(variance, 0.0) + of.fitted.scales.noise**2), by


def _of(row: Row, systems: frozenset[object]) -> Setting:
    one = setting(row)
    if one is None:
        raise BenchError(
            "this configuration cannot be predicted", why=lacking(row) or "its size is not known",
            hint="--layers, --hidden and --nodes state it",
        )  # fmt: skip
    if one.peak is None and one.system not in systems:
        raise BenchError(
            f"{row['system']} was never measured and has no known peak",
            why="nothing tells how fast it is", hint="bench ingest a run of it",
        )  # fmt: skip
    return one


def _of_pace(row: Row, one: Setting, mean: float, width: float) -> dict[str, Any]:
    """Rates and times from ln(device-seconds a token) and half of its interval.

    No end of it is faster than the peak of the device, where that is known.
    """
    flops, peak = row["flops_per_token"], row["peak_tflops"]
    most = peak * 1e12 / (flops * recomputed(one)) if flops and peak else math.inf
    each = {end: min(math.exp(-(mean + sign * width)), most) for end, sign in
            (("", 0), ("_low", 1), ("_high", -1))}  # fmt: skip
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
    """The predictor that runs tell; of more than `MOST`, those of the system asked for first.

    Raises BenchError where no run says enough.
    """
    # Repeats of one day are one run: a machine may be another the next.
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
    settings = [one for row in kept if (one := setting(row))]
    paces = [float(one.pace or 0) for one in settings]
    pace = fit(PACE, settings, paces, [one.noise for one in settings], PACE_SCALES)
    memory = fitted(settings, _failed(left))
    widths = Widths(memory) if memory else None
    return Predictor(tuple(kept), pace, memory, tuple(left), Widths(pace), widths)


def _failed(rows: Sequence[Row]) -> list[tuple[Setting, float]]:
    """Runs that ran out of memory, with the room that their device has."""
    found = []
    for row in rows:
        space = room(row["device"])
        if row["status"] == "oom" and space and (one := setting(row)):
            found.append((one, space))
    return found
