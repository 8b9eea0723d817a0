"""Configurations next to the best that fulfil all arithmetic and that nobody has run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..audit.book import Row as Printed
from ..audit.load import load
from ..audit.memory import FEWEST, predicted, ratio, usual
from ..reports.format import number, percent, significant
from ..reports.short import Names
from ..schema.warehouse import Warehouse
from .answer import RUN, Answer, configuration_words, place, with_words
from .planned import unplanned_words
from .rows import Row, batch_of, with_dp
from .scaling import bubble

COLUMNS = (
    "rank", "changes", *RUN, "tokens_per_step", "memory_gb_predicted", "memory_gb_device", "bubble",
    "fits_tiles", "left_out",
)  # fmt: skip
_SHOWN = (
    ("rank", "#"), ("changes", "Against the best"), ("nodes", "Nodes (devices)"),
    ("split", "DP/TP/PP"), ("mbs", "MBS"), ("gbs", "GBS"), ("memory_text", "GB, predicted"),
    ("bubble_text", "Bubble"), ("left_out", "Why not"),
)  # fmt: skip
_SIZES = ("dp", "tp", "pp", "mbs")


@dataclass(frozen=True, slots=True)
class Memory:
    """What the plain model of memory says of a run, and how far printed memory is above it."""

    row: Printed
    ratio: float | None  # None: too few rows print memory to calibrate the model by
    readings: int  # rows of the document that print memory and say enough to predict it

    def of(self, made: Row) -> float | None:
        """The memory of a neighbour in GB, at the ratio that the document's other rows have."""
        need = predicted(replace(self.row, **{name: made[name] for name in _SIZES}))
        return need * self.ratio if need and self.ratio else need


def memory_of(warehouse: Warehouse, run: str) -> Memory | None:
    """The memory model at a run of a table; None for others."""
    rows = [row for document in load(warehouse).documents for row in document.rows]
    found = next((row for row in rows if row.run_id == run), None)
    if found is None:
        return None
    beside = [row for row in rows if row.uri == found.uri]
    return Memory(found, usual(beside), sum(ratio(row) is not None for row in beside))


def neighbours(
    names: Names,
    best: Row,
    tried: Sequence[Row],
    memory: Memory | None,
    allowed: Callable[[Row], bool] = lambda row: True,
) -> Answer:
    """Runs one step from the best, as a plan: a factor of 2 in the micro batch, or moved between
    DP, TP and PP. `tried` are all runs there are; `allowed` holds the user's own constraints."""
    best, tried = _filled(best), [_filled(row) for row in tried]
    known = {_key(row) for row in tried}
    kept: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for made in _steps(best):
        row = {**best, **made, "changes": _changes(best, made), "places": ()}
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
    unchecked = _unchecked_words(best, memory)
    lacks = [name.upper() for name in _SIZES if best[name] is None]
    what = (
        f"{len(rows)} configurations fulfil {'known' if unchecked else 'all'} arithmetic and were"
        " never run"
        if not lacks
        else f"not known, since no source states {', '.join(lacks)}"
    )
    said = (
        f"Next to the best, {configuration_words(best)} ({place(names, best)}): {what}.",
        *(() if lacks else (*_memory_words(best, memory), *unchecked, *unplanned_words(best))),
    )
    cells = tuple(_cells(names, row) for row in rows)
    notes = tuple(f"Not {row['changes']}: {row['left_out']}." for row in left)
    return Answer(said, COLUMNS, _SHOWN, tuple(rows), tuple(left), notes, cells)


def _filled(row: Row) -> Row:
    """A run with the data parallel size and the batch that others of its sizes multiply out to."""
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


