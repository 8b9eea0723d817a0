"""Configurations next to the best that satisfy all constraints and have not been run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..audit.input import Row as Printed
from ..audit.load import load
from ..audit.memory import predicted, ratio, usual
from ..schema.errors import BenchError
from ..schema.warehouse import Row, Warehouse
from ..vocabulary.format import number
from ..vocabulary.secret_commands import REDACTED
from .rows import Decision, batch_of, with_dp
from .scaling import bubble

_DTYPES = ("fp32", "bf16", "fp16")  # that a plan has a word for
_SIZES = ("dp", "tp", "pp", "mbs")


@dataclass(frozen=True, slots=True)
class Memory:
    """Predictions of the plain memory model, and how far printed memory is above them."""

    row: Printed
    ratio: float | None  # None: too few rows print memory to calibrate the model by
    readings: int  # rows of the document that print memory and enough sizes to predict it

    def of(self, row: Row) -> float | None:
        """The memory of a neighbour in GB, at the ratio that the document's other rows have."""
        need = predicted(replace(self.row, **{name: row[name] for name in _SIZES}))
        return need * self.ratio if need and self.ratio else need


def memory_of(warehouse: Warehouse, run: str) -> Memory | None:
    """The memory model at a run of a table; None for others."""
    rows = [row for document in load(warehouse).documents for row in document.rows]
    found = next((row for row in rows if row.run_id == run), None)
    if found is None:
        return None
    same_source = [row for row in rows if row.uri == found.uri]
    return Memory(found, usual(same_source), sum(ratio(row) is not None for row in same_source))


def neighbours(
    best: Row,
    tried: Sequence[Row],
    memory: Memory | None,
    allowed: Callable[[Row], bool] = lambda row: True,
) -> Decision:
    """Runs one step from the best, as a plan: a factor of 2 in the micro batch, or moved between
    DP, TP and PP. `tried` are all runs there are; `allowed` are the constraints of the user."""
    best, tried = _filled(best), [_filled(row) for row in tried]
    known = {_key(row) for row in tried}
    kept: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for step in _steps(best):
        row = {**best, **step, "changes": _changes(best, step), "places": ()}
        need = memory.of(row) if memory else None
        room = _room(best)
        row |= {"memory_gb_predicted": need, "memory_gb_device": room, "bubble": bubble(row)}
        row["fits_tiles"] = _tiles(row)
        if _key(row) in known:
            continue
        broken = _why_not(row) or _ran_out(row, tried)
        row["left_out"] = broken or (None if allowed(row) else "outside of --where")
        (left if row["left_out"] else kept).append(row)
    rows = [{**row, "rank": at} for at, row in enumerate(kept, 1)]
    missing = [name for name in ("heads", "layers", "hidden") if not best[name]]
    facts = {
        "best": best,
        "lacks": [name.upper() for name in _SIZES if best[name] is None],
        "memory": memory if memory is not None and predicted(memory.row) is not None else None,
        "memory_needs": _memory_needs(best),
        "room": _room(best),
        "unchecked": [*missing, *([] if best["gbs"] else ["global batch size"])],
        "unplanned": inexpressible(best),
    }
    return Decision("neighbours", tuple(rows), tuple(left), facts)


def _memory_needs(best: Row) -> list[str]:
    """What no source states and the model of memory needs."""
    needs = ("layers", "hidden", "dp", "tp", "mbs", "seq_len")
    return [name for name in needs if not best[name]]


def _filled(row: Row) -> Row:
    """A run with the data parallel size and the batch that follow from its other sizes."""
    row = with_dp(row)
    batch = batch_of(row)
    return {**row, "gbs": int(batch) if batch and batch.is_integer() else None}


