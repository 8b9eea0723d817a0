"""Integrity of a warehouse file: its blocks, ledger, rows, counts, views, and secrets in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from ..vocabulary.secrets import REDACTED, is_secret_name, redact, redact_json, redact_text
from .connect import explain
from .definitions import defined, others
from .errors import BenchError
from .materialized import STORED, materialize, views_are_stored
from .migrate import STORED_VIEWS, VIEWS, views_digest
from .sql import tables
from .warehouse import Warehouse

_SHOWN = 5  # problems of one kind that are listed
_OF_RUNS = ("topology", "env_flags", "measurements", "iterations", "timers", "memory", "run_stats")


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the number of items, and the problems found."""

    name: str
    rows: int
    problems: tuple[str, ...] = ()


def check(warehouse: Warehouse, *, deep: bool = False, views: bool = True) -> list[Check]:
    """Every check of a file that opens; `deep` reads every block and computes views.

    Views are then compared with the stored tables, unless the views are foreign and so not run. A
    query that fails on a damaged block is a problem of its check, not an error.
    """
    checks: list[tuple[str, Callable[[Warehouse], tuple[int, list[str]]]]] = [
        ("ledger", _ledger), ("rows", _rows), ("runs", _runs), ("iterations", _iterations),
        ("line counts", _lines), ("views", _views),
    ]  # fmt: skip
    if deep:
        checks += [("blocks", _blocks)]
        checks += [("stored views", _stored_views)] if views else []
    return [_checked(warehouse, name, one) for name, one in checks]


def check_place(warehouse: Warehouse) -> list[Check]:
    """Check the files of a shared place; nothing for a warehouse that is a file."""
    if not warehouse.replica:
        return []
    return [Check("files", *_listed(*warehouse.replica.place.check()))]


def _listed(files: int, problems: list[str]) -> tuple[int, tuple[str, ...]]:
    left = len(problems) - _SHOWN
    more = (f"{left} more of the same kind",) if left > 0 else ()
    return files, (*problems[:_SHOWN], *more)


def _checked(
    warehouse: Warehouse, name: str, one: Callable[[Warehouse], tuple[int, list[str]]]
) -> Check:
    try:
        rows, problems = one(warehouse)
    except duckdb.Error as error:
        rows, problems = 0, [explain(error, warehouse.path).why]
    except BenchError as error:
        rows, problems = 0, [error.why or error.what]
    return Check(name, rows, tuple(problems))


