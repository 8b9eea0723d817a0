"""What users state beside the sources: read from facts.toml, stored with the runs it is about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from .migrate import now_utc
from .warehouse import Warehouse, transaction

# Columns of a run that a user may state where the source is silent.
COLUMNS = (
    "device", "dtype", "recompute", "framework", "layers", "hidden", "heads", "seq_len", "vocab",
    "gbs", "devices_per_node", "procs_per_node",
)  # fmt: skip
FINDING, BOUNDARY = "finding", "boundary"
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Match:
    """What a fact is about; what is None is not asked. `file` is a pattern or how a name begins."""

    file: str | None = None
    lines: tuple[int, ...] = ()
    table: int | None = None
    model: str | None = None
    run: str | None = None
    rule: str | None = None

    def names(self, uri: str) -> bool:
        """Whether it is about a source."""
        if self.file is None:
            return True
        last = uri.rsplit("/", 1)[-1]
        exact = self.file in (uri, last, last.rsplit(".", 1)[0])
        return exact or fnmatchcase(uri, self.file) or last.startswith(self.file)


@dataclass(frozen=True, slots=True)
class UserFact:
    """One entry of a file of facts, and where it stands."""

    match: Match
    field: str
    value: str
    reason: str
    author: str
    date: date
    file: str = "facts.toml"
    line: int = 1

    @property
    def signed(self) -> str:
        """The reason, with who gave it and when."""
        return f"{self.reason} ({self.author}, {self.date.isoformat()})"


def digest(facts: Sequence[UserFact]) -> str:
    """What tells one set of facts from another."""
    return hashlib.sha256(repr(tuple(facts)).encode()).hexdigest()[:16]


def store_facts(warehouse: Warehouse, facts: Sequence[UserFact]) -> bool:
    """Store the facts about runs as the newest set; False when that is what is stored.

    Facts of runs that are not there yet are stored once these are: this is called after an ingest.
    """
    rows, set_id = _set(warehouse, facts)
    if set_id in _newest(warehouse):
        return False
    with transaction(warehouse):
        known = warehouse.rows("SELECT 1 FROM raw.user_facts WHERE set_id = ? LIMIT 1", [set_id])
        warehouse.con.execute("INSERT INTO raw.fact_sets VALUES (?, ?)", [set_id, now_utc()])
        if rows and not known:
            marks = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
            warehouse.con.executemany(
                f"INSERT INTO raw.user_facts VALUES {marks}", [[set_id, *row] for row in rows]
            )
    return True


def is_stored(warehouse: Warehouse, facts: Sequence[UserFact]) -> bool:
    """Whether the newest set says what these facts say of the runs that are there."""
    return _set(warehouse, facts)[1] in _newest(warehouse)


def _set(warehouse: Warehouse, facts: Sequence[UserFact]) -> tuple[list[tuple[Any, ...]], str]:
    rows = sorted(set(_rows(warehouse, facts)), key=str)
    return rows, hashlib.sha256(repr(rows).encode()).hexdigest()[:16] if rows else ""


def _newest(warehouse: Warehouse) -> list[str]:
    """The id of the newest set; '' where nobody ever stated anything."""
    query = "SELECT set_id FROM raw.fact_sets ORDER BY made_at DESC, set_id LIMIT 1"
    return [set_id for (set_id,) in warehouse.rows(query)] or [""]


def _rows(warehouse: Warehouse, facts: Sequence[UserFact]) -> Iterator[tuple[Any, ...]]:
    asked = [fact for fact in facts if fact.field != FINDING]
    if not asked:
        return
    query = """SELECT r.run_id, r.uri, r.line, t.number, r.size, r.date
               FROM configurations r LEFT JOIN tables t ON t.table_id = r.table_id"""
    runs = warehouse.rows(query)
    seen: set[tuple[str, str]] = set()  # of two facts on one column the first counts
    for fact in asked:
        about = [run for run in runs if _about(fact, run)]
        for run_id, _, line, *_, day in about:
            value = _boundary(fact, line, day) if fact.field == BOUNDARY else fact.value
            if value is not None and (fact.field == BOUNDARY or (run_id, fact.field) not in seen):
                seen.add((run_id, fact.field))
                yield (run_id, fact.field, value, fact.file, fact.line, fact.reason, fact.author,
                       fact.date)  # fmt: skip


def _about(fact: UserFact, run: tuple[Any, ...]) -> bool:
    run_id, uri, line, table, size, _ = run
    match = fact.match
    if not match.names(uri) or (match.run and not run_id.startswith(match.run)):
        return False
    if match.table is not None and match.table != table:
        return False
    if match.model is not None and match.model.casefold() != str(size).casefold():
        return False
    return not match.lines or fact.field == BOUNDARY or line in match.lines


def _boundary(fact: UserFact, line: int, day: str | None) -> str | None:
    """`since|at|place|text`: on which side of the change a run stands; None where nobody knows."""
    if fact.match.lines:
        at = fact.match.lines[0]
        side, place = ("since" if line > at else "before"), f"l.{at}"
    else:
        known = day_of(day, fact.date)
        if known is None:
            return None
        at, place = fact.date.toordinal(), fact.date.isoformat()
        side = "since" if known >= fact.date else "before"
    return f"{side}|{at}|{place}|{fact.value}"


def day_of(text: str | None, like: date) -> date | None:
    """A date as tables and logs print it; one without a year is of the year of `like`."""
    if not text:
        return None
    whole = re.match(r"(\d{4})-(\d\d)-(\d\d)", text)
    short = re.match(r"(\d{1,2})[-/](\d{1,2})$", text)
    numbers = [int(part) for part in whole.groups()] if whole else []
    numbers = [like.year, *(int(part) for part in short.groups())] if short else numbers
    try:
        return date(*numbers) if numbers else None
    except ValueError:
        return None
