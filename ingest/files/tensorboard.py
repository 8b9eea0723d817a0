"""TensorBoard event files, through TensorBoard's own reader: an extra, for who has it installed."""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...schema.rows import Rows, content_id
from ...vocabulary.package_toml import declared
from ...vocabulary.secrets import redact_text
from ..coverage import Coverage
from ..kinds import NoReader
from ..logs.header import RUN_COLUMNS, TOPOLOGY_COLUMNS, Header

FORMAT = "TensorBoard"
_WHOLE = frozenset(("gbs", "consumed_samples", "consumed_tokens"))
_TEXT = "/text_summary"
_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Writer:
    """A trainer that writes event files: its tags and their meaning."""

    name: str
    url: str
    main: str
    tags: Mapping[str, Mapping[str, Any]]  # Any: TOML
    axis: str = "steps"


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number of an event file; `line` is the number of its record."""

    tag: str
    step: int
    value: float
    line: int
    at: datetime


@dataclass(slots=True)
class _Events:
    scalars: list[Scalar] = field(default_factory=list)
    texts: list[tuple[str, str, int]] = field(default_factory=list)
    others: int = 0  # scalars that no trainer of ours writes
    records: int = 0
    broken: str = ""


@functools.cache
def writers() -> tuple[Writer, ...]:
    """The trainers of tensorboard.toml."""
    found = declared(__package__ or "bench.ingest.files", "tensorboard.toml")
    return tuple(Writer(**entry) for entry in found["writer"])


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(tag for writer in writers() for tag in writer.tags)


def read_events(path: Path, source_id: str) -> tuple[Rows, Coverage]:
    """The rows of an event file: one run, an iteration for every step that has its numbers.

    Raises NoReader where TensorBoard is not installed, OSError when the file cannot be read.
    """
    events = _load(path)
    rows = Rows()
    writer = _writer(events.scalars)
    read = 0
    if writer is not None:
        read = _run(rows, events, writer, source_id)
    if events.broken:
        rows.warn("truncated", f"the event file ends within a record: {events.broken}")
    unread = len(events.scalars) + events.others - read
    known = max(events.records - read - unread, 0)
    return rows, Coverage("log", FORMAT, None, events.records, read, known, unread)


def _load(path: Path) -> _Events:
    try:
        from google.protobuf.message import DecodeError
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError as error:
        raise NoReader(
            "TensorBoard's reader is not installed: pip install 'bench-warehouse[tensorboard]'"
        ) from error
    found = _Events()
    try:
        for event in EventFileLoader(str(path)).Load():
            found.records += 1
            for value in event.summary.value:
                _take(found, event, value, make_ndarray)
    except DecodeError as error:
        found.broken = str(error)
    return found


def _take(found: _Events, event: Any, value: Any, array: Any) -> None:  # Any: untyped protobuf
    kind, tensor = value.metadata.plugin_data.plugin_name, value.tensor
    if not value.HasField("tensor") or kind not in ("scalars", "text"):
        return
    if kind == "text":
        for text in tensor.string_val[:1]:
            plain = text.decode("utf-8", "replace")[:_LONGEST_TEXT]
            found.texts.append((value.tag, plain, found.records))
    elif value.tag not in _known():
        found.others += 1
    elif math.isfinite(event.wall_time) and 0 < event.wall_time < 2**33:
        if (number := _number(tensor, array)) is None:
            found.others += 1
            return
        at = datetime.fromtimestamp(event.wall_time, UTC).replace(tzinfo=None)
        found.scalars.append(Scalar(value.tag, int(event.step), number, found.records, at))


def _number(tensor: Any, array: Any) -> float | None:  # Any: untyped protobuf
    """The number of a scalar; None for anything else."""
    # A few bytes may claim a shape of any size, which NumPy would fill.
    if any(dim.size != 1 for dim in tensor.tensor_shape.dim):
        return None
    try:
        return float(array(tensor).item())
    except (TypeError, ValueError):
        return None


def _writer(scalars: list[Scalar]) -> Writer | None:
    """The writer with most of its tags in the file; None where no writer's main loss is there."""
    tags = {scalar.tag for scalar in scalars}
    fitting = [
        writer for writer in writers()
        if any(writer.tags[tag].get("loss") == writer.main for tag in tags & writer.tags.keys())
    ]  # fmt: skip
    return max(fitting, key=lambda one: len(tags & one.tags.keys()), default=None)


