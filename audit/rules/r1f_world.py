"""R1f: the world size that a log's TFLOPs imply, and steps that drift."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ..book import Book
from ..finding import Finding, Place
from ..formulas import compute, padded
from ..logs import Log, logs
from ..rule import Rule

_EXACT = 0.006
_DRIFT = 1.15
_MANY = 20
_APART = 1.10  # between two levels of step times
_LEVEL, _SWITCHES = 0.2, 4  # lines of the smaller level, and changes between the two
_QUERY = """SELECT layers, hidden, coalesce(heads, 1), coalesce(kv_heads, heads, 1),
    coalesce(ffn_hidden, 4 * hidden), vocab, swiglu, recompute, tp, pp, plain_mlp
    FROM configurations WHERE run_id = ?"""


def check(book: Book) -> Iterator[Finding]:
    """Logs whose TFLOPs fit a formula at another number of processes, and logs that slow down."""
    for log in logs(book):
        yield from _world(book, log)
        yield from _drift(log)
        yield from _levels(log)


def _world(book: Book, log: Log) -> Iterator[Finding]:
    lines = [
        step
        for step in log.steps[1:] or log.steps
        if step.tflops and step.time and (step.gbs or log.gbs)
    ]
    if not lines or not log.seq_len:
        return
    [(layers, hidden, heads, groups, ffn, vocab, swiglu, recompute, tp, pp, plain)] = (
        book.warehouse.rows(_QUERY, [log.run_id])
    )
    if not layers or not hidden:
        return
    seen = [step for step in lines if (step.tflops or 0) > 0.05 and (step.time or 0) > 0]
    if not seen:
        return  # a rate of a digit or two implies nothing
    shape = {
        "s": log.seq_len,
        "l": layers,
        "h": hidden,
        "a": heads,
        "g": groups,
        "k": hidden / heads,
        "ffn": ffn,
        "v": vocab or padded(50257, tp or 1),
        "gates": 3 if swiglu else 2,
        "experts": 1,
        "t": tp or 1,
        "p": pp or 1,
        "factor": 4 if recompute == "full" else 3,
    }
    implied: dict[str, float] = {}
    for formula in ("F2", "F7", "F8", "F3", "F9", "F12"):
        if formula != "F8" and formula != "F12" and not plain:
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
        yield Finding(
            ("R1f",),
            "warning",
            "medium",
            "TFLOPs imply another number of processes",
            f"by {best} they fit {whole} processes, the log has {stated}",
            (Place(log.uri, seen[0].line, "", log.run_id),),
        )
    elif stated:
        told = ", ".join(f"{name} {value:.4g}" for name, value in implied.items())
        yield Finding(
            ("R1f",),
            "note",
            "low",
            "TFLOPs follow no formula that is known here",
            f"processes implied: {told}; the log has {stated}",
            (Place(log.uri, seen[0].line, "", log.run_id),),
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
        yield Finding(
            ("R1f",),
            "note",
            "low",
            "step times drift",
            f"median {first:.4g} s in the first quarter of the lines, {last:.4g} s in the last",
            (Place(log.uri, timed[-quarter].line, "", log.run_id),),
        )


def _levels(log: Log) -> Iterator[Finding]:
    """Steps of two speeds in turn, with nothing in between."""
    timed = [step for step in log.steps[1:] if step.time]
    if len(timed) < _MANY or len({step.gbs for step in timed}) > 1:
        return
    times = sorted(step.time or 0 for step in timed)
    least = max(2, round(_LEVEL * len(times)))
    place = max(range(least, len(times) - least + 1), key=lambda n: times[n] / times[n - 1])
    low, high = times[place - 1], times[place]
    slow = [(step.time or 0) >= high for step in timed]
    switches = sum(one != other for one, other in pairwise(slow))
    # Levels, not a broad spread: the gap is wider than what lies on either side of it.
    narrow = low / times[0] < high / low and times[-1] / high < high / low
    if high > _APART * low and switches >= _SWITCHES and narrow:
        yield Finding(
            ("R1f",),
            "note",
            "low",
            "step times have two levels",
            f"{place} lines take {times[0]:.4g} to {low:.4g} s, {len(times) - place} take "
            f"{high:.4g} to {times[-1]:.4g} s, in turn: a median says little",
            (Place(log.uri, timed[slow.index(True)].line, "", log.run_id),),
        )


RULE = Rule(
    "R1f",
    47,
    "World size and drift of a log",
    "FLOPs / (time x TFLOPs) is the number of processes by some formula; "
    "the last quarter of a run is as fast as the first, and step times have one level",
    "3% around the stated number of processes; another one must be whole within 0.6% and divide "
    "it; 15% drift over 20 "
    "lines or more is a note, and two levels 10% apart in turn",
    "warning",
    check,
)
