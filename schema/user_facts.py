"""What users state beside the sources: in files, with --set, of paths; brought to the runs."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from .migrate import now_utc
from .tellable import same, tellable
from .warehouse import Warehouse, transaction

FINDING, BOUNDARY = "finding", "boundary"
# Where a fact was stated, the strongest first.
FILE, SET, BUNDLE, PATH = "facts.toml", "set", "bundle", "path"
COUNTS, AGREES, CONTRADICTS, OUTVOTED = "counts", "agrees", "contradicts", "outvoted"
_COLUMNS = ("set_id", "run_id", "field", "value", "file", "line", "reason", "author", "stated_on",
            "origin", "outcome", "stated")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match:
    """What a fact is about; what is None is not asked. `file` is a pattern or how a name begins."""

    file: str | None = None
    lines: tuple[int, ...] = ()
    table: int | None = None
    model: str | None = None
    run: str | None = None
    rule: str | None = None
    sha256: str | None = None  # of the source's bytes, or how it begins
    source: str | None = None  # the id of a source
    uri: str | None = None  # the very path of a source

    def names(self, uri: str) -> bool:
        """Whether it is about a source, as far as its path tells."""
        if self.uri is not None:
            return self.uri == uri
        if self.file is None:
            return True
        last = uri.rsplit("/", 1)[-1]
        exact = self.file in (uri, last, last.rsplit(".", 1)[0])
        return exact or fnmatchcase(uri, self.file) or last.startswith(self.file)


@dataclass(frozen=True, slots=True)
class UserFact:
    """One statement, and where it stands."""

    match: Match
    field: str
    value: str
    reason: str
    author: str
    date: date | None
    file: str = FILE
    line: int = 1
    origin: str = FILE

    @property
    def signed(self) -> str:
        """The reason, with who gave it and when."""
        when = self.date.isoformat() if self.date else ""
        by = ", ".join(filter(None, (self.author, when)))
        return f"{self.reason} ({by})" if by else self.reason


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as facts name it."""

    run_id: str
    source_id: str
    line: int
    table: int | None
    size: str | None
    day: str | None


@dataclass(slots=True)
class _Runs:
    """Every run, by the source that it stands in."""

    of_source: dict[str, list[_Run]] = field(default_factory=lambda: defaultdict(list))
    sources: dict[str, tuple[list[str], str]] = field(default_factory=dict)  # paths, sha256

    def about(self, fact: UserFact) -> Iterator[_Run]:
        """The runs that a fact is about, whatever lines it names."""
        match = fact.match
        for source in [match.source] if match.source else self.sources:
            uris, sha256 = self.sources.get(source, ([], ""))
            if any(map(match.names, uris)) and sha256.startswith(match.sha256 or ""):
                yield from (run for run in self.of_source[source] if _is_about(match, run))


def digest(facts: Sequence[UserFact]) -> str:
    """What tells one set of facts from another."""
    return hashlib.sha256(repr(tuple(facts)).encode()).hexdigest()[:16]


def store_facts(warehouse: Warehouse, facts: Sequence[UserFact]) -> bool:
    """Store the facts about runs as the newest set; False when that is what is stored.

    Of several on one column of a run the first counts. Facts of runs that are not there yet are
    stored once these are: this is called after an ingest.
    """
    rows, set_id = _set(warehouse, facts)
    if set_id in _newest(warehouse):
        return False
    with transaction(warehouse):
        known = warehouse.rows("SELECT 1 FROM raw.user_facts WHERE set_id = ? LIMIT 1", [set_id])
        warehouse.con.execute("INSERT INTO raw.fact_sets VALUES (?, ?)", [set_id, now_utc()])
        if rows and not known:
            _insert(warehouse, [(set_id, *row) for row in rows])
    return True


def is_stored(warehouse: Warehouse, facts: Sequence[UserFact]) -> bool:
    """Whether the newest set says what these facts say of the runs that are there."""
    return _set(warehouse, facts)[1] in _newest(warehouse)


def contradictions(warehouse: Warehouse, uris: Sequence[str] | None = None) -> list[str]:
    """What users tell of sources (of `uris`, if given) and does not count, one sentence each."""
    if not warehouse.rows("FROM raw.user_facts LIMIT 1"):
        return []
    query = """SELECT r.uri, min(r.line), u.field, u.value, u.stated, u.outcome, u.file, u.line,
                      u.origin, count(*)
               FROM beside u JOIN runs r ON r.run_id = u.run_id
               WHERE u.outcome IN ('contradicts', 'outvoted')
                   AND ($all OR r.uri IN (SELECT unnest($uris::VARCHAR[])))
               GROUP BY ALL ORDER BY ALL"""
    found = warehouse.rows(query, {"all": uris is None, "uris": list(uris or ())})
    return [
        f"{uri}:{line}: {file if origin == SET else f'{file}:{at}'} "
        f"{'states' if origin == BUNDLE else 'tells'} {name} = {value}, but "
        + (f"the source states {said}" if outcome == CONTRADICTS else "it is told elsewhere")
        + f": {said} counts"
        + (f" ({runs} runs)" if runs > 1 else "")
        for uri, line, name, value, said, outcome, file, at, origin, runs in found
    ]