def _run(rows: Rows, events: _Events, writer: Writer, source_id: str) -> int:
    """Store the run; gives how many scalars were read."""
    steps: dict[tuple[int, int], list[Scalar]] = defaultdict(list)
    segment, newest, read = 1, -1, 0
    for scalar in events.scalars:
        if scalar.tag not in writer.tags:
            continue
        read += 1
        if scalar.step < newest:
            segment += 1
        newest = scalar.step
        steps[segment, scalar.step].append(scalar)
    batch = _batch(sorted({step for _, step in steps})) if writer.axis == "samples" else 1
    if batch is None:
        rows.warn("axis", "its steps count samples, by no constant batch: no iteration is known")
        return 0
    run_id = content_id(source_id, "events", writer.name)
    header = Header(run_id, rows)
    for tag, text, line in events.texts:
        if tag.endswith(_TEXT):
            header.argument(tag.removesuffix(_TEXT), text, line)
    _iterations(rows, run_id, writer, steps, batch)
    _store(rows, run_id, source_id, events, writer, header, batch)
    return read


def _batch(samples: list[int]) -> int | None:
    """The batch where every step writes its samples: d, 2d, 3d, ...; None where that is not so."""
    gaps = Counter(b - a for a, b in zip([0, *samples], samples, strict=False))
    return next(iter(gaps)) if len(gaps) == 1 and len(samples) > 1 and 0 not in gaps else None


def _iterations(
    rows: Rows,
    run_id: str,
    writer: Writer,
    steps: Mapping[tuple[int, int], list[Scalar]],
    batch: int,
) -> None:
    last: dict[int, int] = {}
    for (segment, step), scalars in steps.items():
        iteration = step // batch
        row: dict[str, object] = {}
        losses: dict[str, float] = {}
        for scalar in scalars:
            what = writer.tags[scalar.tag]
            value = scalar.value if math.isfinite(scalar.value) else None
            if "evaluation" in what:
                rows.add("evaluations", run_id=run_id, line=scalar.line, iteration=iteration,
                         name="validation", metric=what["evaluation"], value=value)  # fmt: skip
            elif "memory" in what:
                rows.add("memory", run_id=run_id, iteration=iteration, line=scalar.line, rank=None,
                         kind=what["memory"], value=value, unit="B")  # fmt: skip
            elif "loss" in what:
                losses |= {what["loss"]: value} if value is not None else {}
            elif value is not None:
                row[what["column"]] = _value(what, value)
        if not row and not losses:
            continue
        before = last.get(segment)
        last[segment] = iteration
        rows.add(
            "iterations", run_id=run_id, segment=segment, iteration=iteration,
            interval_length=iteration - before if before is not None else None,
            line=min(scalar.line for scalar in scalars), printed_at=scalars[0].at,
            loss=losses.get(writer.main), losses=losses or None,
            **({"consumed_samples": step, "gbs": batch} if writer.axis == "samples" else {}), **row,
        )  # fmt: skip


def _value(what: Mapping[str, Any], value: float) -> object:
    moved = value * 10.0 ** what.get("shift", 0)
    return round(moved) if what["column"] in _WHOLE else moved


def _store(
    rows: Rows,
    run_id: str,
    source_id: str,
    events: _Events,
    writer: Writer,
    header: Header,
    batch: int,
) -> None:
    columns = header.columns()
    taken = rows.by_table.get("iterations", [])
    columns.setdefault("gbs", batch if writer.axis == "samples" else None)
    first = events.scalars[0]
    rows.add(
        "runs", source_id=source_id, run_id=run_id, origin="log", line=1,
        last_line=events.records, segment=max((int(str(r["segment"])) for r in taken), default=1),
        framework=redact_text(writer.name), status="ended",
        status_reason="an event file does not say how its run ended", status_line=events.records,
        kind="measured", flags=[], date=first.at.isoformat(sep=" ", timespec="seconds"),
        job_ids=[], **{name: columns.get(name) for name in sorted(RUN_COLUMNS)},
    )  # fmt: skip
    topology = {name: columns.get(name) for name in sorted(TOPOLOGY_COLUMNS)}
    if any(value is not None for value in topology.values()):
        rows.add("topology", run_id=run_id, **topology)
