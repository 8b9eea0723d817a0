"""How model FLOP/s, aggregates and parameters of a run are made."""

from __future__ import annotations

from dataclasses import replace

from .case import Case
from .computed import (
    by_formula,
    gbs,
    measured,
    nodes,
    tokens_per_step,
    vocab_used,
    world_size,
)
from .node import How, Node


def model_flops(case: Case) -> Node:
    """FLOP of one step: F7 where the shape is known, else F5 from the parameters."""
    found = case.warehouse.rows(
        "SELECT flops, formula FROM model_flops WHERE run_id = ?", [case.run_id]
    )
    if not found:
        return Node("model_flops", None, "FLOP", note="neither shape nor size label is known")
    [(value, formula)] = found
    if formula == "F5":
        inputs: tuple[Node, ...] = (_parameters(case), tokens_per_step(case))
    else:
        inputs = (
            _named(gbs(case), "b"), case.stated("seq_len", "s"), case.stated("layers", "l"),
            case.stated("hidden", "h"), _named(vocab_used(case), "v"),
            case.stated("heads", "a"), _groups(case),
        )  # fmt: skip
    return Node("model_flops", value, "FLOP per iteration", how=by_formula(formula), inputs=inputs)


def _parameters(case: Case) -> Node:
    if case.row["params_stated"] is not None:
        return case.stated("params_stated", "params")
    stated = case.stated("params_b", "params", case.row["params_b"] * 1e9)
    return replace(stated, unit="parameters")


def _groups(case: Case) -> Node:
    if case.row["kv_heads"] is not None:
        return case.stated("kv_heads", "g")
    heads = case.row["heads"] or None
    note = "no grouped-query attention is stated: as many groups as heads"
    return Node("g", heads or 1, note=note if heads else "no heads are stated: g / a is 1")


def _named(node: Node, name: str) -> Node:
    return replace(node, name=name, note="; ".join(filter(None, (node.name, node.note))))


def model_tflops(case: Case) -> Node:
    """Model TFLOP/s of one process."""
    row = case.warehouse.dicts("SELECT * FROM metric_model_tflops WHERE run_id = ?", [case.run_id])
    low, high = (row[0]["low"], row[0]["high"]) if row else (None, None)
    how = How("model_flops / (step_time_s x world_size x 1e12)")
    inputs = (model_flops(case), measured(case, "step_time_s"), world_size(case))
    value = case.row["model_tflops"]
    return Node("model_tflops", value, "TFLOP/s of a process", low, high, how, inputs=inputs)


def aggregate_pflops(case: Case) -> Node:
    """Model PFLOP/s of the whole job."""
    row = case.row
    how = by_formula("A2", "model_flops / step_time_s / 1e15")
    inputs = (model_flops(case), measured(case, "step_time_s"))
    return Node("aggregate_pflops", row["aggregate_pflops"], "PFLOP/s", row["aggregate_low"],
                row["aggregate_high"], how, inputs=inputs)  # fmt: skip


def documented_aggregate(case: Case) -> Node:
    """Est. Aggr. PetaFLOPs as the documents define it."""
    inputs = (measured(case, "tflops"), nodes(case))
    value = case.row["documented_aggregate"]
    return Node("documented_aggregate", value, "1024 TFLOP/s", how=by_formula("A1"), inputs=inputs)


def params_computed(case: Case) -> Node:
    """Parameters with the embedding."""
    inputs = (case.stated("layers", "l"), case.stated("hidden", "h"),
              _named(vocab_used(case), "v"), case.stated("seq_len", "s"))  # fmt: skip
    value = case.row["params_computed"]
    return Node("params_computed", value, "parameters", how=by_formula("P1"), inputs=inputs)


def params_without_embedding(case: Case) -> Node:
    """Parameters without the embedding."""
    inputs = (case.stated("layers", "l"), case.stated("hidden", "h"))
    value = case.row["params_without_embedding"]
    how = by_formula("P1N")
    return Node("params_without_embedding", value, "parameters", how=how, inputs=inputs)
