"""Charts of predictions: the parts of one, and of many predicted against measured."""

from __future__ import annotations

from matplotlib.figure import Figure

from ..decide.rows import Decision
from ..foresight.setting import system_of
from ..project.short_names import ShortNames
from ..schema.errors import BenchError
from ..vocabulary.format import percent, significant
from .answer import configuration_words
from .charts.agreement import Pair, draw_agreement
from .charts.data import Bar
from .charts.waterfall import draw_waterfall


def predict_picture(names: ShortNames, decision: Decision) -> Figure:
    """The chart of an answer of `bench predict`; raises BenchError for an answer without rows."""
    return _agreement(names, decision) if decision.facts["every"] else _waterfall(names, decision)


def _waterfall(names: ShortNames, decision: Decision) -> Figure:
    """The seconds of a step, term by term; of a token and device if the batch is unknown."""
    row = decision.rows[0]
    tokens, timed = row["tokens_per_s"], row["step_time_s"]
    # Terms are device-seconds a token.
    scale = timed * row["tokens_per_s_per_device"] if timed else 1e6
    whole = timed or 1e6 / row["tokens_per_s_per_device"]
    parts = [Bar(part.title, part.cost * scale) for part in row["terms"]]
    ends = (row["step_time_low"], row["step_time_high"]) if timed else (
        1e6 / row["tokens_per_s_per_device_high"], 1e6 / row["tokens_per_s_per_device_low"],
    )  # fmt: skip
    unit = "s" if timed else "µs"
    subject = f"{row['size']} on {names.system(row['system'])}, " if row["size"] else ""
    low, high = (significant(end, 3) for end in ends)
    title = f"{subject}{configuration_words(row)}: predicted {significant(whole, 3)}"
    title += f" ({low} to {high}) {unit}"
    title += f" a step, {significant(tokens, 3)} tokens/s" if timed else " a token and device"
    label = "Seconds of a step" if timed else "Microseconds of a token and device"
    total = Bar("predicted, with 90% interval", whole, *ends)

    def text(value: float) -> str:
        return f"{significant(value, 3)} {unit}"

    return draw_waterfall(parts, total, title, label, text)


def _agreement(names: ShortNames, decision: Decision) -> Figure:
    """Runs of the base's model, or of all models of its system if these are few."""
    base = decision.facts["base"]
    every = decision.facts["predictor"].agreement(system_of(base))
    own = [one for one in every if one[0]["size"] == base["size"]]
    chosen = own if len(own) > 1 else every
    if not chosen:
        raise BenchError(
            "nothing to draw", why="the warehouse has no other run to predict this one from",
            hint="bench ingest more runs of its system",
        )  # fmt: skip
    pairs = [Pair(row["tokens_per_s_per_device"], *ends) for row, *ends in chosen]
    pairs.sort(key=lambda pair: (pair.measured, pair.predicted))
    off = sorted(abs(pair.predicted / pair.measured - 1) for pair in pairs)[len(pairs) // 2]
    covered = sum(pair.covered for pair in pairs)
    what = f"{base['size']} on " if chosen is own and base["size"] else ""
    title = f"{what}{names.system(base['system'])}: predictions off by {percent(off, 1)} (median),"
    title += f" {covered} of {len(pairs)} within their 90% intervals"
    return draw_agreement(pairs, title, "tokens/s a device")
