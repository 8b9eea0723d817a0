"""R12: one run in two places: documents, quoted log lines and logs against each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from ..book import Book, Document, Row
from ..finding import Finding, Place
from ..rule import Rule

_FIELDS = ("nodes", "devices", "world", "dp", "tp", "pp", "cp", "mbs", "gbs", "seq_len", "layers",
           "hidden", "heads", "recompute", "zero_stage")  # fmt: skip
_METRICS = ("step_time_s", "tflops", "memory")
_STRONG = 5  # digits of a number that two rows do not share by chance
_FAR = 0.02  # what a table may be off the median of its log
_QUERY = """SELECT c.run_id, c.uri, c.line, coalesce(c.nodes_stated, c.nodes), c.devices_stated,
        c.world_size, c.dp, c.tp, c.pp, c.cp, c.mbs, coalesce(c.gbs, c.gbs_logged::INTEGER),
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
    """Rows that another document, a quoted line or a log tells otherwise."""
    yield from _documents(book)
    for document in book.documents:
        yield from _quotes(document)
    yield from _logs(book)


def _documents(book: Book) -> Iterator[Finding]:
    """Rows of two documents that agree in set-up and in some long number, but not in all."""
    seen: dict[Hashable, list[Row]] = {}
    shared: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for row in _rows(book.documents):
        for name in _METRICS:
            number = row.printed.get(name)
            if number is None or number.digits < _STRONG:
                continue
            others = seen.setdefault((_setup(row), name, number.value), [])
            for other in others:
                if other.uri != row.uri:
                    shared.setdefault((other.uri, row.uri), []).append((other, row))
            others.append(row)
    for pairs in shared.values():
        unique = list({(id(a), id(b)): (a, b) for a, b in pairs}.values())
        same = [pair for pair in unique if not _differs(*pair)]
        for first, second in unique:
            if names := _differs(first, second):
                yield _stale(first, second, names)
        if same:
            yield _shared(same)


def _setup(row: Row) -> Hashable:
    names = ("nodes", "devices", "dp", "tp", "pp", "mbs", "gbs")
    return (row.params_b, *(getattr(row, name) for name in names), row.env)


def _differs(first: Row, second: Row) -> list[str]:
    """The metrics that both print, and otherwise."""
    return [
        name
        for name in _METRICS
        if name in first.printed
        and name in second.printed
        and not first.printed[name].either.meets(second.printed[name].either)
    ]


def _stale(first: Row, second: Row, names: Sequence[str]) -> Finding:
    told = ", ".join(
        f"{name} {first.printed[name].raw or first.printed[name].value} and "
        f"{second.printed[name].raw or second.printed[name].value}"
        for name in names
    )
    return Finding(
        ("R12",),
        "warning",
        "medium",
        "two documents tell one run differently",
        f"{first.uri} l.{first.line} and {second.uri} l.{second.line} agree in set-up and in "
        f"another number to the last digit, but: {told}",
        tuple(row.at(_CELL.get(name, name)) for row in (first, second) for name in names),
        "one of them is an older copy",
    )


_CELL = {"step_time_s": "step_time", "memory": "mem"}


def _shared(pairs: Sequence[tuple[Row, Row]]) -> Finding:
    first, second = pairs[0]
    lines = ", ".join(f"l.{b.line} = l.{a.line}" for a, b in pairs)
    return Finding(
        ("R12",),
        "note",
        "high",
        "rows that another document has too",
        f"{second.uri} and {first.uri}: {lines}",
        tuple(b.at() for _, b in pairs),
        "count each once",
    )


def _rows(documents: Sequence[Document]) -> Iterator[Row]:
    for document in documents:
        for row in document.rows:
            if row.origin == "row" and not row.misfits and row.kind == "measured":
                yield row


def _compatible(stated: dict[str, object], row: Row, least: int) -> bool:
    """Whether nothing that both state differs, and so many fields are stated by both."""
    both = [
        (value, getattr(row, name))
        for name, value in stated.items()
        if value is not None and getattr(row, name) is not None
    ]
    return len(both) >= least and all(one == other for one, other in both)


def _quotes(document: Document) -> Iterator[Finding]:
    """Quoted log lines against the row below them that is of their set-up."""
    rows = sorted(_rows([document]), key=lambda row: row.line)
    quotes = [row for row in document.rows if row.origin == "quote"]
    linked, orphans = 0, []
    for quote in quotes:
        stated = {name: getattr(quote, name) for name in _FIELDS}
        close = [row for row in rows if row.line > quote.line and _compatible(stated, row, 4)]
        shared = [row for row in close if _common(row, quote)]
        if not shared:
            orphans.append(quote)
        elif any(not _differs(quote, row) for row in shared):
            linked += 1
        else:
            yield _misquoted(shared[0], quote)
    if orphans and linked:
        yield Finding(
            ("R12",),
            "note",
            "low",
            "quoted log lines that no table has",
            f"{len(orphans)} of {len(quotes)}, from l.{orphans[0].line} on; the others stand in "
            "tables too",
            tuple(row.at() for row in orphans),
        )


def _common(first: Row, second: Row) -> bool:
    return any(name in first.printed and name in second.printed for name in _METRICS)


def _misquoted(row: Row, quote: Row) -> Finding:
    names = _differs(quote, row)
    told = ", ".join(
        f"{name} {quote.printed[name].raw} in the line and "
        f"{row.printed[name].raw or row.printed[name].value} in the table"
        for name in names
    )
    return Finding(
        ("R12",),
        "warning",
        "medium",
        "a table has other numbers than the log line quoted above it",
        f"l.{quote.line} has the set-up of this row: {told}",
        tuple(row.at(_CELL.get(name, name)) for name in names),
        ", ".join(f"{_TITLES[name]} {quote.printed[name].raw}" for name in names),
    )


_TITLES = {"step_time_s": "Sec/it", "tflops": "TFLOPs", "memory": "Mem"}


def _logs(book: Book) -> Iterator[Finding]:
    """Rows whose set-up is that of one log alone."""
    logs = [
        Logged(
            run,
            uri,
            line,
            dict(zip(_FIELDS, rest[: len(_FIELDS)], strict=True)),
            *rest[len(_FIELDS) :],
        )
        for run, uri, line, *rest in book.warehouse.rows(_QUERY)
    ]
    by_size: dict[Hashable, list[Logged]] = {}
    for log in logs:
        by_size.setdefault((log.stated["tp"], log.stated["pp"]), []).append(log)
    for row in _rows(book.documents) if logs else ():
        if row.time is None or "averaged" in row.flags:
            continue
        near = by_size.get((row.tp, row.pp), []) if row.tp and row.pp else logs
        found = [log for log in near if _compatible(log.stated, row, 6)]
        if len(found) == 1:
            yield from _against(row, found[0])


def _against(row: Row, log: Logged) -> Iterator[Finding]:
    assert row.time is not None, "rows with a time are asked"
    shown, low, high = (
        row.time.raw or f"{row.time.value:g}",
        row.time.either.low,
        row.time.either.high,
    )
    if low <= log.median * (1 + _FAR) and high >= log.median * (1 - _FAR):
        return
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
    115,
    "One run in two places",
    "rows of two documents that share set-up and a long number agree in all numbers; quoted log "
    "lines stand in the tables; a row with the set-up of one log has its median",
    "printed digits between documents; 2% around the median of a log, whose set-up agrees in six "
    "stated fields or more; the fastest interval alone is a warning of its own",
    "warning",
    check,
)
