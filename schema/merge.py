"""Merge of another warehouse: its tables alone, nothing twice, in one transaction.

The other file is untrusted: it is opened read-only on a connection confined to it, and only its
base tables are read, never a view. Its ids depend on paths that may be ours too, so each is made
anew from the name of the group and the id. Hidden sources, derived tables (findings, links,
superseded steps) and older states of its sources are not merged: they are derived here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from .commits import repeated
from .connect import attach, explain
from .errors import Incompatible
from .migrate import now_utc
from .opening import open_read, open_write
from .sql import tables
from .warehouse import Warehouse, transaction

_IDS = frozenset(("load_id", "run_id", "table_id", "source_id", "part_id", "chain_id"))
# Tables derived anew, or valid only at their origin; `loads` and `parts` are merged by hand.
_LEFT = frozenset((
    "loads", "parts", "hidden", "stamps", "checkpoints", "audits", "findings", "closings",
    "fact_sets", "link_sets", "links", "redone", "told",
))  # fmt: skip
_ID = "substr(sha256(concat_ws(chr(31), 'merged', $group, {})), 1, 12)"
_CURRENT = f"""CREATE TEMP TABLE theirs AS
    WITH newest AS (
        FROM other.raw.loads WHERE uri NOT IN (
            SELECT id FROM other.raw.hidden WHERE scope = 'uri'
            GROUP BY id HAVING max_by(hidden, hidden_at))
        QUALIFY row_number() OVER (
            PARTITION BY uri ORDER BY generation DESC, loaded_at DESC, load_id) = 1
    ), known AS (
        SELECT sha256, min(load_id) AS load_id, min_by(source_id, load_id) AS source_id
        FROM current_uris GROUP BY sha256
    )
    SELECT n.* EXCLUDE (uri, generation), $group || '/' || n.uri AS uri,
        coalesce(k.load_id, {_ID.format("n.load_id")}) AS as_load,
        coalesce(k.source_id, {_ID.format("n.source_id")}) AS as_source, k.load_id IS NULL AS is_new
    FROM newest n LEFT JOIN known k USING (sha256)"""
# A row for each load, and for each part of a growing log, whose rows are missing here.
_ROWS = f"""CREATE TEMP TABLE moved AS
    WITH wanted AS (
        SELECT load_id FROM theirs WHERE is_new
        UNION
        SELECT p.part_id FROM theirs t JOIN other.raw.parts n ON n.load_id = t.load_id
        JOIN other.raw.parts p ON p.chain_id = n.chain_id AND p.number <= n.number
        WHERE t.is_new
    )
    SELECT load_id, {_ID.format("load_id")} AS as_load FROM wanted
    WHERE as_load NOT IN (SELECT load_id FROM raw.loads UNION SELECT part_id FROM raw.parts)"""
_PARTS = f"""INSERT INTO raw.parts BY NAME
    SELECT {_ID.format("load_id")} AS load_id, {_ID.format("chain_id")} AS chain_id, number,
        {_ID.format("part_id")} AS part_id, from_byte, to_byte
    FROM other.raw.parts WHERE part_id IN (SELECT load_id FROM moved)"""
_NEW_URIS = """SELECT t.uri, t.is_new FROM theirs t
    ANTI JOIN current_uris u ON u.uri = t.uri AND u.sha256 = t.sha256 ORDER BY t.uri"""
_LOADS = """INSERT INTO raw.loads BY NAME
    SELECT t.uri, 1 + coalesce((SELECT max(generation) FROM raw.loads l WHERE l.uri = t.uri), 0)
            AS generation,
        t.as_load AS load_id, t.as_source AS source_id, t.sha256, t.from_byte, t.to_byte,
        t.parser_version, $now AS loaded_at
    FROM theirs t ANTI JOIN current_uris u ON u.uri = t.uri AND u.sha256 = t.sha256"""
# Annotations of runs are merged as in records: they count, with author and place. For known bytes
# the same line is the same run. Annotations made after the last merge are added by the next one,
# though its source is known.
_STATED = f"""INSERT INTO raw.facts BY NAME
    WITH newest AS (
        SELECT set_id FROM other.raw.fact_sets ORDER BY made_at DESC, set_id LIMIT 1
    ), runs AS (
        SELECT r.run_id, m.as_load, {_ID.format("r.run_id")} AS as_run
        FROM other.raw.runs r JOIN moved m ON m.load_id = r.load_id
        UNION ALL
        SELECT r.run_id, t.as_load, h.run_id
        FROM theirs t JOIN other.raw.runs r ON r.load_id = t.load_id
        JOIN raw.runs h ON h.load_id = t.as_load AND h.line = r.line AND h.origin = r.origin
        WHERE NOT t.is_new
    ), stated AS (
        SELECT DISTINCT r.as_load AS load_id, r.as_run AS run_id, f.field, f.value,
            f.raw, f.author, f.stated_on, 'user' AS scope,
            CASE f.outcome WHEN 'counts' THEN 'user' ELSE 'withdrawn' END AS how,
            $group || '/' || f.file AS file, f.line, f.known_since, f.withdrawn_on
        FROM other.raw.facts f JOIN newest ON f.load_id = newest.set_id JOIN runs r USING (run_id)
        WHERE f.source_kind IN ('facts.toml', 'set', 'path')
            AND f.outcome IN ('counts', 'withdrawn', 'superseded') AND f.field <> 'boundary'
    )
    FROM stated s ANTI JOIN raw.facts k ON k.load_id = s.load_id AND k.run_id = s.run_id
        AND k.field = s.field AND k.value = s.value AND k.how = s.how AND k.raw IN (
            -- Earlier versions kept who and when with the reason.
            s.raw, concat_ws(', ', s.raw, nullif(s.author, ''), s.stated_on::VARCHAR))"""
_MERGES = """INSERT INTO raw.merges SELECT $group, $now
    WHERE $group NOT IN (SELECT group_name FROM raw.merges)"""
# Sources of one name, of which two groups, or a group and this warehouse, have other bytes.
_OTHERWISE = """SELECT DISTINCT t.uri, u.uri FROM theirs t
    JOIN current_uris u ON u.sha256 <> t.sha256 AND u.uri <> t.uri AND (
        u.uri = substr(t.uri, length($group) + 2)
        OR substr(u.uri, 1 + strpos(u.uri, '/')) = substr(t.uri, length($group) + 2))
    WHERE u.uri NOT IN (SELECT uri FROM theirs) ORDER BY ALL"""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Result of one merge, in names of sources; `otherwise` are pairs of one name with different
    bytes."""

    added: tuple[str, ...]
    known: tuple[str, ...]  # other names of known bytes
    unchanged: int  # sources merged from this group before
    otherwise: tuple[tuple[str, str], ...]