def _steps(best: Row) -> Iterator[dict[str, int]]:
    """One factor of 2 at a time; the product of DP, TP and PP stays the number of processes."""
    sizes = {name: best[name] for name in _SIZES}
    if None in sizes.values():
        return
    for mbs in (sizes["mbs"] * 2, sizes["mbs"] // 2 if sizes["mbs"] % 2 == 0 else 0):
        if mbs:
            yield {**sizes, "mbs": mbs}
    for more in ("dp", "tp", "pp"):
        for less in ("dp", "tp", "pp"):
            if more != less and sizes[less] % 2 == 0:
                moved = {**sizes, more: sizes[more] * 2, less: sizes[less] // 2}
                yield moved
                if moved["mbs"] % 2 == 0:
                    yield {**moved, "mbs": moved["mbs"] // 2}
                yield {**moved, "mbs": moved["mbs"] * 2}


def broken_rule(row: Row) -> str | None:
    """The first rule of arithmetic that a configuration breaks; those of interleaved stages and of
    experts are Megatron-LM's."""
    tp, pp, dp, mbs = row["tp"], row["pp"], row["dp"], row["mbs"]
    heads, hidden, layers = row["heads"], row["hidden"], row["layers"]
    vpp, ep = row["vpp"] or 1, row["ep"] or 1
    stages = f"PP {pp}" + (f" x VPP {vpp}" if vpp > 1 else "")
    rules = (
        (heads and heads % tp, f"{heads} heads do not divide by TP {tp}"),
        (hidden and hidden % tp, f"hidden size {hidden} does not divide by TP {tp}"),
        (
            # Megatron may put the embedding and the output on separate stages, as two layers.
            layers and pp > 1 and layers % (pp * vpp) and (layers + 2) % (pp * vpp),
            f"{layers} layers do not divide by {stages}, nor {(layers or 0) + 2} with the"
            " embedding",
        ),
        (vpp > 1 and pp == 1, f"VPP {vpp} needs a pipeline of more than one stage"),
        (
            mbs and row["gbs"] and row["gbs"] % (mbs * dp),
            f"GBS {row['gbs']} % (MBS {mbs} x DP {dp}) > 0",
        ),
        (
            vpp > 1 and mbs and row["gbs"] and row["gbs"] // (mbs * dp) % pp,
            f"{(row['gbs'] or 0) // ((mbs or 1) * dp)} micro-batches do not divide by PP {pp}, as"
            " interleaved stages need",
        ),
        (dp * (row["cp"] or 1) % ep, f"EP {ep} does not divide DP x CP = {dp * (row['cp'] or 1)}"),
    )
    return next((why for broken, why in rules if broken), None)


def _why_not(row: Row) -> str | None:
    """The first rule that a suggestion breaks: arithmetic, the node, kernels, memory."""
    tp, mbs, heads = row["tp"], row["mbs"], row["heads"]
    per_node = row["device_count"] / row["nodes"] if row["nodes"] and row["device_count"] else None
    need, room = row["memory_gb_predicted"], row["memory_gb_device"]
    rules = (
        (per_node and tp > per_node, f"TP {tp} would leave the node of {number(per_node)} devices"),
        (
            heads and not heads % tp and (heads // tp * mbs) % 4,
            f"the fused softmax needs (heads / TP) x MBS = {(heads or 0) // tp * mbs} % 4 = 0",
        ),
        (need and room and need > room, f"{number(need, 0)} GB predicted, {number(room)} GB there"),
    )
    return broken_rule(row) or next((why for broken, why in rules if broken), None)


def _ran_out(row: Row, tried: Sequence[Row]) -> str | None:
    """A run that differs in a smaller micro batch alone, or in nothing, and had no room."""
    alike = ("tp", "pp", "dp", "zero_stage", "recompute", "layers", "hidden", "heads", "size")
    rows = [
        run
        for run in tried
        if run["status"] == "oom"
        and run["mbs"]
        and run["mbs"] <= row["mbs"]
        and all(run[name] == row[name] for name in alike)
    ]
    return f"MBS {rows[0]['mbs']} ran out of memory ({rows[0]['where']})" if rows else None


def _tiles(row: Row) -> bool | None:
    """Whether the matrix products of a layer fill tiles: hidden % 128, hidden / TP and head % 8."""
    hidden, heads = row["hidden"], row["heads"]
    if not hidden:
        return None
    head = hidden // heads if heads else 8
    return not (hidden % 128 or hidden % row["tp"] or (hidden // row["tp"]) % 8 or head % 8)


def _room(row: Row) -> float | None:
    """The memory of a device in GB, as in its name: A100-80GB."""
    match = re.search(r"(?<!\d)(\d++)\s?(GB|GiB|G)\b", row["device"] or "")
    return float(match[1]) if match else None


def _key(row: Row) -> tuple[Any, ...]:
    """Equal for runs of one model and arrangement, whatever became of them."""
    shape = (row["layers"], row["hidden"], row["heads"])
    return (
        *(shape if None not in shape else (row["size"],)), row["world_size"], row["gbs"],
        row["zero_stage"], row["recompute"], *(row[name] for name in _SIZES),
    )  # fmt: skip


def _changes(best: Row, made: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name.upper()} {best[name]} → {made[name]}" for name in _SIZES if best[name] != made[name]
    )


def as_plan(rows: Sequence[Row], comments: Sequence[str], name: str = "neighbours") -> str:
    """The plan as TOML: one product a configuration, named as in the warehouse; `comments` above.

    Raises BenchError where the model's shape is not stated: another model would be run.
    """
    import tomlkit

    if not rows:
        raise BenchError("there is no plan of it", why="no configuration is left to run")
    if not shape_is_stated(rows):
        raise BenchError(
            "there is no plan of it",
            why="layers, hidden size and heads of the model are not stated",
            hint="state them in facts.toml",
        )  # fmt: skip
    plan = tomlkit.document()
    for text in comments:
        plan.add(tomlkit.comment(text))
    plan["name"] = name
    if any((row["nodes"] or 1) > 1 for row in rows):
        plan.add(tomlkit.comment('several nodes need a scheduler, e.g. launcher = "slurm"'))
    matrix = tomlkit.aot()
    columns = (
        "layers", "hidden", "heads", "vocab", "seq_len", "nodes", "dp", "tp", "pp", "mbs", "gbs",
        "iterations",
    )  # fmt: skip
    for row in rows:
        entry = tomlkit.table()
        for column in (*columns, "zero_stage", "recompute", "dtype"):
            if row.get(column) is not None and (column, row[column]) not in inexpressible(row):
                entry[column] = row[column]
        if row["sequence_parallel"]:
            entry["sequence_parallel"] = True
        env = {
            name: value
            for name, value in row["env"].items()
            if name.isupper() and value != REDACTED
        }
        if env:
            entry["env"] = {name: "" if value == "none" else value for name, value in env.items()}
        matrix.append(entry)
    plan["matrix"] = matrix
    return tomlkit.dumps(plan)


def shape_is_stated(rows: Sequence[Row]) -> bool:
    """Whether every run states the shape of its model, without which there is no plan."""
    return all(row[name] is not None for row in rows for name in ("layers", "hidden", "heads"))


def inexpressible(row: Row) -> list[tuple[str, object]]:
    """The settings of a run that a plan cannot express."""
    sizes = [(name, row[name]) for name in ("cp", "ep", "vpp") if (row[name] or 1) > 1]
    kinds = [("recompute", row["recompute"])] if row["recompute"] == "selective" else []
    kinds += [("dtype", row["dtype"])] if row["dtype"] not in (None, *_DTYPES) else []
    flags = [
        (name, value)
        for name, value in row["env"].items()
        if not name.isupper() or value == REDACTED
    ]
    return [*sizes, *kinds, *flags, *row["others"].items()]
