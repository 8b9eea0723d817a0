"""The formulas of schema/formulas as functions, and the possible readings of a row's TFLOPs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..schema.catalogue import formulas as described
from ..vocabulary.package_toml import declared
from .input import Reading, Row

Shape = tuple[int, int, int]  # layers, hidden, heads
ONLY_PLAIN = frozenset(("F1", "F2", "F3", "F7", "F9", "F10"))  # an MLP of 4h without gate
_OF_PARAMETERS = ("F6", "F10")
# Vocabularies if none is stated: GPT-2, BLOOM, Llama 1 and 2, Llama 3; Megatron's sample: 51200.
_VOCABULARIES = (50257, 250680, 32000, 128256)
# 50304 is 50257 padded to a multiple of 64, as in nanoGPT, for any TP.
_UNPADDED = (50257, 50304, 51200)
_REMEMBERED = 1 << 16  # cache entries, configurations x readings: tables of a sweep repeat them


@cache
def function(formula: str) -> tuple[tuple[str, ...], Callable[..., float]]:
    """The parameters of a formula and a Python function compiled from its SQL."""
    rule = next(rule for rule in described() if rule.name == formula)
    code = f"lambda {', '.join(rule.parameters)}: {rule.expression}"
    made: Callable[..., float] = eval(code, {"__builtins__": {}})  # our own file, arithmetic only
    return rule.parameters, made


@cache
def needs(formula: str) -> frozenset[str]:
    """The inputs of a formula that a row must provide; a reading can add the others."""
    names, _ = function(formula)
    return frozenset(names) - {"v", "factor", "params"}


def compute(formula: str, values: Mapping[str, float | None]) -> float | None:
    """FLOP of one iteration; None if an input is unknown."""
    names, call = function(formula)
    given = [values.get(name) for name in names]
    if None in given:
        return None
    return call(*given)


@cache
def shape_of(label: float | None) -> Shape | None:
    """The usual shape for a size label (in 1e9 parameters)."""
    if not label:
        return None
    for entry in declared(__package__ or "bench.audit", "shapes.toml")["shape"]:
        if abs(label / entry["label"] - 1) < 0.02:
            return entry["layers"], entry["hidden"], entry["heads"]
    return None


class Values(NamedTuple):
    """The inputs of formulas, except vocabulary and factor, by their names in formulas."""

    b: float | None
    s: float | None
    l: float | None  # noqa: E741 (the formula's own letter)
    h: float | None
    a: float
    g: float
    k: float | None
    ffn: float | None
    gates: int
    experts: int
    t: int
    p: int
    tokens: float | None
    label: float | None


def values_of(row: Row, gbs: int | None = None) -> Values:
    """The inputs of formulas for a row; the shape of its size label if it states none."""
    layers, hidden, heads = row.layers, row.hidden, row.heads
    if layers is None and hidden is None and (common := shape_of(row.params_b)):
        layers, hidden, heads = common
    heads = heads or 1
    b = gbs or row.gbs
    return Values(
        b,
        row.seq_len,
        layers,
        hidden,
        heads,
        row.kv_heads or heads,
        hidden / heads if hidden else None,
        row.ffn_hidden or (4 * hidden if hidden else None),
        3 if row.swiglu else 2,
        1,
        row.tp or 1,
        row.pp or 1,
        b * row.seq_len if b and row.seq_len else None,
        row.params_b * 1e9 if row.params_b else None,
    )


def values_of_run(row: Mapping[str, Any]) -> dict[str, float | None]:
    """The inputs of formulas for a run, from its row of `configurations`; without factor 3 or 4."""
    hidden, heads, length = row["hidden"] or None, row["heads"] or 1, row["seq_len"] or None
    tokens = row["tokens_per_step"]
    return {
        "b": tokens / length if tokens and length else None,
        "s": length,
        "l": row["layers"] or None,
        "h": hidden,
        "a": heads,
        "g": row["kv_heads"] or heads,
        "k": hidden / heads if hidden else None,
        "ffn": row["ffn_hidden"] or (4 * hidden if hidden else None),
        "gates": 3 if row["swiglu"] else 2,
        "experts": 1,
        "v": row["vocab_used"],
        "t": row["tp"] or 1,
        "p": row["pp"] or 1,
        "tokens": tokens,
        "params": row["params_stated"] or (row["params_b"] * 1e9 if row["params_b"] else None)
        or row["params_computed"],
    }  # fmt: skip


def flops(row: Row, reading: Reading, values: Values) -> float | None:
    """FLOP of one iteration by a reading; `values` are those of `values_of`."""
    if reading.formula in ONLY_PLAIN and (row.swiglu or _odd_mlp(row)):
        return None
    factor = reading.factor
    if factor == 0:
        factor = {"full": 4, "none": 3}.get(row.recompute or "")
    v = row.vocab or reading.vocab
    pads = bool(v and not row.vocab and not reading.exact)
    return _flops(reading.formula, factor, v, pads, values)


@lru_cache(_REMEMBERED)
def _flops(
    formula: str, factor: int | None, v: int | None, pads: bool, values: Values
) -> float | None:
    if pads and v:
        v = padded(v, values.t)
    params = values.label
    if formula in _OF_PARAMETERS:
        params = compute("P1", {**values._asdict(), "v": v}) or params
    return compute(formula, {**values._asdict(), "v": v, "factor": factor, "params": params})


def divisor(row: Row, reading: Reading) -> int | None:
    """The number of units that the job's FLOP/s are divided by."""
    return {"world": row.world, "nodes": row.nodes, "job": 1}[reading.divisor]


def padded(vocab: int, tp: int) -> int:
    """A vocabulary padded as Megatron does (V1)."""
    return math.ceil(vocab / (128 * tp)) * 128 * tp


def readings(rows: list[Row]) -> list[Reading]:
    """Every reading worth trying on these rows, the likely ones first."""
    divisors = ["world"]
    if any(row.nodes and row.world and row.nodes != row.world for row in rows):
        divisors.append("nodes")
    vocabularies: list[tuple[int | None, bool]] = []
    if any(row.vocab for row in rows):
        vocabularies.append((None, False))
    vocabularies += [(vocab, False) for vocab in _VOCABULARIES]
    vocabularies += [(vocab, True) for vocab in _UNPADDED]
    found = [
        Reading(formula, factor, by, vocab, exact)
        for formula, factors in (
            ("F2", (0, 4, 3)),
            ("F8", (None,)),
            ("F7", (None,)),
            ("F12", (0, 4, 3)),
            ("F9", (None,)),
            ("F10", (None,)),
        )
        for factor in factors
        for by in divisors
        for vocab, exact in vocabularies
    ]
    plain = [Reading("F3", factor, by) for factor in (0, 4, 3) for by in divisors]
    plain += [Reading(formula, None, by) for formula in ("F4", "F5") for by in divisors]
    plain += [Reading("F6", None, by, vocab) for by in divisors for vocab, _ in vocabularies[:2]]
    return [*found, *plain]


def assumptions(row: Row, reading: Reading) -> int:
    """How many things a reading assumes that a row does not state."""
    names, _ = function(reading.formula)
    shape = ("l" in names or reading.formula in _OF_PARAMETERS) and row.layers is None
    return 2 * shape + (reading.vocab is not None) + 4 * reading.fitted


def _odd_mlp(row: Row) -> bool:
    return bool(row.ffn_hidden and row.hidden and row.ffn_hidden != 4 * row.hidden)
