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
from .intervals import Beyond, Scores, beyond, scores
from .likeness import likeness
from .memory import fitted, room
from .posterior import Posterior, basis, fit
from .proposals import expected_improvement, order
from .scales import PACE_SCALES
from .setting import Setting, lacking, setting
from .terms import PACE

MOST = 800  # runs that train: the time of a fit grows with their cube
_NEAREST = 3  # runs that a prediction is said to rest on


@dataclass(frozen=True)
class Predictor:
    """A model fitted to runs; `rows` are those that trained it, in the order of its settings."""

    rows: tuple[Row, ...]
    pace: Posterior
    memory: Posterior | None
    left_out: tuple[Row, ...]  # each with its reason
    _scores: dict[tuple[str, Beyond], Scores] = field(default_factory=dict, repr=False)

    def rated(self, made: Sequence[Row]) -> list[dict[str, Any]]:
        """Rows of configurations with what is predicted of them; raises BenchError for one that
        has no basis: no known device count or size, or neither runs nor a peak of its system."""
        settings = [_of(row, self.systems) for row in made]
        if not settings:
            return []
        mean, covariance = self.pace.predicted(settings)
        needs = self.memory.predicted(settings) if self.memory else None
        found = []
        for at, (row, one) in enumerate(zip(made, settings, strict=True)):
            kind = beyond(self.pace, one)
            width, by = self._width("pace", self.pace, one, kind, covariance[at, at])
            known = {"beyond": str(kind), "scores": by, "rests_on": self._nearest(one)}
            known |= _of_pace(row, one, float(mean[at]), width)
            if needs:
                known |= self._of_memory(row, one, kind, float(needs[0][at]), needs[1][at, at])
            found.append({**row, **_NO_MEMORY, **known, "terms": self.terms(one, float(mean[at]))})
        return found

    def proposed(self, made: Sequence[Row], most: int) -> list[Row]:
        """The configurations of `made`, which are rated, that are worth most to run, in order."""
        settings = [_of(row, self.systems) for row in made]
        mean, covariance = self.pace.predicted(settings)
        mean = mean - np.log([one.flops * one.devices for one in settings])
        known = {one.group for one in settings}
        system, model = settings[0].system, settings[0].model
        measured = [
            math.log(float(one.pace or 0) / one.flops / one.devices)
            for one in self.pace.settings
            if one.system == system and (one.model == model or one.group in known)
        ]
        best = min(measured, default=float(mean.min()))
        fits = np.array([1 - (row["out_of_memory"] or 0.0) for row in made])
        chosen = order(mean, covariance, best, self.pace.scales.noise, fits, most)
        gain = expected_improvement(mean, np.sqrt(np.maximum(np.diag(covariance), 1e-12)), best)
        return [{**made[at], "expected_gain": float(gain[at])} for at in chosen]

    @property
    def systems(self) -> frozenset[object]:
        """The systems that runs were measured on."""
        return frozenset(one.system for one in self.pace.settings)

    def _width(
        self, name: str, of: Posterior, one: Setting, kind: Beyond, variance: float
    ) -> tuple[float, int]:
        """Half of the 90% interval of ln(cost), and how many runs left out tell it."""
        key = (name, kind)
        if key not in self._scores:
            self._scores[key] = scores(of, kind)
        known = self._scores[key]
        if not known.scores:  # nothing can be left out so: what is asked further tells least
            known = scores(of, Beyond.SETTING)
        factor, by = known.factor(one.system)
        return factor * math.sqrt(max(variance, 0.0) + of.scales.noise**2), by

    def _chance(self, kind: Beyond, mean: float, variance: float, space: float) -> float:
        """The probability that a need exceeds the room: the share of runs left out that were missed
        by as many deviations, half of them on this side."""
        assert self.memory is not None
        known = self._scores["memory", kind].scores or scores(self.memory, Beyond.SETTING).scores
        deviation = math.sqrt(max(variance, 0.0) + self.memory.scales.noise**2)
        apart = (math.log(space) - mean) / deviation
        beyond_it = (1 + sum(one >= abs(apart) for one in known)) / (len(known) + 1) / 2
        return beyond_it if apart > 0 else 1 - beyond_it

    def _of_memory(
        self, row: Row, one: Setting, kind: Beyond, mean: float, variance: float
    ) -> dict[str, Any]:
        assert self.memory is not None
        width, _ = self._width("memory", self.memory, one, kind, variance)
        space = room(row["device"])
        return {
            "memory_gb_predicted": math.exp(mean),
            "memory_gb_low": math.exp(mean - width),
            "memory_gb_high": math.exp(mean + width),
            "memory_gb_device": space,
            "out_of_memory": self._chance(kind, mean, variance, space) if space else None,
        }

    def _nearest(self, one: Setting) -> tuple[Row, ...]:
        """The runs of its system most like a configuration, by the covariance of the model."""
        scale = self.pace.scales
        pairs = likeness([one], self.pace.settings)
        shared = pairs.covariance(scale, False, np.ones((1, len(self.rows))))[0]
        order = np.argsort(-shared - 1e-6 * np.exp(-pairs.apart[0]), kind="stable")
        return tuple(self.rows[at] for at in order[:_NEAREST] if shared[at] > 0)

    def terms(self, one: Setting, mean: float) -> dict[str, float]:
        """Device-seconds a token by term; the last is what like runs add or take."""
        found = basis(PACE, [one])
        costs, wait = found.parts(self.pace.parameters([one]))
        named = {term.title: float(cost) for term, cost in zip(PACE.terms, costs[0], strict=True)}
        named["pipeline bubble"] = float(wait[0])
        named["what like runs add or save"] = math.exp(mean) - sum(named.values())
        return {title: cost for title, cost in named.items() if cost}


