"""Logs and tables of steps in no known format: read by one that their own lines show."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from io import BytesIO

from ...vocabulary.secrets import redact_text
from ..logs.bulk import feed
from ..logs.dialect import Dialect, dialects
from ..logs.drafted import BY_NAMES, MOST_LINES, Draft, drafted
from ..logs.drafted_tables import drafted_table
from ..logs.lines import Line, read_lines
from ..logs.log import LogReader
from .task import ReadFile, Sink, Task, finished_log

LARGEST = 64 << 20  # bytes of a file that is read twice
_ONE = frozenset(("", ".txt", ".log", ".out", ".err", ".stdout", ".stderr"))
_LINES = frozenset((".jsonl", ".json"))
_SAMPLE = 1 << 20  # bytes of a log searched for steps of an unknown format
_SHOWN = 120  # characters of a shape
_ALIKE = 0.8  # of the drafted steps have the number of the engine's step above or below


def of_unknown_trainer(
    task: Task, sink: Sink | None, known: LogReader, read: ReadFile
) -> ReadFile | None:
    """A log whose lines show that they are steps; None for any other.

    A grown one is read as a whole again: its formats are in no folder.
    """
    content = task.content
    suffix, many = content.path.suffix.lower(), read.coverage and read.coverage.lines > 1
    # One line of JSON is the summary of a run, not its log.
    may_be_one = suffix in _ONE or (suffix in _LINES and many)
    if not may_be_one or content.size > LARGEST:
        return None
    with content.stream(0, content.size) as stream:
        draft = _drafted_beside(read_lines(BytesIO(stream.read(_SAMPLE))), known.step_formats)
    if draft is None:
        return None
    return _drafted(task, sink, draft, dialects(task.formats))


def steps_in_table(task: Task, sink: Sink | None) -> ReadFile | None:
    """A table of steps, as Lightning's CSVLogger writes it; None for any other."""
    with task.content.stream(0, task.content.size) as stream:
        table = drafted_table(list(read_lines(BytesIO(stream.read(_SAMPLE)))))
    return _drafted(task, sink, Draft((table[0],), table[1], BY_NAMES), ()) if table else None


def _drafted(task: Task, sink: Sink | None, draft: Draft, known: Sequence[Dialect]) -> ReadFile:
    """A log by the formats drafted for it, and known ones."""
    reader = LogReader(task.source_id, (*known, *draft.dialects))
    with task.content.stream(0, task.content.size) as stream:
        feed(reader, stream, sink)
    read = finished_log(task, reader)
    shape = redact_text(draft.shape)[:_SHOWN]
    message = f"no format reads `{shape}`: drafted from its names and numbers ({draft.proof})"
    read.rows.warn("drafted_format", message, 1)
    return read


def _drafted_beside(lines: Iterable[Line], known: Sequence[Dialect]) -> Draft | None:
    """A draft from lines that `known` formats do not read; None if these number steps otherwise.

    An engine below an unknown trainer, and a bar, print steps too. What the trainer prints is
    joined to them by number, so its numbers have to be theirs.
    """
    rest: list[Line] = []
    engine: list[tuple[int, int]] = []
    for _, line in zip(range(MOST_LINES), lines, strict=False):
        records = filter(None, (dialect.read(line.text) for dialect in known))
        steps = [record.fields.get("iteration") for record in records]
        engine += [(line.number, step) for step in steps if isinstance(step, int)]
        if not steps:
            rest.append(line)
    draft = drafted(rest)
    return draft if draft and _agree(draft, rest, engine) else None


def _agree(draft: Draft, lines: Sequence[Line], engine: Sequence[tuple[int, int]]) -> bool:
    places = [number for number, _ in engine]
    checked = alike = 0
    for line in lines:
        record = draft.dialects[0].read(line.text)
        if record is None:
            continue
        at = bisect_left(places, line.number)
        near = {step for _, step in engine[max(0, at - 1) : at + 1]}
        checked += 1
        alike += record.fields.get("iteration") in near
    return not engine or alike >= _ALIKE * checked
