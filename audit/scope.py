"""The scope of an audit: the absence of findings does not prove correctness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..vocabulary.hardware import device_of
from .detect import expected, testable
from .input import AuditInput, Row, Table
from .memory import ratio
from .relations import fitted
from .work import share_of, token_share, usable

_SPEED = ("TFLOPs and time", "rates against each other", "size")
_KINDS = (*_SPEED, "topology", "batch", "memory", "peak")
_RATES = ("tflops", "tokens_per_s", "tokens_per_s_per_device", "samples_per_s",
          "samples_per_s_per_device", "mfu", "hfu", "peak_share")  # fmt: skip
_LOGS = """SELECT r.uri, count(*), count(i.tflops), count(i.samples_per_s), count(i.tokens_per_s)
    FROM iterations i JOIN runs r USING (run_id)
    WHERE r.origin = 'log' AND i.step_time_s IS NOT NULL GROUP BY r.uri, i.run_id"""


@dataclass(frozen=True, slots=True)
class Scope:
    """Counts of rows with results and logged runs, by their tests or missing inputs."""

    rows: int
    tested: Mapping[str, int]
    untested: Mapping[str, int]  # rows without an equation for their speed, by the missing input
    no_peak: int
    logs: Mapping[str, int]

    def lines(self) -> tuple[str, ...]:
        """The scope as text: checked and unchecked rows; empty without rows and steps."""
        found = []
        if self.rows:
            by = ", ".join(f"{number:,} by {name}" for name, number in self.tested.items())
            found.append(f"checked: {_counted(self.rows, 'row')} with results, {by}")
        if self.logs:
            counts = ", ".join(_counted(number, name) for name, number in self.logs.items())
            found.append(f"checked: {counts}")
        missing = []
        if self.untested:
            number = sum(self.untested.values())
            counts = ", ".join(f"{name}: {one:,}" for name, one in self.untested.items())
            missing.append(f"the speed of {_counted(number, 'row')} ({counts})")
        if self.no_peak:
            missing.append(f"the peak of {_counted(self.no_peak, 'row')} (no device that is known)")
        if missing:
            found.append(f"not checked: {'; '.join(missing)}")
        return tuple(found)


def scope_of(data: AuditInput) -> Scope:
    """The scope of the rules; call it after they have run."""
    tested: Counter[str] = Counter(dict.fromkeys(_KINDS, 0))
    untested: Counter[str] = Counter()
    rows = no_peak = 0
    for table in data.tables:
        related = {row.run_id for one in fitted(table) for row in one.rows}
        for row in (row for row in table.rows if row.measured):
            rows += 1
            kinds = _kinds(table, row, row.run_id in related)
            tested.update(kinds)
            if not kinds.intersection(_SPEED):
                untested[_missing(row)] += 1
            no_peak += "peak" not in kinds and ("tflops" in row.printed or "mfu" in row.printed)
    ordered = dict(untested.most_common())
    return Scope(rows, dict(tested), ordered, no_peak, _logs(data))


def _kinds(table: Table, row: Row, related: bool) -> set[str]:
    detected = table.detected
    formula = testable(row) and detected and detected.certain and expected(row, detected.reading)
    device = device_of(row.device) if row.device else None
    split = row.dp_shard if row.sharded else row.product if row.dp else row.tp
    batch = row.gbs and row.mbs and row.data_parallel and {"gbs", "mbs"} & set(table.columns)
    stated = {
        _SPEED[0]: formula or (usable(row) and share_of(table, row)),
        _SPEED[1]: related,
        _SPEED[2]: token_share(row),
        "topology": split and row.world,
        "batch": batch,
        "memory": ratio(row),
        "peak": device and device.peak and ("tflops" in row.printed or "mfu" in row.printed),
    }
    return {name for name, value in stated.items() if value}


def _missing(row: Row) -> str:
    """The first missing input that keeps the speed of a row out of every equation."""
    rates = [name for name in _RATES if name in row.printed]
    if row.invalid:
        return "cells under wrong headings"
    if not rates:
        return "a time and no rate"
    if not row.time:
        return "no time" if len(rates) == 1 else "fewer than three rows that agree"
    for missing, value in (
        ("no GBS", row.gbs),
        ("no number of processes", row.world),
        ("no sequence length", row.seq_len),
        ("no size or shape of the model", row.params_b or row.layers),
    ):
        if not value:
            return missing
    return "no formula fits, or too few rows" if row.tflops else "too few rows"


def _logs(data: AuditInput) -> dict[str, int]:
    wanted = {document.uri for document in data.documents}
    found: Counter[str] = Counter()
    logs = data.warehouse.rows("SELECT DISTINCT uri FROM runs WHERE origin = 'log'")
    if wanted.isdisjoint(uri for (uri,) in logs):
        return {}  # a warehouse may have a hundred million steps
    for uri, steps, *rates in data.warehouse.rows(_LOGS):
        if uri in wanted:
            found["logged run"] += 1
            found["step"] += steps
            for name, number in zip(("TFLOPs", "samples/s", "tokens/s"), rates, strict=True):
                found[f"value of {name}"] += number
    return dict(found)


def _counted(number: int, name: str) -> str:
    first, *rest = name.split(" of ")
    return " of ".join((f"{number:,} {first}{'' if number == 1 else 's'}", *rest))
