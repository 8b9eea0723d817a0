"""How each computed value of a run is made; the values themselves are those of the warehouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..schema.catalogue import formulas
from .case import Case
from .node import How, Node
from .statistic import printed, statistic

Derive = Callable[[Case], Node]


def by_formula(name: str, expression: str = "") -> How:
    """A formula of schema/formulas as the way a value is made."""
    found = next(one for one in formulas() if one.name == name)
    text = expression or plain(found.expression)
    return How(text, name, found.title, found.source, found.counts)


def plain(expression: str) -> str:
    """The arithmetic of a formula as people write it: 60e0 -> 60."""
    import re

    text = re.sub(r"\b(\d+)e0\b", r"\1", expression).replace("::BIGINT", "")
    return text.replace("1 * ", "").replace("+ 1.0 *", "+")


def measured(case: Case, metric: str) -> Node:
    """A printed number, or the statistic of a log."""
    row = case.measurements.get(metric)
    if row is None:
        return Node(metric, None, note="not stated")
    return printed(case, metric, dict(row))


def _value(case: Case, name: str) -> Any:
    return case.row.get(name)


def nodes(case: Case) -> Node:
    """Nodes as stated, else devices over devices a node."""
    if case.row["nodes_stated"] is not None or case.row["nodes"] is None:
        return case.stated("nodes")
    inputs = (case.stated("devices"), case.stated("devices_per_node"))
    return Node(
        "nodes", _value(case, "nodes"), how=How("devices / devices_per_node"), inputs=inputs
    )


def devices(case: Case) -> Node:
    """Devices as stated, else nodes times devices a node."""
    if case.row["devices_stated"] is not None or case.row["devices"] is None:
        return case.stated("devices")
    inputs = (case.stated("nodes"), case.stated("devices_per_node"))
    how = How("nodes x devices_per_node")
    return Node("devices", _value(case, "devices"), how=how, inputs=inputs)


def procs_per_node(case: Case) -> Node:
    """Processes a node: stated, one a device, or what most rows of the table multiply out to."""
    row, value = case.row, _value(case, "procs_per_node")
    inputs: tuple[Node, ...]
    if row["procs_per_node_stated"] is not None:
        return case.stated("procs_per_node")
    if row["devices_per_node"] is not None:
        inputs = (case.stated("devices_per_node"),)
        return Node("procs_per_node", value, how=How("one process a device"), inputs=inputs)
    if row["devices_stated"] is not None and row["nodes_stated"]:
        inputs = (case.stated("devices"), case.stated("nodes"))
        return Node("procs_per_node", value, how=How("devices / nodes"), inputs=inputs)
    implied = case.warehouse.rows(
        """SELECT product // nodes AS per_node, count(*) AS rows FROM configurations
           WHERE table_id = ? AND product % nullif(nodes, 0) = 0 AND product > 0
           GROUP BY ALL ORDER BY rows DESC, per_node LIMIT 1""",
        [row["table_id"]],
    )
    if implied:
        note = f"DP x TP x PP / nodes of {implied[0][1]} rows of the table, the most"
        return Node("procs_per_node", value, note=note)
    return Node("procs_per_node", value, note="none is stated, and TP x PP divides the nodes: one")


def product(case: Case) -> Node:
    """DP x TP x PP x CP."""
    names = [name for name in ("dp", "tp", "pp", "cp") if case.row[name] is not None]
    inputs = tuple(case.stated(name) for name in names)
    return Node("product", _value(case, "product"), how=How(" x ".join(names)), inputs=inputs)


def world_size(case: Case) -> Node:
    """Processes: ranks, else devices, else nodes x processes a node, else the product."""
    row, value = case.row, _value(case, "world_size")
    how: How
    inputs: tuple[Node, ...]
    if row["ranks"] is not None:
        return case.stated("ranks", "world_size", value)
    if row["devices"] is not None:
        how, inputs = How("one process a device"), (devices(case),)
    elif row["nodes"] is not None and row["procs_per_node"] is not None:
        how, inputs = How("nodes x procs_per_node"), (nodes(case), procs_per_node(case))
    elif value is not None:
        how, inputs = How("dp x tp x pp x cp"), (product(case),)
    else:
        return Node("world_size", None, "processes", note="not stated")
    return Node("world_size", value, "processes", how=how, inputs=inputs)


def gbs(case: Case) -> Node:
    """The batch in sequences: stated, else as logged, else MBS x GA x DP."""
    row = case.row
    if row["gbs_logged"] is not None and row["gbs_stated"] != row["gbs"]:
        return statistic(case, "gbs") or case.stated("gbs")
    if row["gbs"] is not None:
        return case.stated("gbs")
    if row["tokens_per_step"] is None or not row["seq_len"]:
        return case.stated("gbs")
    value = row["tokens_per_step"] // row["seq_len"]
    if None in (row["mbs"], row["grad_accum"], row["dp"]):
        counted = devices(case) if row["devices"] is not None else world_size(case)
        how = How("device_batch x grad_accum (else 1) x devices")
        more = (case.stated("grad_accum"),) if row["grad_accum"] is not None else ()
        shared = (case.stated("device_batch"), counted, *more)
        return Node("gbs", value, "sequences", how=how, inputs=shared)
    inputs = tuple(case.stated(name) for name in ("mbs", "grad_accum", "dp"))
    return Node("gbs", value, "sequences", how=How("mbs x grad_accum x dp"), inputs=inputs)


def tokens_per_step(case: Case) -> Node:
    """Tokens that one step trains."""
    inputs = (gbs(case), case.stated("seq_len"))
    value = _value(case, "tokens_per_step")
    return Node("tokens_per_step", value, "tokens", how=How("gbs x seq_len"), inputs=inputs)


def vocab_used(case: Case) -> Node:
    """The vocabulary as stated, else GPT-2's, padded."""
    row, value = case.row, _value(case, "vocab_used")
    if not row["vocab_assumed"]:
        return case.stated(
            "vocab" if row["vocab"] is not None else "vocab_label", "vocab_used", value
        )
    inputs = (
        Node("vocab", 50257, "tokens", note="not stated: GPT-2's is assumed"),
        case.stated("tp"),
    )
    return Node("vocab_used", value, "tokens", how=by_formula("V1"), inputs=inputs)


