"""The state of a log reader between two lines, as bytes, and a reader that continues from it.

It contains no code: plain values and the fields of the classes below, by name.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from ...schema.rows import Rows
from ...schema.sql import digest
from .dialect import Dialect
from .environment import Environment, Flags
from .equations import FirstSteps
from .header import Header
from .late_losses import LateLosses, PendingRecord
from .lines import Line
from .log import LogReader
from .log_result import LogResult
from .non_step_values import NonStepValues
from .record import Record
from .run import Run
from .runs import Preamble
from .step import Ranks, Spread, Step, StepLines
from .steps import Steps
from .termination import HangDetection, Outcome, TerminationTracker
from .unnumbered_steps import UnnumberedSteps
from .wrapped_lines import WrappedRecord

MOST_BYTES = 16 << 20  # of packed state; a log that needs more is read as a whole
_MOST_UNPACKED = 256 << 20
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Environment, FirstSteps, Flags, HangDetection, Header, LateLosses, Line, LogResult,
        NonStepValues, Outcome, PendingRecord, Preamble, Ranks, Record, Run, Spread, Step,
        StepLines, Steps, TerminationTracker, UnnumberedSteps, WrappedRecord,
    )
}  # fmt: skip
# The state that outlives a line; the rest is built again, or belongs to one line.
_KEPT = ("_read", "_number", "_wrapped", "_cut_off")
_KEPT_OF_RUNS = ("run", "block", "starts", "environment", "preamble", "bars")
_GROUPS: Mapping[str, Callable[[list[Any]], object]] = {  # Any: JSON
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "dict": dict,
    "Counter": lambda pairs: Counter(dict(pairs)),
    "OrderedDict": OrderedDict,
}
_DAMAGE = (KeyError, ValueError, TypeError, AttributeError, zlib.error)


def freeze(reader: LogReader) -> bytes | None:
    """The state of a reader at the end of a line; None if it is too large to be worth it."""
    values = {name: _frozen(getattr(reader, name)) for name in _KEPT}
    values |= {name: _frozen(getattr(reader.runs, name)) for name in _KEPT_OF_RUNS}
    values["pending_line"] = _frozen(reader.pending_line)
    text = json.dumps([_shape(), values], separators=(",", ":"))
    packed = zlib.compress(text.encode(), 1)
    return packed if len(text) <= _MOST_UNPACKED and len(packed) <= MOST_BYTES else None


def thaw(state: bytes, source_id: str, formats: Sequence[Dialect]) -> LogReader | None:
    """A reader that continues from a state; None for a state of another version."""
    try:
        unpacking = zlib.decompressobj()
        shape, values = json.loads(unpacking.decompress(state, _MOST_UNPACKED))
        if shape != _shape() or not unpacking.eof:
            return None
        reader = LogReader(source_id, formats)
        thawing = _Thawing(reader.rows, {dialect.name: dialect for dialect in formats})
        for name in _KEPT:
            setattr(reader, name, thawing.value(values[name]))
        for name in _KEPT_OF_RUNS:
            setattr(reader.runs, name, thawing.value(values[name]))
        reader.restore(thawing.value(values["pending_line"]))
    except _DAMAGE:
        return None
    return reader


@cache
def _shape() -> str:
    """A digest of the classes and their fields: a state of others is not loaded."""
    return digest(" ".join(f"{name}: {_names(kind)}" for name, kind in _KINDS.items()))


def _names(kind: type) -> Sequence[str]:
    """The fields of a class whose objects are stored."""
    return list(vars(kind)["__slots__"])


def _frozen(value: object) -> object:
    kind = type(value)
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_frozen(one) for one in value]
        case Rows():
            return {"rows": 0}
        case Dialect():
            return {"format": value.name}
        case datetime():
            return {"time": value.isoformat()}
        case deque():
            return {"deque": [value.maxlen, [_frozen(one) for one in value]]}
        case dict():
            return {kind.__name__: [[_frozen(key), _frozen(one)] for key, one in value.items()]}
        case tuple() | set() | frozenset():
            return {kind.__name__: [_frozen(one) for one in value]}
        case StepLines():
            value = StepLines(value.line, value.same(), value.rank_prefixes)
    if kind.__name__ not in _KINDS:
        raise TypeError(f"the state of a reader contains a {kind.__name__}")
    return {kind.__name__: [_frozen(getattr(value, name)) for name in _names(kind)]}


class _Thawing:
    """Rebuilds values; rows and formats are the new reader's."""

    def __init__(self, rows: Rows, formats: Mapping[str, Dialect]) -> None:
        self._rows = rows
        self._formats = formats

    def value(self, frozen: Any) -> Any:
        if isinstance(frozen, list):
            return self._all(frozen)
        if not isinstance(frozen, dict):
            return frozen
        [(kind, inner)] = frozen.items()
        match kind:
            case "rows":
                return self._rows
            case "format":
                return self._formats[inner]
            case "time":
                return datetime.fromisoformat(inner)
            case "deque":
                return deque(self._all(inner[1]), maxlen=inner[0])
            case _ if kind in _GROUPS:
                return _GROUPS[kind](self._all(inner))
        return self._object(_KINDS[kind], self._all(inner))

    def _all(self, values: Iterable[Any]) -> list[Any]:
        return [self.value(value) for value in values]

    def _object(self, kind: type, values: list[Any]) -> object:
        rebuilt: object = object.__new__(kind)
        for name, value in zip(_names(kind), values, strict=True):
            object.__setattr__(rebuilt, name, value)
        return rebuilt