def _insert(warehouse: Warehouse, rows: Sequence[tuple[Any, ...]]) -> None:
    import pyarrow as pa  # what is stored stays so mostly

    types = {"line": pa.int64(), "stated_on": pa.date32()}
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(values, types.get(name, pa.string()))
        for name, values in zip(_COLUMNS, columns, strict=True)
    ]
    warehouse.con.register("incoming", pa.table(arrays, names=list(_COLUMNS)))
    try:
        warehouse.con.execute("INSERT INTO raw.user_facts BY NAME SELECT * FROM incoming")
    finally:
        warehouse.con.unregister("incoming")


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
    runs = _runs(warehouse)
    stated = stated_columns(warehouse, {fact.field for fact in asked} & set(tellable()))
    counting: dict[tuple[str, str], str] = {}
    for fact in asked:
        for run in runs.about(fact):
            if fact.field == BOUNDARY:
                value = _boundary(fact, run.line, run.day)
                if value is not None:
                    yield _row(run, fact, value, COUNTS, None)
                continue
            if fact.match.lines and run.line not in fact.match.lines:
                continue
            key = run.run_id, fact.field
            said = stated.get(key)
            if said is not None:
                outcome = AGREES if same(fact.field, said, fact.value) else CONTRADICTS
            elif key in counting:
                said = counting[key]
                if same(fact.field, said, fact.value):
                    continue
                outcome = OUTVOTED
            else:
                counting[key], outcome = fact.value, COUNTS
            yield _row(run, fact, fact.value, outcome, said)


def _row(
    run: _Run, fact: UserFact, value: str, outcome: str, stated: str | None
) -> tuple[Any, ...]:
    return (run.run_id, fact.field, value, fact.file, fact.line, fact.reason, fact.author,
            fact.date, fact.origin, outcome, stated)  # fmt: skip


def _runs(warehouse: Warehouse) -> _Runs:
    # The size as the source alone tells it: else a fact could change what it is about.
    query = """SELECT r.run_id, r.source_id, r.line, t.number, coalesce(
                   size_label(coalesce(r.params_b, label_params_b(r.model))),
                   short_size(coalesce(r.params_stated, CASE
                       WHEN NOT coalesce(r.swiglu, false)
                           AND coalesce(r.ffn_hidden = 4 * r.hidden::BIGINT, true)
                       THEN p1(r.layers, r.hidden,
                               coalesce(r.vocab, v1(50257, coalesce(o.tp, 1))), r.seq_len) END))),
                   r.date
               FROM runs r LEFT JOIN topology o USING (run_id)
               LEFT JOIN tables t ON t.table_id = r.table_id ORDER BY r.uri, r.line, r.run_id"""
    found = _Runs()
    for row in warehouse.rows(query):
        run = _Run(*row)
        found.of_source[run.source_id].append(run)
    named = "SELECT source_id, uris, sha256 FROM sources ORDER BY uri"
    found.sources = {source: (uris, sha256) for source, uris, sha256 in warehouse.rows(named)}
    return found


def stated_columns(warehouse: Warehouse, names: Iterable[str]) -> Mapping[tuple[str, str], str]:
    """What sources state of these columns, as text; a batch that a log prints counts too."""
    chosen = sorted(names)
    if not chosen:
        return {}
    special = {
        "params_b": "coalesce(r.params_b, label_params_b(r.model))",
        "gbs": r"regexp_replace(coalesce(t.gbs, g.median)::VARCHAR, '\.0$', '')",
    }
    columns = ", ".join(f"({special.get(name, name)})::VARCHAR" for name in chosen)
    query = f"""SELECT r.run_id, {columns} FROM runs r LEFT JOIN topology t USING (run_id)
                LEFT JOIN run_stats g ON g.run_id = r.run_id AND g.metric = 'gbs'"""
    return {
        (run_id, name): value
        for run_id, *values in warehouse.rows(query)
        for name, value in zip(chosen, values, strict=True)
        if value is not None
    }


def _is_about(match: Match, run: _Run) -> bool:
    if match.run and not run.run_id.startswith(match.run):
        return False
    if match.table is not None and match.table != run.table:
        return False
    return match.model is None or match.model.casefold() == str(run.size).casefold()


def _boundary(fact: UserFact, line: int, day: str | None) -> str | None:
    """`since|at|place|text`: on which side of the change a run stands; None where nobody knows."""
    if fact.match.lines:
        at = fact.match.lines[0]
        side, place = ("since" if line > at else "before"), f"l.{at}"
    else:
        known = day_of(day, fact.date) if fact.date else None
        if known is None or fact.date is None:
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
