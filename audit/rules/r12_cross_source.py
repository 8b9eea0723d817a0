"""R12: one run in two sources: tables against logs, documents and quoted log lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from ..finding import Finding, Place
from ..input import AuditInput, Document, Row
from ..interval import Printed
from ..rule import declared

RULE = declared(__name__)

FIELDS = ("nodes", "devices", "world", "dp", "tp", "pp", "cp", "mbs", "gbs", "seq_len", "layers",
           "hidden", "heads", "recompute", "zero_stage")  # fmt: skip
_METRICS = ("step_time_s", "tflops", "memory")
_STRONG = 5  # digits of a number that two rows do not share by chance
_SPREAD = 0.02  # of jobs of one configuration: within it any number is equally likely
_RARE = 20  # times as many numbers as pairs of rows: one in so many comparisons agrees by chance
_FAR = 0.02  # tolerated difference between a table and the median of its log
_QUERY = """SELECT c.run_id, c.uri, c.line, coalesce(c.nodes_stated, c.nodes), c.devices_stated,
        c.world_size, c.dp, c.tp, c.pp, c.cp, c.mbs, c.gbs,
        c.seq_len, c.layers, c.hidden, c.heads, c.recompute, c.zero_stage,
        s.median, s.min, s.max, s.lines
    FROM configurations c JOIN run_stats s ON s.run_id = c.run_id AND s.metric = 'step_time_s'
    WHERE c.origin = 'log' AND s.lines >= 3 AND s.median > 0 ORDER BY c.uri, c.line"""


class LoggedRun(NamedTuple):
    """A run of a log: its place, its statements, and its step times in s."""

    run_id: str
    uri: str
    line: int
    stated: dict[str, object]
    median: float
    least: float
    most: float
    lines: int


@RULE.check
def check_logs(data: AuditInput) -> Iterator[Finding]:
    """Rows whose configuration is that of one log alone."""
    logs = [
        LoggedRun(
            run,
            uri,
            line,
            dict(zip(FIELDS, rest[: len(FIELDS)], strict=True)),
            *rest[len(FIELDS) :],
        )
        for run, uri, line, *rest in data.warehouse.rows(_QUERY)
    ]
    wanted: list[tuple[Row, list[LoggedRun]]] = []
    by_size: dict[Hashable, list[LoggedRun]] = {}
    for log in logs:
        by_size.setdefault((log.stated["tp"], log.stated["pp"]), []).append(log)
    for row in measured_rows(data.documents) if logs else ():
        if row.time is None or "averaged" in row.flags:
            continue
        near = by_size.get((row.tp, row.pp), []) if row.tp and row.pp else logs
        if found := [log for log in near if compatible(log.stated, row, 6)]:
            wanted.append((row, found))
    for row, log in _left_over(wanted):
        yield from _against(row, log)


def _left_over(wanted: Sequence[tuple[Row, list[LoggedRun]]]) -> Iterator[tuple[Row, LoggedRun]]:
    """The rows and logs that have only each other left, after matching those that agree.

    With several rows and logs of one configuration, only the numbers show which belong together:
    the closest pairs are matched first, each log with one row.
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


def _agree(time: Printed, log: LoggedRun) -> bool:
    span = time.either
    return span.low <= log.median * (1 + _FAR) and span.high >= log.median * (1 - _FAR)


def _against(row: Row, log: LoggedRun) -> Iterator[Finding]:
    assert row.time is not None, "callers pass rows with a time"
    shown, low, high = (
        row.time.raw or f"{row.time.value:g}",
        row.time.either.low,
        row.time.either.high,
    )
    where = f"{log.uri} line {log.line}, median {log.median:.4g} s of {log.lines} lines"
    cells = (row.at("step_time"), Place(log.uri, log.line, "", log.run_id))
    if low <= log.least <= high:
        yield RULE.finding("fastest", cells[:1], shown=shown, where=where, log=log)  # fmt: skip
    elif not log.least <= row.time.value <= log.most:
        yield RULE.finding("other", cells, shown=shown, where=where, log=log)  # fmt: skip


@RULE.check
def check_sources(data: AuditInput) -> Iterator[Finding]:
    """Rows that another document or a quoted line contradicts."""
    yield from _documents(data)
    for document in data.documents:
        yield from _quotes(document)