def _ledger(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Each load in the ledger has a source, and a place in the order of its uri."""
    [(rows,)] = warehouse.rows("SELECT count(*) FROM raw.loads")
    missing = """SELECT uri || ' generation ' || generation || ': its rows are missing'
        FROM raw.loads WHERE load_id NOT IN (SELECT load_id FROM raw.sources) ORDER BY ALL"""
    twice = """SELECT uri || ' generation ' || generation || ' is there ' || count(*) || ' times'
        FROM raw.loads GROUP BY uri, generation HAVING count(*) > 1 ORDER BY ALL"""
    gaps = """SELECT uri || ': a generation before ' || max(generation) || ' is missing'
        FROM raw.loads GROUP BY uri
        HAVING count(DISTINCT generation) <> max(generation) ORDER BY ALL"""
    return rows, [*_texts(warehouse, missing), *_texts(warehouse, twice), *_texts(warehouse, gaps)]


def _rows(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Every row belongs to a load in the ledger, to a part of one, or to a set of annotations."""
    known = """(SELECT load_id FROM raw.loads UNION ALL SELECT part_id FROM raw.parts
                UNION ALL SELECT set_id FROM raw.fact_sets)"""
    total, problems = 0, []
    for table, columns in tables().items():
        if "load_id" not in columns or table == "loads":
            continue
        query = f"SELECT count(*), count(*) FILTER (load_id NOT IN {known}) FROM raw.{table}"
        [(rows, stray)] = warehouse.rows(query)
        total += rows
        problems += [f"raw.{table}: {stray} rows of no load"] if stray else []
    return total, problems


def _runs(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Run ids are unique within a load, and rows about runs are about known runs."""
    [(rows,)] = warehouse.rows("SELECT count(*) FROM raw.runs")
    twice = """SELECT 'run ' || run_id || ' is there ' || count(*) || ' times in load ' || load_id
        FROM raw.runs GROUP BY load_id, run_id HAVING count(*) > 1 ORDER BY ALL"""
    problems = list(_texts(warehouse, twice))
    for table in _OF_RUNS:
        query = f"""SELECT count(*) FROM raw.{table}
                    WHERE run_id NOT IN (SELECT run_id FROM raw.runs)"""
        [(stray,)] = warehouse.rows(query)
        problems += [f"raw.{table}: {stray} rows of no run"] if stray else []
    return rows, problems


def _iterations(warehouse: Warehouse) -> tuple[int, list[str]]:
    """No line of a log is stored twice."""
    [(rows,)] = warehouse.rows("SELECT count(*) FROM raw.iterations")
    twice = """SELECT 'run ' || run_id || ' line ' || line || ' is there ' || count(*) || ' times'
        FROM raw.iterations GROUP BY load_id, run_id, segment, iteration, line
        HAVING count(*) > 1 ORDER BY ALL"""
    return rows, list(_texts(warehouse, twice))


def _lines(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Lines read, skipped and unread add up to the lines of a log."""
    [(rows,)] = warehouse.rows("SELECT count(*) FROM raw.sources")
    wrong = """SELECT 'load ' || load_id || ': ' || lines || ' lines, but '
            || (lines_read + lines_known + lines_unread) || ' counted'
        FROM raw.sources WHERE kind = 'log' AND lines <> lines_read + lines_known + lines_unread
        ORDER BY ALL"""
    return rows, list(_texts(warehouse, wrong))


def _views(warehouse: Warehouse) -> tuple[int, list[str]]:
    """The views are those of this version: others may show values that no source states."""
    [(number,)] = warehouse.rows("""SELECT count(*) FROM duckdb_views()
        WHERE database_name = 'wh' AND schema_name = 'main' AND NOT internal""")
    [(made,)] = warehouse.rows(f"SELECT max(sha256) FROM raw.applied WHERE number = {VIEWS}")
    if views_digest() not in (made or ""):  # of a newer release, left alone
        return int(number), []
    return int(number), warehouse.remade + others(defined(warehouse.con))


def _blocks(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Every value can be read; DuckDB compares each block with its checksum."""
    total, problems = 0, []
    for table in tables():
        try:
            query = f"SELECT count(*), bit_xor(hash(one)) FROM raw.{table} one"
            [(rows, _)] = warehouse.rows(query)
            total += rows
        except (duckdb.Error, BenchError) as error:
            reason = error.why if isinstance(error, BenchError) else str(error).splitlines()[0]
            problems.append(f"raw.{table}: {reason}")
    return total, problems


def _stored_views(warehouse: Warehouse) -> tuple[int, list[str]]:
    """Stored views equal the views as computed now."""
    if not views_are_stored(warehouse):
        return 0, []
    total, problems = 0, []
    warehouse.stored = ()  # or they would be read instead of computed
    materialize(warehouse, *STORED)
    for view in STORED:
        stored, computed = f"FROM {STORED_VIEWS}.{view}", f"FROM temp.main.{view}"
        [(rows, other)] = warehouse.rows(
            f"""SELECT (SELECT count(*) {stored}),
                       (SELECT count(*) FROM (({stored} EXCEPT ALL {computed})
                        UNION ALL ({computed} EXCEPT ALL {stored})))"""
        )
        total += rows
        problems += [f"{view}: {other} rows differ (bench db rebuild)"] if other else []
    warehouse.release()
    warehouse.stored = None
    return total, problems


def _texts(warehouse: Warehouse, query: str) -> Iterator[str]:
    """The first texts of a query's result, and the number of further ones."""
    found = [text for (text,) in warehouse.rows(query)]
    yield from found[:_SHOWN]
    if len(found) > _SHOWN:
        yield f"{len(found) - _SHOWN} more of the same kind"


_LINES = ("line", "status_line", "header_line")
_NAMES = ("name", "field")  # columns with the name of the value in `value` and `raw`
# Ids, our own words, and numbers as text of steps: none is a source's own text.
_OURS = frozenset(("load_id", "source_id", "run_id", "table_id", "audit_id", "sha256", "set_id"))


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The place of a secret, without its text."""

    uri: str
    line: int | None
    table: str
    column: str
    count: int


def stored_secrets(warehouse: Warehouse) -> list[StoredSecret]:
    """Every text of the raw tables with a match of the present patterns."""
    found: Counter[tuple[str, str, str, int | None]] = Counter()
    for table, columns in tables().items():
        texts = [
            name
            for name, column in columns.items()
            if "VARCHAR" in column.type and name not in _OURS
        ]
        if "load_id" not in columns or not texts:
            continue
        for load, line, column in _of_table(warehouse, table, list(columns), texts):
            found[load, table, column, line] += 1
    uris: dict[str, str] = dict(
        warehouse.rows("SELECT load_id, min(uri) FROM raw.loads GROUP BY ALL")
    )
    parts = """SELECT part_id, min(uri) FROM raw.parts JOIN raw.loads USING (load_id)
               GROUP BY ALL"""
    uris |= dict(warehouse.rows(parts))
    return sorted(
        (
            StoredSecret(uris.get(load, load), line, table, column, count)
            for (load, table, column, line), count in found.items()
        ),
        key=lambda one: (one.uri, one.line or 0, one.table, one.column),
    )


def _of_table(
    warehouse: Warehouse, table: str, columns: list[str], texts: list[str]
) -> Iterator[tuple[str, int | None, str]]:
    """Load, line and column of each text with a secret."""
    line = next((name for name in _LINES if name in columns), "NULL::BIGINT")
    name = next((name for name in _NAMES if name in columns), "NULL::VARCHAR")
    listed = ", ".join(f"{text}::VARCHAR" for text in texts)
    # Each text once: steps and timers print the same ones thousands of times.
    query = f"""SELECT load_id, min({line}), {name}, {listed} FROM raw.{table}
                GROUP BY load_id, {name}, {listed} ORDER BY ALL"""
    for load, first, named, *values in warehouse.rows(query):
        for column, value in zip(texts, values, strict=True):
            if value is not None and _has_secret(column, named, value):
                yield load, first, column


def _has_secret(column: str, name: str | None, value: str) -> bool:
    if name and column in ("value", "raw") and is_secret_name(name):
        return redact(name, value) != value
    clean = redact_json(value) if column == "pieces" else redact_text(value)
    return REDACTED in clean and clean != value
