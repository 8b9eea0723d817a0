"""R1f: the world size that a log's TFLOPs imply, and steps that drift."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ..finding import Finding, Place
from ..formulas import ONLY_PLAIN, compute, padded, values_of_run
from ..input import AuditInput, Log, logs
from ..rule import declared

RULE = declared(__name__)


_EXACT = 0.006
_DRIFT = 1.15
_MANY = 20
_APART = 1.10  # factor between two levels of step times
_LEVEL, _SWITCHES = 0.2, 4  # lines of the smaller level, and changes between the two
_QUERY = "SELECT * FROM configurations WHERE run_id = ?"


@RULE.check
def check(data: AuditInput) -> Iterator[Finding]:
    """Logs whose TFLOPs fit a formula at another number of processes, and logs that slow down."""
    for log in logs(data):
        yield from _world(data, log)
        yield from _drift(log)
        yield from _levels(log)


def _world(data: AuditInput, log: Log) -> Iterator[Finding]:
    lines = [
        step
        for step in log.steps[1:] or log.steps
        if step.tflops and step.time and (step.gbs or log.gbs)
    ]
    if not lines or not log.seq_len:
        return
    [row] = data.warehouse.dicts(_QUERY, [log.run_id])
    # A rate of a digit or two implies nothing.
    seen = [step for step in lines if (step.tflops or 0) > 0.05 and (step.time or 0) > 0]
    if not row["layers"] or not row["hidden"] or not seen:
        return
    shape = values_of_run(row) | {
        "s": log.seq_len,
        "v": row["vocab"] or padded(50257, row["tp"] or 1),
        "factor": 4 if row["recompute"] == "full" else 3,
    }
    implied: dict[str, float] = {}
    for formula in ("F2", "F7", "F8", "F3", "F9", "F12", "F13"):
        if formula in ONLY_PLAIN and not row["plain_mlp"]:
            continue
        found = [
            total / 1e12 / (step.time or 1) / (step.tflops or 1)
            for step in seen
            if (total := compute(formula, shape | {"b": step.gbs or log.gbs}))
        ]
        if found:
            implied[formula] = median(found)
    if not implied:
        return
    best = min(implied, key=lambda name: abs(implied[name] / max(round(implied[name]), 1) - 1))
    stated = log.world
    if stated and any(abs(value / stated - 1) < 0.03 for value in implied.values()):
        return
    whole = round(implied[best])
    exact = whole >= 1 and abs(implied[best] / whole - 1) < _EXACT
    if stated and exact and whole != stated and max(whole, stated) % min(whole, stated) == 0:
        yield RULE.finding(
            "processes",
            (Place(log.uri, seen[0].line, "", log.run_id),),
            best=best,
            whole=whole,
            stated=stated,
        )
    elif stated:
        implied_by = ", ".join(f"{name} {value:.4g}" for name, value in implied.items())
        yield RULE.finding(
            "no_formula",
            (Place(log.uri, seen[0].line, "", log.run_id),),
            implied_by=implied_by,
            stated=stated,
        )


def _drift(log: Log) -> Iterator[Finding]:
    """Steps that grow slower over a run of one batch size."""
    timed = [step for step in log.steps[1:] if step.time]
    if (
        len(timed) < _MANY
        or len({step.gbs for step in timed}) > 1
        or len({step.seq_len for step in timed}) > 1
    ):
        return
    quarter = len(timed) // 4
    first = median(step.time or 0 for step in timed[:quarter])
    last = median(step.time or 0 for step in timed[-quarter:])
    if last > _DRIFT * first or first > _DRIFT * last:
        yield RULE.finding(
            "drift", (Place(log.uri, timed[-quarter].line, "", log.run_id),), first=first, last=last
        )


def _levels(log: Log) -> Iterator[Finding]:
    """Steps that alternate between two speeds, with nothing in between."""
    timed = [step for step in log.steps[1:] if step.time]
    if len(timed) < _MANY or len({step.gbs for step in timed}) > 1:
        return
    times = sorted(step.time or 0 for step in timed)
    least = max(2, round(_LEVEL * len(times)))
    place = max(range(least, len(times) - least + 1), key=lambda n: times[n] / times[n - 1])
    low, high = times[place - 1], times[place]
    slow = [(step.time or 0) >= high for step in timed]
    switches = sum(one != other for one, other in pairwise(slow))
    # Levels, not a broad spread: the gap is wider than the spread on either side of it.
    narrow = low / times[0] < high / low and times[-1] / high < high / low
    if high > _APART * low and switches >= _SWITCHES and narrow:
        yield RULE.finding(
            "levels",
            (Place(log.uri, timed[slow.index(True)].line, "", log.run_id),),
            place=place,
            times=times,
            low=low,
            slow_number=len(times) - place,
            high=high,
            slowest=times[-1],
        )