def tokens_per_s(case: Case) -> Node:
    """Tokens a second of the job: from the step time, else from a printed rate."""
    [(source,)] = case.warehouse.rows(
        "SELECT max(from_metric) FROM metric_tokens_per_s WHERE run_id = ?", [case.run_id]
    ) or [(None,)]
    row = case.row
    low, high = row["tokens_per_s_low"], row["tokens_per_s_high"]
    ways: dict[str | None, tuple[str, tuple[Derive, ...]]] = {
        "step_time_s": ("tokens_per_step / step_time_s", (tokens_per_step,)),
        "tokens_per_s": ("as printed", ()),
        "tokens_per_s_per_device": ("tokens_per_s_per_device x devices", (count,)),
        "samples_per_s": ("samples_per_s x seq_len", (_seq_len,)),
        "samples_per_s_per_device": ("samples_per_s_per_device x seq_len x devices",
                                     (_seq_len, count)),
    }  # fmt: skip
    if source not in ways or source is None:
        return Node("tokens_per_s", None, "tokens/s", note=_why_no_rate(case))
    expression, more = ways[source]
    inputs = (*(derive(case) for derive in more), measured(case, source))
    how = How(expression)
    return Node("tokens_per_s", row["tokens_per_s"], "tokens/s", low, high, how, inputs=inputs)


def _why_no_rate(case: Case) -> str:
    lacking = [
        word
        for word, value in (
            ("step time", case.row["step_time_s"]),
            ("batch size or sequence length", case.row["tokens_per_step"]),
        )
        if value is None
    ]
    return f"not known: no {' and no '.join(lacking)} is stated" if lacking else "not known"


def _seq_len(case: Case) -> Node:
    return case.stated("seq_len")


def count(case: Case) -> Node:
    """Devices as the rates count them: as stated, else processes."""
    return devices(case) if case.row["devices"] is not None else world_size(case)


def tokens_per_s_per_device(case: Case) -> Node:
    """Tokens a second and device; of a source that states no devices, and process."""
    unit = "device" if case.row["devices"] is not None else "process"
    value = case.row["tokens_per_s_per_device"]
    how = How(f"tokens_per_s / {'devices' if unit == 'device' else 'world_size'}")
    inputs = (tokens_per_s(case), count(case))
    return Node("tokens_per_s_per_device", value, f"tokens/s of a {unit}", how=how, inputs=inputs)
