"""Columns with ambiguous headings: resolved by the numbers of the rows, or not read.

`Batch size` may be of a step or of a micro-batch, `Latency` of a step or of a request, `Batch time`
of a step or of one of its micro-batches, `Block size` of a sequence or of a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ...vocabulary.cell_numbers import CAPACITIES
from ...vocabulary.cell_words import switched
from ...vocabulary.cells import parse_cell
from ...vocabulary.headings import Column, column_of
from ...vocabulary.headings import columns as known_columns
from ...vocabulary.parallelism import sizes_in
from ...vocabulary.slices import counted_of
from .grid import Table
from .results import in_seconds

_BARE_BATCH = re.compile(r"\W*(?:batch(?:[ _-]?size)?|bsz?|批大小|批次大小|批量大小)\W*", re.I)
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
_REPLICAS = re.compile(r"(?<!\w)(?:H?FSDP|HSDP|DDP|ZeRO)(?!\w)", re.I)
_SPLIT = frozenset(("tp", "pp", "cp"))
_SHORTEST = 512  # tokens of a sequence; blocks of kernels and of scaled formats are smaller
_CLOSE = 0.03  # of a whole number of batches
_WHOLE = 0.05  # of a sequence
_LARGEST = (
    60  # sequences per step, up to which a product of rounded numbers shows whether it is whole
)
_FEWEST = 3  # rows needed as evidence


@dataclass(frozen=True, slots=True)
class Doubt:
    """A warning about a column: its code and message."""

    code: str
    message: str


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
    rows = _Rows(table, columns, accumulations, {} if batches is None else batches, stated)
    for at, heading in enumerate(map(_plain, table.header.cells)):
        for settle in (_batch, _batch_time, _block, _step, _latency, _checkpointing, _capacity):
            settled = settle(rows, at, heading)
            if settled is not None:
                found[at] = settled.column
                doubts += [settled.doubt] if settled.doubt else []
    return found, doubts


@dataclass(frozen=True, slots=True)
class _Settled:
    """The column that a heading means; None with the reason."""

    column: Column | None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class _Rows:
    table: Table
    columns: Sequence[Column | None]
    accumulations: Set[int]
    batches: dict[str, Column | None]
    stated: int | None = None

    @property
    def named(self) -> set[str]:
        return {column.name for column in self.columns if column}

    def numbers(self, at: int, column: Column) -> list[float | None]:
        """The number of each row under a heading; a time is in seconds."""
        found: list[float | None] = []
        for row in self.table.rows:
            raw = row.cells[at] if at < len(row.cells) else ""
            cell = parse_cell(raw, column)
            known = not cell.invalid and cell.kind in ("number", "pair", "settings")
            value = cell.value if known else None
            if value is not None and column.type == "time":
                value *= in_seconds(cell.unit or column.unit or "s") or 1.0
            found.append(value)
        return found

    def of(self, name: str) -> list[float | None]:
        """The numbers of the column of this name, None for each row without one."""
        for at, column in enumerate(self.columns):
            if column and column.name == name:
                return self.numbers(at, column)
        return [None] * len(self.table.rows)

    def step_times(self) -> list[float | None]:
        times, rates = self.of("step_time"), self.of("steps_per_s")
        return [
            time or (1 / rate if rate else None) for time, rate in zip(times, rates, strict=True)
        ]

    def devices(self) -> list[float | None]:
        """Devices as counted in their column, or before their name: `1 x A100`."""
        counted = self.of("devices")
        at = next((n for n, one in enumerate(self.columns) if one and one.name == "device"), None)
        cells = [row.cells[at] if at is not None and at < len(row.cells) else ""
                 for row in self.table.rows]  # fmt: skip
        named = [counted_of(cell) for cell in cells]
        return [
            count or (float(one[0]) if one and one[0] else None)
            for count, one in zip(counted, named, strict=True)
        ]


def _batch(rows: _Rows, at: int, heading: str) -> _Settled | None:
    """A bare batch without another: rate x step time shows whether it is the global batch."""
    column = rows.columns[at]
    if not (column and column.name == "gbs" and _BARE_BATCH.fullmatch(heading)):
        return None
    if {"mbs", "device_batch"} & rows.named:
        return None
    if "grad_accum" in rows.named:
        return _Settled(known_columns()["mbs"]) if _is_of_one_pass(rows, at, column) else None
    batches, devices = rows.numbers(at, column), rows.devices()
    if heading.casefold() in rows.batches:
        settled = rows.batches[heading.casefold()]
        return _Settled(settled) if settled else _open_batch(heading)
    if _less_than_one_each(rows, batches, devices):
        each = known_columns()["device_batch"] if _is_data_parallel(rows) else None
        rows.batches[heading.casefold()] = each
        return _Settled(each) if each else _open_batch(heading)
    # No step of 32 replicas has 8 sequences; what splits a replica is not known.
    apart = rows.stated and not any(devices) and not _SPLIT & rows.named
    if apart and any(batch and batch < (rows.stated or 0) for batch in batches):
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
        return _Settled(known_columns()["mbs"]) if alone else _open_batch(heading)
    least = min(rows.accumulations, default=0)
    if least and any(
        batch and batch < least for batch in batches
    ):  # fewer sequences than micro-batches
        shared = any(count and count > 1 for count in devices)
        return _open_batch(heading) if shared else _Settled(known_columns()["mbs"])
    return _open_batch(heading) if least else None


def _is_of_one_pass(rows: _Rows, at: int, column: Column) -> bool:
    """Whether a row has fewer sequences than its replicas have micro-batches in a step."""
    named = [sizes_in(", ".join(row.cells)) for row in rows.table.rows]
    steps = zip(rows.numbers(at, column), rows.of("grad_accum"), rows.of("dp"), named, strict=True)
    return any(
        batch and passes and batch < passes * (dp or sizes.get("dp", 1))
        for batch, passes, dp, sizes in steps
    )


def _less_than_one_each(
    rows: _Rows, batches: Sequence[float | None], devices: Sequence[float | None]
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


def _is_data_parallel(rows: _Rows) -> bool:
    """Whether each row names a data-parallel method."""
    return all(any(map(_REPLICAS.search, row.cells)) for row in rows.table.rows)


def _open_batch(heading: str) -> _Settled:
    message = f"{heading!r} may be the batch of a step or a micro-batch: not read"
    return _Settled(None, Doubt("batch_not_stated", message))


def _is_whole(ratio: float) -> bool:
    return abs(ratio - round(ratio)) <= _CLOSE * ratio


def _batch_time(rows: _Rows, at: int, heading: str) -> _Settled | None:
    """A batch is a step unless gradients are accumulated."""
    column = rows.columns[at]
    of_batch = column and column.name == "step_time" and _BATCH_TIME.search(heading)
    if not of_batch or not (rows.accumulations or any(n and n > 1 for n in rows.of("grad_accum"))):
        return None
    message = f"{heading!r} may be the time of a step or of a micro-batch: not read"
    return _Settled(None, Doubt("time_not_stated", message))


def _block(rows: _Rows, at: int, heading: str) -> _Settled | None:
    """A block size is a sequence length if it is long enough for one (nanoGPT)."""
    column = rows.columns[at]
    if not (column and column.name == "seq_len" and _BLOCK.fullmatch(heading)):
        return None
    lengths = rows.numbers(at, column)
    short = any(length is None or length < _SHORTEST for length in lengths)
    return _Settled(None) if short else None


def _step(rows: _Rows, at: int, heading: str) -> _Settled | None:
    """`step` over nothing but times is the step time."""
    if rows.columns[at] or "step_time" in rows.named or not _STEP.fullmatch(heading):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells) and row.cells[at]]
    # a row that failed has no time
    timed = any(map(_TIME.fullmatch, cells)) and all(
        _TIME.fullmatch(cell) or not re.search(r"\d", cell) for cell in cells
    )
    return _Settled(known_columns()["step_time"]) if timed else None


def _latency(rows: _Rows, at: int, heading: str) -> _Settled | None:
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
    return _Settled(column) if _are_batches(batches) else None


def _checkpointing(rows: _Rows, at: int, heading: str) -> _Settled | None:
    """`ckpt` or `GC` over nothing but yes and no is whether activations are recomputed."""
    if rows.columns[at] or "recompute" in rows.named or not _CKPT.fullmatch(heading):
        return None
    cells = [row.cells[at] for row in rows.table.rows if at < len(row.cells)]
    cells = [cell for cell in cells if cell.strip() not in ("", "-", "–", "—")]
    switches = bool(cells) and all(switched(cell) is not None for cell in cells)
    return _Settled(known_columns()["recompute"]) if switches else None


def _capacity(rows: _Rows, at: int, heading: str) -> _Settled | None:
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
    return _Settled(None) if shares or (sold and "device" in rows.named) else None


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
