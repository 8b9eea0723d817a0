"""Every value of a run that pages show: how it is made, and how it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..reports.format import days as as_days
from ..reports.format import (
    days_words,
    number,
    params,
    range_text,
    significant,
    tokens,
)
from ..reports.words import step_time
from . import budget, computed, flops
from .budget import Plan
from .case import Case
from .node import Node

Row = Mapping[str, Any]
STATED = (
    "dp", "tp", "pp", "cp", "ep", "vpp", "mbs", "device_batch", "grad_accum", "zero_stage",
    "layers", "hidden", "heads", "kv_heads", "ffn_hidden", "seq_len", "vocab", "params_stated",
    "params_b", "devices_per_node",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Metric:
    """A value of a run: its derivation, and the texts that pages print of it."""

    name: str
    derive: Callable[[Case, Plan], Node]
    texts: Callable[[Row, Plan], list[str]]
    head: bool = False  # of a whole run, it is told


def _plain(derive: Callable[[Case], Node]) -> Callable[[Case, Plan], Node]:
    return lambda case, plan: derive(case)


def _of(column: str, *writers: Callable[..., str]) -> Callable[[Row, Plan], list[str]]:
    return lambda row, plan: [write(row[column]) for write in writers if row[column] is not None]


def _three(x: float) -> str:
    return significant(x, 3)


def _four(x: float) -> str:
    return significant(x, 4)


def _days(row: Row, plan: Plan) -> list[str]:
    value, low, high = (plan.budget.days(row, end) for end in ("", "_high", "_low"))
    if value is None:
        return []
    whole = range_text(low, high, lambda x: number(x, 0))
    return [as_days(value), days_words(value), range_text(low, high, "days"), whole]


def _device_days(row: Row, plan: Plan) -> list[str]:
    many = row["devices"] if row["devices"] is not None else row["world_size"]
    value = plan.budget.days(row)
    return [_three(value * many)] if value and many else []


def _step_time(row: Row, plan: Plan) -> list[str]:
    if row["step_time_s"] is None:
        return []
    low, high = row["step_time_low"], row["step_time_high"]
    return [step_time(row), _four(row["step_time_s"]), range_text(low, high, "seconds")]


def _parameters(row: Row, plan: Plan) -> list[str]:
    """As a count, and as the label that a source without one gets."""
    if row["params_computed"] is None:
        return []
    return [params(row["params_computed"]), *([row["size"]] if row["params_b"] is None else [])]


def _measured(metric: str) -> Callable[[Case, Plan], Node]:
    return lambda case, plan: computed.measured(case, metric)


def _stated(name: str) -> Callable[[Case, Plan], Node]:
    return lambda case, plan: case.stated(name)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("days", budget.days, _days, True),
        Metric("device_days", budget.device_days, _device_days),
        Metric("step_time_s", _measured("step_time_s"), _step_time),
        Metric("tokens_per_s", _plain(computed.tokens_per_s), _of("tokens_per_s", _four)),
        Metric(
            "tokens_per_s_per_device",
            _plain(computed.tokens_per_s_per_device),
            _of("tokens_per_s_per_device", _four),
            True,
        ),
        Metric("tflops", _measured("tflops"), _of("tflops", _four, number), True),
        Metric("memory", _measured("memory"), _of("memory", number), True),
        Metric("model_tflops", _plain(flops.model_tflops), _of("model_tflops", _three), True),
        Metric(
            "aggregate_pflops",
            _plain(flops.aggregate_pflops),
            _of("aggregate_pflops", _three),
            True,
        ),
        Metric(
            "documented_aggregate",
            _plain(flops.documented_aggregate),
            _of("documented_aggregate", _three),
        ),
        Metric(
            "params_computed",
            _plain(flops.params_computed),
            _parameters,
            True,
        ),
        Metric(
            "params_without_embedding",
            _plain(flops.params_without_embedding),
            _of("params_without_embedding", params),
        ),
        Metric(
            "tokens_per_step",
            _plain(computed.tokens_per_step),
            _of("tokens_per_step", number, tokens),
        ),
        Metric("gbs", _plain(computed.gbs), _of("gbs", number)),
        Metric("world_size", _plain(computed.world_size), _of("world_size", number)),
        Metric("product", _plain(computed.product), _of("product", number)),
        Metric("nodes", _plain(computed.nodes), _of("nodes", number)),
        Metric("devices", _plain(computed.devices), _of("devices", number)),
        Metric("procs_per_node", _plain(computed.procs_per_node), _of("procs_per_node", number)),
        Metric("vocab_used", _plain(computed.vocab_used), _of("vocab_used", number)),
        *(Metric(name, _stated(name), _of(name, number)) for name in STATED),
    )
}


def heads(case: Case, plan: Plan) -> Iterator[Node]:
    """What is told of a whole run: the values that are known, with all below them.

    Of a run that has none of the great ones, all that it has.
    """
    great = list(_known(case, plan, head=True))
    yield from great or _known(case, plan, head=False)


def _known(case: Case, plan: Plan, *, head: bool) -> Iterator[Node]:
    for metric in METRICS.values():
        if metric.head is head:
            node = metric.derive(case, plan)
            if node.value is not None:
                yield node
