"""R12: rows of tables against the logs of their set-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from ..book import Book, Row
from ..finding import Finding, Place
from ..interval import Printed
from ..rule import Rule
from ..same_run import FIELDS, compatible, measured_rows

_FAR = 0.02  # what a table may be off the median of its log
_QUERY = """SELECT c.run_id, c.uri, c.line, coalesce(c.nodes_stated, c.nodes), c.devices_stated,
        c.world_size, c.dp, c.tp, c.pp, c.cp, c.mbs, c.gbs,
        c.seq_len, c.layers, c.hidden, c.heads, c.recompute, c.zero_stage,
        s.median, s.min, s.max, s.lines
    FROM configurations c JOIN run_stats s ON s.run_id = c.run_id AND s.metric = 'step_time_s'
    WHERE c.origin = 'log' AND s.lines >= 3 AND s.median > 0 ORDER BY c.uri, c.line"""


class Logged(NamedTuple):
    """A run of a log: where it is, what it states, and its step times in s."""

    run_id: str
    uri: str
    line: int
    stated: dict[str, object]
    median: float
    least: float
    most: float
    lines: int


def check(book: Book) -> Iterator[Finding]:
    """Rows whose set-up is that of one log alone."""
    logs = [
        Logged(
            run,
            uri,
            line,
            dict(zip(FIELDS, rest[: len(FIELDS)], strict=True)),
            *rest[len(FIELDS) :],
        )
        for run, uri, line, *rest in book.warehouse.rows(_QUERY)
    ]
    wanted: list[tuple[Row, list[Logged]]] = []
    by_size: dict[Hashable, list[Logged]] = {}
    for log in logs:
        by_size.setdefault((log.stated["tp"], log.stated["pp"]), []).append(log)
    for row in measured_rows(book.documents) if logs else ():
        if row.time is None or "averaged" in row.flags:
            continue
        near = by_size.get((row.tp, row.pp), []) if row.tp and row.pp else logs
        if found := [log for log in near if compatible(log.stated, row, 6)]:
            wanted.append((row, found))
    for row, log in _left_over(wanted):
        yield from _against(row, log)


def _left_over(wanted: Sequence[tuple[Row, list[Logged]]]) -> Iterator[tuple[Row, Logged]]:
    """A row and a log that have but each other, once those that agree are put together.

    Of several rows and logs of one set-up nothing tells which belong to each other, but for the
    numbers themselves: the closest are taken first, each log by one row.
    """
    close = sorted(
        (abs(row.time.value / log.median - 1), place, log.run_id)
        for place, (row, logs) in enumerate(wanted)
        for log in logs
        if row.time and _agree(row.time, log)
    )
    rows: set[int] = set()
    runs: set[str] = set()
    for _, place, run_id in close:
        if place not in rows and run_id not in runs:
            rows.add(place)
            runs.add(run_id)
    left = [
        (row, [log for log in logs if log.run_id not in runs])
        for place, (row, logs) in enumerate(wanted)
        if place not in rows
    ]
    rivals = Counter(log.run_id for _, logs in left for log in logs)
    for row, logs in left:
        if len(logs) == 1 and rivals[logs[0].run_id] == 1:
            yield row, logs[0]


def _agree(time: Printed, log: Logged) -> bool:
    span = time.either
    return span.low <= log.median * (1 + _FAR) and span.high >= log.median * (1 - _FAR)


def _against(row: Row, log: Logged) -> Iterator[Finding]:
    assert row.time is not None, "rows with a time are asked"
    shown, low, high = (
        row.time.raw or f"{row.time.value:g}",
        row.time.either.low,
        row.time.either.high,
    )
    where = f"{log.uri} l.{log.line}, median {log.median:.4g} s of {log.lines} lines"
    cells = (row.at("step_time"), Place(log.uri, log.line, "", log.run_id))
    if low <= log.least <= high:
        yield Finding(
            ("R12",), "warning", "medium", "the table has the fastest step of a log",
            f"{shown} s is the fastest interval of {where}", cells[:1],
            f"Sec/it {log.median:.4g}, the median",
        )  # fmt: skip
    elif not log.least <= row.time.value <= log.most:
        yield Finding(
            ("R12",), "warning", "low", "table and log tell one set-up differently",
            f"{shown} s in the table; {where}, {log.least:.4g} to {log.most:.4g} s", cells,
            "the row is of another run, or the set-up of one of the two is not all told",
        )  # fmt: skip


RULE = Rule(
    "R12",
    117,
    "Tables and logs",
    "a row with the set-up of a log has its median; of several rows and logs of one set-up those "
    "that agree belong together, and the last row is compared with the last log",
    "2% around the median of a log, whose set-up agrees in six stated fields or more; the fastest "
    "interval alone is a warning of its own",
    "warning",
    check,
)