def _why_not(row: Row) -> str | None:
    """The first rule of arithmetic that a configuration breaks; those of interleaved stages and of
    experts are Megatron-LM's."""
    tp, pp, dp, mbs = row["tp"], row["pp"], row["dp"], row["mbs"]
    heads, hidden, layers = row["heads"], row["hidden"], row["layers"]
    vpp, ep = row["vpp"] or 1, row["ep"] or 1
    stages = f"PP {pp}" + (f" x VPP {vpp}" if vpp > 1 else "")
    per_node = row["device_count"] / row["nodes"] if row["nodes"] and row["device_count"] else None
    need, room = row["memory_gb_predicted"], row["memory_gb_device"]
    rules = (
        (heads and heads % tp, f"{heads} heads do not divide by TP {tp}"),
        (hidden and hidden % tp, f"hidden size {hidden} does not divide by TP {tp}"),
        (
            layers and pp > 1 and layers % (pp * vpp) and (layers + 2) % (pp * vpp),
            f"{layers} layers do not divide by {stages}, nor {(layers or 0) + 2} with the"
            " embedding",
        ),
        (vpp > 1 and pp == 1, f"VPP {vpp} needs a pipeline of more than one stage"),
        (row["gbs"] and row["gbs"] % (mbs * dp), f"GBS {row['gbs']} % (MBS {mbs} x DP {dp}) > 0"),
        (
            vpp > 1 and row["gbs"] and row["gbs"] // (mbs * dp) % pp,
            f"{(row['gbs'] or 0) // (mbs * dp)} micro-batches do not divide by PP {pp}, as"
            " interleaved stages need",
        ),
        (dp * (row["cp"] or 1) % ep, f"EP {ep} does not divide DP x CP = {dp * (row['cp'] or 1)}"),
        (per_node and tp > per_node, f"TP {tp} would leave the node of {number(per_node)} devices"),
        (
            heads and not heads % tp and (heads // tp * mbs) % 4,
            f"the fused softmax needs (heads / TP) x MBS = {(heads or 0) // tp * mbs} % 4 = 0",
        ),
        (need and room and need > room, f"{number(need, 0)} GB predicted, {number(room)} GB there"),
    )
    return next((why for broken, why in rules if broken), None)


def _ran_out(row: Row, tried: Sequence[Row]) -> str | None:
    """A run that differs in a smaller micro batch alone, or in nothing, and had no room."""
    alike = ("tp", "pp", "dp", "zero_stage", "recompute", "layers", "hidden", "heads", "size")
    found = [
        one
        for one in tried
        if one["status"] == "oom"
        and one["mbs"]
        and one["mbs"] <= row["mbs"]
        and all(one[name] == row[name] for name in alike)
    ]
    return f"MBS {found[0]['mbs']} ran out of memory ({found[0]['where']})" if found else None


def _tiles(row: Row) -> bool | None:
    """Whether the matrix products of a layer fill tiles: hidden % 128, hidden / TP and head % 8."""
    hidden, heads = row["hidden"], row["heads"]
    if not hidden:
        return None
    head = hidden // heads if heads else 8
    return not (hidden % 128 or hidden % row["tp"] or (hidden // row["tp"]) % 8 or head % 8)


def _room(row: Row) -> float | None:
    """The memory of a device in GB, as its name says: A100-80GB."""
    found = re.search(r"(\d+)\s?(GB|GiB|G)\b", row["device"] or "")
    return float(found[1]) if found else None


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


def _memory_words(best: Row, memory: Memory | None) -> Collection[str]:
    """What memory is predicted by, how far it is calibrated, and what it is held against."""
    if memory is None or predicted(memory.row) is None:
        return ()
    told = "Memory is predicted: states, activations and logits by a plain model"
    if memory.ratio is not None:
        told += f", times {memory.ratio:.2f}, what this document's rows print above it (median)"
    else:
        readings = f"{memory.readings} {'row prints' if memory.readings == 1 else 'rows print'}"
        told += f", not calibrated: {readings} memory here, and {FEWEST} would do"
    room = _room(best)
    against = f"{number(room)} GB of the device" if room else "nothing: no source states the device"
    return (f"{told}. It is held against {against}.",)


def _unchecked_words(best: Row, memory: Memory | None) -> Collection[str]:
    """What could not be checked, for want of a statement."""
    missing = [name for name in ("heads", "layers", "hidden") if not best[name]]
    missing += [] if best["gbs"] else ["global batch size"]
    told = [f"Not checked, since no source states it: {', '.join(missing)}."] if missing else []
    if memory is None or predicted(memory.row) is None:
        needs = ("layers", "hidden", "dp", "tp", "mbs", "seq_len")
        lacks = [name for name in needs if not best[name]]
        why = f"without {', '.join(lacks)}" if lacks else "it is told of rows of tables alone"
        told.append(f"Memory is not predicted: {why}.")
    return told


def _cells(names: Names, row: Row) -> dict[str, Any]:
    return {
        **with_words(names, {**row, "tflops": None}),
        "memory_text": significant(row["memory_gb_predicted"], 2),
        "bubble_text": percent(row["bubble"], 1),
    }