_NO_MEMORY = dict.fromkeys(
    ("memory_gb_predicted", "memory_gb_low", "memory_gb_high", "memory_gb_device", "out_of_memory")
)


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
    """Rates and times from ln(device-seconds a token) and half of its interval."""
    each = {end: math.exp(-(mean + sign * width)) for end, sign in
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
    flops = row["flops_per_token"]
    made["model_tflops"] = each[""] * flops / 1e12 if flops else None
    peak = row["peak_tflops"]
    made["mfu"] = made["model_tflops"] / peak if flops and peak else None
    return made


def trained(rows: Sequence[Row], left_out: Sequence[Row], system: object = None) -> Predictor:
    """The predictor that runs tell; of more than `MOST`, those of the system asked for first.

    Raises BenchError where no run says enough.
    """
    judged = [(row, lacking(row)) for row in by_configuration(rows)]
    kept = [row for row, why in judged if not why]
    left = [*left_out, *({**row, "left_out": why} for row, why in judged if why)]
    if not kept:
        reasons = sorted({str(row["left_out"]) for row in left})
        raise BenchError(
            "no run can train a prediction", why="; ".join(reasons[:5]) or "there are none",
            hint="bench runs shows what is known of each; --set or facts.toml adds what is missing",
        )  # fmt: skip
    kept.sort(key=lambda row: (row["system"] != system, row["uri"], row["line"]))
    left += [{**row, "left_out": f"beyond the first {MOST:,} runs"} for row in kept[MOST:]]
    kept = kept[:MOST]
    settings = [one for row in kept if (one := setting(row))]
    paces = [float(one.pace or 0) for one in settings]
    pace = fit(PACE, settings, paces, [one.noise for one in settings], PACE_SCALES)
    return Predictor(tuple(kept), pace, fitted(settings, _failed(left)), tuple(left))


def _failed(rows: Sequence[Row]) -> list[tuple[Setting, float]]:
    """Runs that ran out of memory, with the room that their device has."""
    found = []
    for row in rows:
        space = room(row["device"])
        if row["status"] == "oom" and space and (one := setting(row)):
            found.append((one, space))
    return found
