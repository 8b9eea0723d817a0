"""A measured value of a row of an answer: of one run, or the median over the jobs that it pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from ..audit.memory import GB
from ..decide.rows import Row
from .computed import count, tokens_per_step
from .decision import Told
from .metric import METRICS
from .node import How, Node

MEASURED = (
    "step_time_s", "tokens_per_s", "tokens_per_s_per_device", "tflops", "model_tflops", "memory_gb",
)  # fmt: skip


def pooled(told: Told, row: Row, name: str, side: str = "") -> Node:
    """The column of a row; `side` is `_base` for the base of a comparison."""
    runs: Sequence[Sequence[str]] = row[f"runs{side}"]
    value = row.get(f"{name}{side}")
    if row["basis"] == "fit" and not side:
        low, high = (row.get(f"{name}_{end}") for end in ("low", "high"))
        return Node(name, value, _unit(name), low, high, note=str(row["range_from"]))
    if name.startswith("tokens_per_s") and len(runs) > 1 and _rated(row, side):
        return _at_step_time(told, row, name, side, value)
    nodes = [_of_job(told, job, name) for job in runs]
    if len(nodes) == 1:
        return nodes[0]
    known = [node for node in nodes if node.value is not None]
    value = value if value is not None else _median(known)
    how = How(f"median of {len(known)} jobs")
    return Node(name, value, _unit(name), how=how, inputs=tuple(known))


def pace(told: Told, row: Row, side: str = "") -> Node:
    """Seconds a token, which sides are compared by; else a step, else a printed TFLOP."""
    runs: Sequence[Sequence[str]] = row[f"runs{side}"]
    nodes = [_of_job(told, job, "pace") for job in runs]
    if len(nodes) == 1:
        return nodes[0]
    known = [node for node in nodes if node.value is not None]
    how = How(f"median of {len(known)} jobs")
    return Node("pace", _median(known), nodes[0].unit, how=how, inputs=tuple(known))


def devices(told: Told, row: Row) -> Node:
    """The devices of a row (processes of a source that states none)."""
    if row["basis"] == "fit":
        return Node("devices", row["device_count"], note="of the size asked for")
    return count(told.case(row["runs"][0][0]))


def _rated(row: Row, side: str) -> bool:
    time, rate = row[f"step_time_s{side}"], row.get(f"tokens_per_s{side}")
    tokens = row["tokens_per_step"]
    return bool(time and rate and tokens and abs(tokens / time / rate - 1) < 1e-9)


def _at_step_time(told: Told, row: Row, name: str, side: str, value: float | None) -> Node:
    case = told.case(row[f"runs{side}"][0][0])
    inputs = (tokens_per_step(case), pooled(told, row, "step_time_s", side))
    rate = Node("tokens_per_s", row[f"tokens_per_s{side}"], "tokens/s",
                how=How("tokens_per_step / step_time_s"), inputs=inputs)  # fmt: skip
    if name == "tokens_per_s":
        return rate
    how = How("tokens_per_s / devices")
    return Node(name, value, _unit(name), how=how, inputs=(rate, count(case)))


def _of_job(told: Told, runs: Sequence[str], name: str) -> Node:
    nodes = [_of_run(told, run, name) for run in runs]
    if len(nodes) == 1:
        return nodes[0]
    known = [node for node in nodes if node.value is not None]
    how = How(f"median of the {len(known)} segments of a log")
    return Node(name, _median(known), _unit(name), how=how, inputs=tuple(known))


def _of_run(told: Told, run: str, name: str) -> Node:
    case, plan = told.case(run), told.world.plan
    if name == "memory_gb":
        node = METRICS["memory"].derive(case, plan)
        scale = GB.get(node.unit)
        if not isinstance(node.value, (int, float)) or scale is None:
            return Node("memory_gb", None, "GB", inputs=(node,))
        if scale == 1:
            return replace(node, name="memory_gb")
        how = How(f"memory x {scale:g}")
        return Node("memory_gb", node.value * scale, "GB", how=how, inputs=(node,))
    if name != "pace":
        return METRICS[name].derive(case, plan)
    rate = METRICS["tokens_per_s"].derive(case, plan)
    if isinstance(rate.value, (int, float)) and rate.value:
        return Node(
            "pace", 1 / rate.value, "s a token", how=How("1 / tokens_per_s"), inputs=(rate,)
        )
    time = METRICS["step_time_s"].derive(case, plan)
    if time.value is not None:
        return replace(time, name="pace")
    inputs = (METRICS["tflops"].derive(case, plan), count(case))
    printed, many = (node.value for node in inputs)
    if not isinstance(printed, (int, float)) or not isinstance(many, (int, float)):
        return Node("pace", None, inputs=inputs)
    how = How("1 / (tflops x devices)")
    return Node("pace", 1 / (printed * many), "s a TFLOP", how=how, inputs=inputs)


def _median(nodes: Sequence[Node]) -> float | None:
    values = [float(node.value) for node in nodes if isinstance(node.value, (int, float))]
    return median(values) if values else None


def _unit(name: str) -> str:
    return {
        "step_time_s": "s", "tokens_per_s": "tokens/s", "tflops": "TFLOP/s", "memory_gb": "GB",
        "model_tflops": "TFLOP/s of a process", "tokens_per_s_per_device": "tokens/s of a device",
    }.get(name, "")  # fmt: skip