@repeated
def merge(db: Path, other: Path, group: str, lock_timeout: float) -> MergeResult:
    """Merge the sources of another warehouse into `db`, each named GROUP/NAME; all or nothing.

    Known bytes are not doubled: they get one more name. Raises Locked, Incompatible for a foreign
    file or a newer version, BenchError.
    """
    with open_read(other, lock_timeout) as read:  # recognised, and of this version
        file = read.path or other  # the replica of a shared place
    with (
        open_write(db, lock_timeout, confined=False) as warehouse,  # until the other is attached
        _attached(warehouse, file),
        transaction(warehouse),
    ):
        try:
            return _merged(warehouse, group)
        except (duckdb.BinderException, duckdb.ConversionException) as error:
            why = str(error).splitlines()[0]
            raise Incompatible(f"{other} is no warehouse of bench", why=why) from error


@contextmanager
def _attached(warehouse: Warehouse, other: Path) -> Iterator[None]:
    """The other file as `other`, read-only; the connection is confined to both from then on."""
    con = warehouse.con
    try:
        attach(con, other, "other", read_only=True)
    except duckdb.Error as error:
        raise explain(error, other) from error
    try:
        warehouse.confine()
        _require_tables(con, other)
        yield
    finally:
        con.execute("DETACH other")


def _require_tables(con: duckdb.DuckDBPyConnection, other: Path) -> None:
    """Raises Incompatible for a view with the name of a table: it may read any file."""
    query = """SELECT table_name FROM duckdb_tables()
               WHERE database_name = 'other' AND schema_name = 'raw'"""
    found = {name for (name,) in con.execute(query).fetchall()}
    if missing := sorted(set(tables()) - found):
        raise Incompatible(f"{other} is no warehouse", why=f"raw.{missing[0]} is no table")


def _merged(warehouse: Warehouse, group: str) -> MergeResult:
    con, given = warehouse.con, {"group": group}
    for query in (_CURRENT, _ROWS):
        con.execute(query, given)
    new = con.execute(_NEW_URIS).fetchall()
    [(every,)] = con.execute("SELECT count(*) FROM theirs").fetchall()
    otherwise = con.execute(_OTHERWISE, given).fetchall()
    for table, columns in tables().items():
        if "load_id" in columns and table not in _LEFT:
            con.execute(
                _copy(table, list(columns)), given if _IDS & {*columns} != {"load_id"} else {}
            )
    con.execute(_PARTS, given)
    con.execute(_STATED, given)
    con.execute(_LOADS, {"now": now_utc()})
    con.execute(_MERGES, given | {"now": now_utc()})
    for table in ("theirs", "moved"):
        con.execute(f"DROP TABLE {table}")
    added = tuple(uri for uri, is_new in new if is_new)
    known = tuple(uri for uri, is_new in new if not is_new)
    return MergeResult(added, known, every - len(new), tuple(otherwise))


def _copy(table: str, columns: list[str]) -> str:
    """The rows of the merged loads, with ids of this warehouse; without annotations."""
    made = [
        "m.as_load AS load_id" if name == "load_id"
        else f"CASE WHEN o.{name} IS NOT NULL THEN {_ID.format(f'o.{name}')} END AS {name}"
        if name in _IDS
        else f'o."{name}"'
        for name in columns
    ]  # fmt: skip
    return f"""INSERT INTO raw.{table} BY NAME SELECT {", ".join(made)}
               FROM other.raw.{table} o JOIN moved m ON m.load_id = o.load_id"""