def _documents(data: AuditInput) -> Iterator[Finding]:
    """Rows of two documents that agree in configuration and in some long number, but not in all."""
    by_setup: dict[Hashable, list[Row]] = {}
    for row in measured_rows(data.documents):
        by_setup.setdefault(_setup(row), []).append(row)
    shared: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for rows in by_setup.values():
        for one, two in _pairs(rows):
            shared.setdefault((one.uri, two.uri), []).append((one, two))
    for pairs in shared.values():
        pairs.sort(key=lambda pair: (pair[1].line, pair[0].line))
        same: list[tuple[Row, Row]] = []
        for one, two in pairs:
            if names := _differs(one, two):
                yield _stale(one, two, names)
            else:
                same.append((one, two))
        if same:
            yield _shared(same)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Rows of one configuration in two documents that share a number, but not by chance."""
    number_of = Counter(row.uri for row in rows)
    found: dict[tuple[str, str], tuple[Row, Row]] = {}
    for name in _METRICS if len(number_of) > 1 else ():
        by_value: dict[float, list[Row]] = {}
        for row in rows:
            number = row.printed.get(name)
            if number and number.digits >= _STRONG:
                by_value.setdefault(number.value, []).append(row)
        for alike in by_value.values():
            for one, two in combinations(alike, 2):
                chances = number_of[one.uri] * number_of[two.uri]
                half = max(one.printed[name].half, two.printed[name].half)
                if one.uri != two.uri and _rare(one.printed[name].value, half, chances):
                    found[one.run_id, two.run_id] = one, two
    yield from found.values()


def _rare(value: float, half: float, chances: int) -> bool:
    """Whether so many pairs of rows would hardly agree in such a number by chance."""
    return _SPREAD * value >= _RARE * chances * 2 * half


def _setup(row: Row) -> Hashable:
    names = ("nodes", "devices", "dp", "tp", "pp", "mbs", "gbs")
    return (row.params_b, *(getattr(row, name) for name in names), row.env)


def _differs(first: Row, second: Row) -> list[str]:
    """The metrics that both print with different values."""
    return [
        name
        for name in _METRICS
        if name in first.printed
        and name in second.printed
        and not _alike(first.printed[name], second.printed[name])
    ]


def _alike(printed: Printed, other: Printed) -> bool:
    # Copies have equal digits, which needs no intervals.
    return printed.value == other.value or printed.either.meets(other.either)


def _stale(first: Row, second: Row, names: Sequence[str]) -> Finding:
    differences = ", ".join(
        f"{name} {first.printed[name].raw or first.printed[name].value} and "
        f"{second.printed[name].raw or second.printed[name].value}"
        for name in names
    )
    return RULE.finding(
        "stale",
        tuple(row.at(_CELL.get(name, name)) for row in (first, second) for name in names),
        first=first,
        second=second,
        differences=differences,
    )


_CELL = {"step_time_s": "step_time", "memory": "mem"}


def _shared(pairs: Sequence[tuple[Row, Row]]) -> Finding:
    first, second = pairs[0]
    return RULE.finding(
        "shared",
        tuple(b.at() for _, b in pairs),
        second=second,
        first=first,
        items=[{"first": a, "second": b} for a, b in pairs],
    )


def _quotes(document: Document) -> Iterator[Finding]:
    """Quoted log lines against the row of their configuration below them."""
    rows = sorted(measured_rows([document]), key=lambda row: row.line)
    quotes = [row for row in document.rows if row.origin == "quote"]
    linked, orphans = 0, []
    for quote in quotes:
        stated = {name: getattr(quote, name) for name in FIELDS}
        close = [row for row in rows if row.line > quote.line and compatible(stated, row, 4)]
        shared = [row for row in close if _common(row, quote)]
        if not shared:
            orphans.append(quote)
        elif any(not _differs(quote, row) for row in shared):
            linked += 1
        else:
            yield _misquoted(shared[0], quote)
    if orphans and linked:
        yield RULE.finding(
            "quotes",
            tuple(row.at() for row in orphans),
            number=len(orphans),
            total=len(quotes),
            orphans=orphans,
        )


def _common(first: Row, second: Row) -> bool:
    return any(name in first.printed and name in second.printed for name in _METRICS)


def _misquoted(row: Row, quote: Row) -> Finding:
    names = _differs(quote, row)
    differences = ", ".join(
        f"{name} {quote.printed[name].raw} in the line and "
        f"{row.printed[name].raw or row.printed[name].value} in the table"
        for name in names
    )
    return RULE.finding(
        "misquoted",
        tuple(row.at(_CELL.get(name, name)) for name in names),
        quote=quote,
        differences=differences,
        fix=", ".join(f"{_TITLES[name]} {quote.printed[name].raw}" for name in names),
    )


_TITLES = {"step_time_s": "Sec/it", "tflops": "TFLOPs", "memory": "Mem"}


def measured_rows(documents: Sequence[Document]) -> Iterator[Row]:
    """The rows of tables that are measurements, with valid cells."""
    for document in documents:
        for row in document.rows:
            if row.origin == "row" and not row.invalid and row.kind == "measured":
                yield row


def compatible(stated: Mapping[str, object], row: Row, least: int) -> bool:
    """Whether two sources state equal values, and at least so many common fields."""
    both = [
        (value, getattr(row, name))
        for name, value in stated.items()
        if value is not None and getattr(row, name) is not None
    ]
    return len(both) >= least and all(one == other for one, other in both)
