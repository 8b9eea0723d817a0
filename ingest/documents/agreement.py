"""Whether facts in the text around a table agree with a row; others are of other runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...vocabulary.sizes import parse_size
from ..cast import integer
from .context import INTEGERS
from .fact import Fact

# A layer of a transformer has 12 x hidden^2 parameters, embeddings 2 x vocabulary x hidden at most.
_PER_LAYER = 12
_EMBEDDINGS = 2 * 262_144
# Shared key and value heads need less than that; wide feed-forward layers and experts need more.
_MOST, _LEAST = 1.12, 0.5
_SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden")
_SPLIT = ("tp", "pp", "cp")
_BARE_BATCH = re.compile(
    r"(?<![A-Za-z_-])(?<!global )(?<!total )(?<!effective )(?:bsz?|batch(?:[ _-]?size)?)[*_`]{0,3}"
    r"\s?[=:]?\s?\d",
    re.I,
)

_TOTAL_BATCH = re.compile(r"total[_-]batch[_-]size", re.I)
# Among the numbers of a row: the devices that its rates of job and device imply, and how far off.
DEVICES_OF_RATES, ERROR_OF_RATES = "devices by rates", "error of devices by rates"

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RefusedFact:
    """A fact that is not applied to a row, and the values that it contradicts, as text."""

    fact: Fact
    against: str


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation of fields, tested if all of `needs` are known; `doubted`: facts it can refuse."""

    needs: tuple[str, ...]
    doubted: tuple[str, ...]
    is_true: Callable[[Values], bool]


def agreeing(
    facts: Mapping[str, Fact],
    reach: Sequence[Fact],
    own: Values,
    trusted: frozenset[Fact] = frozenset(),
) -> tuple[dict[str, Fact], list[RefusedFact]]:
    """The facts that apply to a row, by field, and those refused; none of `trusted` is.

    `reach`: all facts that reach the row, weakest first: of two that disagree the nearer stays.
    `own`: the numbers of the row's cells by field; `size` in 1e9 parameters.
    """
    refused = [
        refused for refused in _of_other_models(facts, reach, own) if refused.fact not in trusted
    ]
    refused += [*_of_a_device(facts, own), *_of_tokens(facts, own)]
    kept = _without(facts, [one.fact for one in refused])
    values = _values(kept, own)
    for relation in _RELATIONS:
        while not _is_satisfied(relation, values):
            doubted = [kept[name] for name in relation.doubted if name in kept]
            doubted = [fact for fact in doubted if fact not in trusted]
            if not doubted:
                break
            gone = min(doubted, key=reach.index)
            against = _other(relation, gone, values)
            refused.append(
                RefusedFact(gone, ", ".join(f"{name} {values[name]:g}" for name in against))
            )
            kept = _without(kept, [gone, *_of_its_model(gone, kept)])
            values = _values(kept, own)
    return kept, refused


def _of_other_models(
    facts: Mapping[str, Fact], reach: Sequence[Fact], own: Values
) -> list[RefusedFact]:
    """The shape facts of a statement whose layers or hidden size a nearer statement replaces."""
    values = _values(facts, own)
    if (
        "size" in values
        and _is_satisfied(_RELATIONS[0], values)
        and {"layers", "hidden"} <= values.keys()
    ):
        return []  # together they are the model of the row
    refused = []
    for fact in (facts[name] for name in _SHAPE if name in facts):
        replaced = [
            one.field
            for one in reach
            if one.group == fact.group and one.field in ("layers", "hidden")
            and values.get(one.field) not in (None, _number(one))
        ]  # fmt: skip
        if replaced:
            refused.append(RefusedFact(fact, f"{replaced[0]} {values[replaced[0]]:g}"))
    return refused


