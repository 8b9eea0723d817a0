"""R12: one run in two places: documents against each other, quoted log lines against tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

from ..book import Book, Document, Row
from ..finding import Finding
from ..rule import Rule
from ..same_run import FIELDS, compatible, measured_rows

_METRICS = ("step_time_s", "tflops", "memory")
_STRONG = 5  # digits of a number that two rows do not share by chance
_SPREAD = 0.02  # of jobs of one set-up: within it any number is as likely
_RARE = 20  # times as many numbers as pairs of rows: one in so many comparisons agrees by chance


def check(book: Book) -> Iterator[Finding]:
    """Rows that another document or a quoted line tells otherwise."""
    yield from _documents(book)
    for document in book.documents:
        yield from _quotes(document)


def _documents(book: Book) -> Iterator[Finding]:
    """Rows of two documents that agree in set-up and in some long number, but not in all."""
    by_setup: dict[Hashable, list[Row]] = {}
    for row in measured_rows(book.documents):
        by_setup.setdefault(_setup(row), []).append(row)
    shared: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for rows in by_setup.values():
        for one, two in _pairs(rows):
            shared.setdefault((one.uri, two.uri), []).append((one, two))
    for pairs in shared.values():
        pairs.sort(key=lambda pair: (pair[1].line, pair[0].line))
        for one, two in pairs:
            if names := _differs(one, two):
                yield _stale(one, two, names)
        if same := [pair for pair in pairs if not _differs(*pair)]:
            yield _shared(same)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Of the rows of one set-up those of two documents that share a number, but not by chance."""
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


def _quotes(document: Document) -> Iterator[Finding]:
    """Quoted log lines against the row below them that is of their set-up."""
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


RULE = Rule(
    "R12",
    115,
    "One run in two places",
    "rows of two documents that share set-up and a long number agree in all numbers; quoted log "
    "lines stand in the tables",
    "printed digits; a number is long where chance would not make one pair of such rows in twenty "
    "agree in it, however often the set-up is repeated",
    "warning",
    check,
)
