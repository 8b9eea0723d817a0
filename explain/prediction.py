"""`bench explain prediction`: the terms of a prediction, their parameters and runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..decide.query import Query
from ..foresight.answers import predicted
from ..foresight.intervals import LEVEL
from ..foresight.posterior import Part
from ..project.short_names import ShortNames
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import chance, percent, significant
from .context import explain_context
from .tree import Answer, Arithmetic, Match, Node, SourceSpan

WORD = "prediction"
_SOURCE = "docs/predict.md: terms, priors and intervals"


def explain_prediction(
    warehouse: Warehouse, root: Path, query: Query, sizes: Mapping[str, Any]
) -> Answer:
    """The derivation of the prediction for a configuration; raises BenchError like the
    prediction."""
    made = predicted(warehouse, query, sizes)
    [row] = made.rows
    matches = [Match(f"{WORD}.{_time(row).name}", "of bench predict", _time(row))]
    if row["memory_terms"]:
        matches.append(Match(f"{WORD}.memory_gb", "of bench predict", _memory(row)))
    # Without a query: a model that was not measured has no runs.
    context = explain_context(warehouse, root, Query())
    uris = {uri for match in matches for uri, _ in match.tree.places()}
    names = ShortNames.of(warehouse)
    notes = tuple(f"assumed: {names.within(text)}" for text in made.facts["assumed"])
    return Answer(WORD, WORD, tuple(matches), versions=tuple(context.versions(uris)), notes=notes)


def _time(row: Row) -> Node:
    """The seconds per step, or per token and device if the batch is unknown."""
    rate, timed = row["tokens_per_s_per_device"], row["step_time_s"]
    whole = timed or 1 / rate
    ends = ("step_time_low", "step_time_high")
    low, high = (row[end] for end in ends) if timed else (
        1 / row[f"tokens_per_s_per_device{end}"] for end in ("_high", "_low")
    )  # fmt: skip
    words = "sum of the terms" + (
        " x tokens_per_step / devices" if timed else ", device-seconds a token"
    )
    inputs = [_part(part, whole * rate, whole, "s") for part in row["terms"]]
    if timed:
        inputs += [Node("tokens_per_step", row["tokens_per_step"], "tokens"),
                   Node("devices", row["device_count"])]  # fmt: skip
    rests_on = (row["base"], *row["rests_on"])
    return Node(
        "step_time_s" if timed else "pace", whole, "s", low, high,
        Arithmetic(words, title="a law of physical terms, fitted to runs", source=_SOURCE),
        note=f"{LEVEL:.0%} interval by {row['scores']} runs left out: {row['beyond']}",
        inputs=(*inputs, *map(_run, {one["where"]: one for one in rests_on}.values())),
    )  # fmt: skip


def _memory(row: Row) -> Node:
    whole = row["memory_gb_predicted"]
    inputs = [_part(part, 1.0, whole, "GB") for part in row["memory_terms"]]
    if row["memory_gb_device"]:
        inputs.append(Node("memory of the device", row["memory_gb_device"], "GB"))
        inputs.append(Node("P(out of memory)", chance(row["out_of_memory"])))
    fitted = "fitted to printed peaks and to runs without room"
    return Node(
        "memory_gb", whole, "GB", row["memory_gb_low"], row["memory_gb_high"],
        Arithmetic(
            "sum of the terms",
            title=fitted if row["memory_fitted"] else "not fitted: the priors", source=_SOURCE,
        ),
        inputs=tuple(inputs),
    )  # fmt: skip


def _part(part: Part, scale: float, whole: float, unit: str) -> Node:
    """A term: its parameter times its count."""
    share = percent(part.cost * scale / whole, 1)
    if part.parameter is None:
        return Node(part.title, part.cost * scale, unit, note=f"{share}; in addition to all terms")
    fitted = significant(part.parameter, 3)
    moved = abs(math.log(part.parameter / part.usual)) / math.log(part.spread)
    prior = f"prior {significant(part.usual, 3)}, {moved:.1f} deviations away"
    return Node(
        part.title, part.cost * scale, unit, note=share,
        how=Arithmetic(f"{fitted} x ({part.words})", title=prior),
    )  # fmt: skip


def _run(row: Row) -> Node:
    """A run that the prediction is fitted to, at its place in the source."""
    return Node(
        "tokens_per_s_per_device of a run it rests on", row["tokens_per_s_per_device"],
        "tokens/s", place=SourceSpan(row["uri"], row["line"]),
    )  # fmt: skip