def _of_a_device(facts: Mapping[str, Fact], own: Values) -> list[RefusedFact]:
    """A batch without a qualifier that has less than one sequence for each replica: `bs=1`."""
    fact, values = facts.get("gbs"), _values(facts, own)
    if fact is None or not {"gbs", "world"} <= values.keys() or not _BARE_BATCH.search(fact.raw):
        return []
    split = math.prod(values.get(name, 1) for name in _SPLIT)
    few = values["gbs"] * split < values["world"]
    return [RefusedFact(fact, f"devices {values['world']:g}")] if few else []


def _of_tokens(facts: Mapping[str, Fact], own: Values) -> list[RefusedFact]:
    """nanoGPT's `total_batch_size`, a multiple of the tokens of a micro-batch: it counts tokens."""
    fact, values = facts.get("gbs"), _values(facts, own)
    if fact is None or "gbs" in own or not {"mbs", "seq_len"} <= values.keys():
        return []
    mbs, length = values["mbs"], values["seq_len"]
    if not _TOTAL_BATCH.search(fact.raw) or values["gbs"] % (mbs * length):
        return []
    return [RefusedFact(fact, f"mbs {mbs:g}, seq_len {length:g}")]


def _of_its_model(fact: Fact, kept: Mapping[str, Fact]) -> list[Fact]:
    """The other facts of the same statement about the shape of a model."""
    if fact.field not in _SHAPE:
        return []
    return [kept[name] for name in _SHAPE if name in kept and kept[name].group == fact.group]


def _without(facts: Mapping[str, Fact], gone: Sequence[Fact]) -> dict[str, Fact]:
    return {name: fact for name, fact in facts.items() if fact not in gone}


def _is_satisfied(relation: _Relation, values: Values) -> bool:
    return not all(name in values for name in relation.needs) or relation.is_true(values)


def _other(relation: _Relation, fact: Fact, values: Values) -> list[str]:
    names = dict.fromkeys((*relation.needs, *relation.doubted))
    return [name for name in names if name in values and name != fact.field]


def _values(facts: Mapping[str, Fact], own: Values) -> dict[str, float]:
    """All known numbers of a row, its cells first; `world`: the devices of its nodes."""
    stated = {name: number for name, fact in facts.items() if (number := _number(fact))}
    values = {**stated, **own}
    nodes, each = values.get("nodes"), values.get("devices_per_node")
    if "devices" in values:
        values["world"] = values["devices"]
    elif nodes and each:
        values["world"] = nodes * each
    return values


def _number(fact: Fact) -> float | None:
    if fact.value is None:
        return None
    if fact.field == "size":
        return parse_size(fact.value)
    return integer(fact.value) if fact.field in INTEGERS else None


def _makes_the_size(values: Values) -> bool:
    core = _PER_LAYER * values["layers"] * values["hidden"] ** 2 / 1e9
    size = values["size"]
    return core <= _MOST * size and core + _EMBEDDINGS * values["hidden"] / 1e9 >= _LEAST * size


def _divides_the_devices(values: Values) -> bool:
    split = math.prod(values.get(name, 1) for name in _SPLIT)
    if {"dp", "tp", "pp"} <= values.keys():
        return split * values["dp"] == values["world"]
    return values["world"] % (split * values.get("dp", 1)) == 0


def _makes_the_batch(values: Values) -> bool:
    step = values["mbs"] * values["dp"]
    if "grad_accum" in values:
        return values["gbs"] == step * values["grad_accum"]
    return values["gbs"] % step == 0


def _fits_the_rates(values: Values) -> bool:
    return abs(values["devices"] - values[DEVICES_OF_RATES]) <= values[ERROR_OF_RATES]


_RELATIONS = (
    _Relation(("size", "layers", "hidden"), ("layers", "hidden"), _makes_the_size),
    _Relation(("hidden", "heads"), ("hidden", "heads"), lambda v: v["hidden"] % v["heads"] == 0),
    _Relation(("devices", DEVICES_OF_RATES), ("devices",), _fits_the_rates),
    _Relation(("world",), ("dp", *_SPLIT), _divides_the_devices),
    _Relation(("gbs", "mbs", "dp"), ("gbs", "mbs", "dp"), _makes_the_batch),
)
