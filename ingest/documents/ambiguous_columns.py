"""Columns with ambiguous headings: resolved by the numbers of the rows, or not read.

`Batch size` may be of a step or of a micro-batch, `Latency` of a step or of a request, `Batch time`
of a step or of one of its micro-batches, `Block size` of a sequence or of a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from ...vocabulary.cell_numbers import CAPACITIES
from ...vocabulary.cell_words import switched
from ...vocabulary.headings import Column, column_of
from ...vocabulary.headings import columns as known_columns
from ...vocabulary.parallelism import sizes_in
from .grid import Table
from .heading_evidence import Doubt, ResolvedHeading, Rows

_BARE_BATCH = re.compile(r"\W*(?:batch(?:[ _-]?size)?|bsz?|批大小|批次大小|批量大小)\W*", re.I)
_BARE_TIME = re.compile(
    r"\W*(?:(?:wall|total|train(?:ing)?|run)[ -])?time\W*(?:\(s(?:ecs?)?\))?\W*", re.I
)
# 23 s/it, 410 ms, 18 min of a step
_OF_STEP = re.compile(r"\d\s?(?:ms\b|(?:m?s|secs?|seconds?|min)\s?(?:/|per)\s?(?:it|step))", re.I)
_RATES = frozenset(("rate", "percent", "throughput"))  # types of column
_MANY = 20  # batches in a time, more than micro-batches in most steps
_BATCH_TIME = re.compile(
    r"(?<!mini[ -])(?<!micro[ -])\bbatch (?:time|latency|duration)|(?:/|\bper )\s?batch\b", re.I
)
_MARKS = re.compile(
    r"<[^<>]{1,40}>|\[\^[\w-]{1,20}\]|[_*`†‡]|\((?:measured|our|ours|used|avg)\)", re.I
)
_CKPT = re.compile(r"\W*(?:ckpt|ckpting|checkpointing|grad[ _-]?ckpt|gc)\W*", re.I)
_MEMORY = re.compile(r"\W*(?:gpu )?(?:v?ram|mem(?:ory)?)\W*(?:\((?:in )?Gi?B\)\W*)?", re.I)
_BLOCK = re.compile(r"\W*block[ _-]?size\W*", re.I)
_LATENCY = re.compile(
    r"\W*+(?:(?:avg\.?|average|mean|median|平均)\s*+)?(?:lan?tency|延迟|时延)"
    r"(?:\s*+(?P<unit>[(\[]\s*+m?s\s*+[)\]]))?+\W*+",
    re.I,
)
_STEP = re.compile(
    r"\W*(?:(?:avg|mean|median|med)\W{1,2})?(?:steps?|iter(?:ation)?s?\.?)"
    r"(?:\W{1,2}(?:avg|mean|median|med))?\W*",
    re.I,
)
_TIME = re.compile(r"\W{0,4}\d{1,9}(?:\.\d{1,9})?\s?(?:m?s|secs?|seconds?|msecs?|min)\W{0,4}", re.I)
_PAIR = re.compile(r"\W{0,4}\d[\d,]{0,12}\s*/\s*\d[\d,]{0,12}\W{0,4}")
_REPLICAS = re.compile(r"(?<!\w)(?:H?FSDP|HSDP|DDP|ZeRO)(?!\w)", re.I)
_SPLIT = frozenset(("tp", "pp", "cp"))
_SHORTEST = 512  # tokens of a sequence; blocks of kernels and of scaled formats are smaller
_CLOSE = 0.03  # of a whole number of batches
_WHOLE = 0.05  # of a sequence
_LARGEST = (
    60  # sequences per step, up to which a product of rounded numbers shows whether it is whole
)
_FEWEST = 3  # rows needed as evidence
_OTHER = 1.5  # between numbers of tokens that are not rounded alike


def decided(
    table: Table,
    columns: Sequence[Column | None],
    accumulations: Set[int],
    batches: dict[str, Column | None] | None = None,
    stated: int | None = None,
) -> tuple[list[Column | None], list[Doubt]]:
    """The columns, with ambiguous ones resolved, and why others are not read.

    `accumulations`: the numbers of micro-batches per step, above one, in the document.
    `batches`: bare batches as resolved in an earlier table; they mean the same below.
    `stated`: the devices of all rows, as the text around the table states them.
    """
    found, doubts = list(columns), []
    rows = Rows(table, columns, accumulations, {} if batches is None else batches, stated)
    for at, heading in enumerate(map(_plain, table.header.cells)):
        for settle in _SETTLES:
            settled = settle(rows, at, heading)
            if settled is not None:
                found[at] = settled.column
                doubts += [settled.doubt] if settled.doubt else []
    return found, doubts


def _batch(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """A bare batch without another: rate x step time shows whether it is the global batch."""
    column = rows.columns[at]
    if not (column and column.name == "gbs" and _BARE_BATCH.fullmatch(heading)):
        return None
    if {"mbs", "device_batch"} & rows.named:
        return None
    batches, devices = rows.numbers(at, column), rows.devices()
    if heading.casefold() in rows.batches:
        settled = rows.batches[heading.casefold()]
        return ResolvedHeading(settled) if settled else _open_batch(heading)
    if "grad_accum" in rows.named:
        if not _is_of_one_pass(rows, at, column):
            return None
        rows.batches[heading.casefold()] = known_columns()["mbs"]
        return ResolvedHeading(known_columns()["mbs"])
    if _less_than_one_each(rows, batches, devices):
        each = known_columns()["device_batch"] if _is_data_parallel(rows) else None
        rows.batches[heading.casefold()] = each
        return ResolvedHeading(each) if each else _open_batch(heading)
    # No step of 32 replicas has 8 sequences; what splits a replica is not known.
    apart = rows.stated and not any(devices) and not _SPLIT & rows.named
    if apart and any(batch and batch < (rows.stated or 0) for batch in batches):
        return _open_batch(heading)
    taken = rows.tokens_of_a_sample(batches) if len(set(devices)) == 1 else []
    if len(taken) > 1 and max(taken) > _OTHER * min(taken):  # or gradients are accumulated
        return _open_batch(heading)
    rates = rows.of("samples_per_s")
    times = [
        (rate * time / batch, count)
        for rate, time, batch, count in zip(rates, rows.step_times(), batches, devices, strict=True)
        if rate and time and batch
    ]
    if times and all(abs(ratio - 1) <= _CLOSE for ratio, _ in times):
        return None
    parts = {round(ratio) if _is_whole(ratio) else 0 for ratio, _ in times}
    if len(parts) == 1 and min(parts) > 1:
        alone = all(count in (1, round(ratio)) for ratio, count in times)
        return ResolvedHeading(known_columns()["mbs"]) if alone else _open_batch(heading)
    least = min(rows.accumulations, default=0)
    if least and any(
        batch and batch < least for batch in batches
    ):  # fewer sequences than micro-batches
        shared = any(count and count > 1 for count in devices)
        return _open_batch(heading) if shared else ResolvedHeading(known_columns()["mbs"])
    return _open_batch(heading) if least else None


def _is_of_one_pass(rows: Rows, at: int, column: Column) -> bool:
    """Whether a row has fewer sequences than its replicas have micro-batches in a step.

    There are at least as many replicas as nodes, unless a replica is split.
    """
    named = [sizes_in(", ".join(row.cells)) for row in rows.table.rows]
    nodes = [None] * len(named) if _SPLIT & rows.named else rows.of("nodes")
    steps = zip(
        rows.numbers(at, column), rows.of("grad_accum"), rows.of("dp"), nodes, named, strict=True
    )
    return any(
        batch and passes and batch < passes * (dp or sizes.get("dp") or _unsplit(count, sizes))
        for batch, passes, dp, count, sizes in steps
    )


def _unsplit(nodes: float | None, sizes: Mapping[str, int]) -> float:
    return nodes if nodes and not _SPLIT & sizes.keys() else 1


def _less_than_one_each(
    rows: Rows, batches: Sequence[float | None], devices: Sequence[float | None]
) -> bool:
    """Whether in every row the batch is smaller than the number of replicas, as far as stated."""
    shared = [
        (tp or 1) * (pp or 1) * (cp or 1)
        for tp, pp, cp in zip(rows.of("tp"), rows.of("pp"), rows.of("cp"), strict=True)
    ]
    known = [
        batch * by < count
        for batch, count, by in zip(batches, devices, shared, strict=True)
        if batch and count
    ]
    return bool(known) and all(known)


def _is_data_parallel(rows: Rows) -> bool:
    """Whether each row names a data-parallel method."""
    return all(any(map(_REPLICAS.search, row.cells)) for row in rows.table.rows)


def _open_batch(heading: str) -> ResolvedHeading:
    message = f"{heading!r} may be the batch of a step or a micro-batch: not read"
    return ResolvedHeading(None, Doubt("batch_not_stated", message))


def _is_whole(ratio: float) -> bool:
    return abs(ratio - round(ratio)) <= _CLOSE * ratio


def _batch_time(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """A batch is a step unless gradients are accumulated."""
    column = rows.columns[at]
    of_batch = column and column.name == "step_time" and _BATCH_TIME.search(heading)
    if not of_batch or not (rows.accumulations or any(n and n > 1 for n in rows.of("grad_accum"))):
        return None
    message = f"{heading!r} may be the time of a step or of a micro-batch: not read"
    return ResolvedHeading(None, Doubt("time_not_stated", message))


def _time(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """`Time (s)` in which each row takes many batches is no step time; without a rate or a split of
    the model next to it, it may be of a whole training, unless it is in milliseconds.
    """
    column = rows.columns[at]
    if not (column and column.name == "step_time" and _BARE_TIME.fullmatch(heading)):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells)]
    if column.unit == "ms" or any(map(_OF_STEP.search, cells)):
        return None
    batches = rows.of("gbs") if "gbs" in rows.named else rows.of("mbs")
    taken = [
        rate * time / batch
        for rate, time, batch in zip(
            rows.of("samples_per_s"), rows.numbers(at, column), batches, strict=True
        )
        if rate and time and batch
    ]
    beside = [one for one in rows.columns if one and one is not column]
    if taken and min(taken) >= _MANY:
        why = "is of many batches, as the samples per second show"
    elif not any(one.type in _RATES or one.name in (*_SPLIT, "dp") for one in beside):
        why = "may be of a step or of a whole training"
    else:
        return None
    return ResolvedHeading(None, Doubt("time_not_stated", f"{heading!r} {why}: not read"))


def _block(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """A block size is a sequence length if it is long enough for one (nanoGPT)."""
    column = rows.columns[at]
    if not (column and column.name == "seq_len" and _BLOCK.fullmatch(heading)):
        return None
    lengths = rows.numbers(at, column)
    short = any(length is None or length < _SHORTEST for length in lengths)
    return ResolvedHeading(None) if short else None


def _step(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """`step` over nothing but times is the step time."""
    if rows.columns[at] or "step_time" in rows.named or not _STEP.fullmatch(heading):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells) and row.cells[at]]
    # a row that failed has no time
    timed = any(map(_TIME.fullmatch, cells)) and all(
        _TIME.fullmatch(cell) or not re.search(r"\d", cell) for cell in cells
    )
    return ResolvedHeading(known_columns()["step_time"]) if timed else None


def _latency(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """A latency is a step time if the rate of samples gives whole batches."""
    match = _LATENCY.fullmatch(heading)
    if not match or rows.columns[at] or rows.accumulations:
        return None
    if {"step_time", "steps_per_s", "speed"} & rows.named:
        return None
    column = known_columns()["step_time"]
    if match["unit"]:
        column = replace(column, unit=column_unit(f"Step time {match['unit']}"))
    batches = [
        (rate * time, stated)
        for rate, time, stated in zip(
            rows.of("samples_per_s"), rows.numbers(at, column), rows.of("gbs"), strict=True
        )
        if rate and time
    ]
    return ResolvedHeading(column) if _are_batches(batches) else None


def _checkpointing(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """`ckpt` or `GC` over nothing but yes and no is whether activations are recomputed."""
    if rows.columns[at] or "recompute" in rows.named or not _CKPT.fullmatch(heading):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells)]
    cells = [cell for cell in cells if cell.strip() not in ("", "-", "–", "—")]
    switches = bool(cells) and all(switched(cell) is not None for cell in cells)
    return ResolvedHeading(known_columns()["recompute"]) if switches else None


def _capacity(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """`VRAM` next to the devices, of nothing but sizes that are sold, is what these have; bare
    numbers below one are shares of it.
    """
    column = rows.columns[at]
    if not (column and column.name == "mem" and _MEMORY.fullmatch(heading)):
        return None
    sizes = [size for size in rows.numbers(at, column) if size is not None]
    sold = bool(sizes) and all(size in CAPACITIES for size in sizes)
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells)]
    shares = (
        len(sizes) > 1
        and all(size < 1 for size in sizes)
        and not re.search("[kmg]i?b", f"{heading} {cells}", re.I)
    )
    return ResolvedHeading(None) if shares or (sold and "device" in rows.named) else None


def _two(rows: Rows, at: int, heading: str) -> ResolvedHeading | None:
    """`tokens / samples` over nothing but pairs is two quantities, not one for each other."""
    column = rows.columns[at]
    if not (column and column.type == "count" and "/" in heading):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells)]
    return ResolvedHeading(None) if cells and all(map(_PAIR.fullmatch, cells)) else None


def column_unit(heading: str) -> str | None:
    """The unit that a heading names."""
    column = column_of(heading)
    return column.unit if column else None


def _are_batches(batches: Sequence[tuple[float, float | None]]) -> bool:
    """Whether all products are the batch that is stated, or enough small ones are whole numbers."""
    if stated := [(product, batch) for product, batch in batches if batch]:
        return all(abs(product / batch - 1) <= _CLOSE for product, batch in stated)
    small = [product for product, _ in batches if 1 - _WHOLE <= product <= _LARGEST]
    return len(small) >= _FEWEST and all(abs(one - round(one)) <= _WHOLE for one in small)


def _plain(heading: str) -> str:
    """A heading without marks, and without words in brackets that change nothing."""
    return " ".join(_MARKS.sub(" ", heading).split())


_SETTLES = (_batch, _batch_time, _time, _block, _step, _latency, _checkpointing, _capacity, _two)
