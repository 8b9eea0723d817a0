"""Comparison of the views and macros of a warehouse file with those of this program.

The creator of the file controls them: a view may compute without end, even when bound, and a macro
may replace a function of DuckDB. So none runs before all are compared, by their text. Comparing
takes about 50 ms; verified files are remembered in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from ..vocabulary.package_cache import cached, keep, kept_file, read
from .connect import connect_memory, disconnect, explained, outside_cursor
from .errors import Incompatible
from .migrate import STORED_VIEWS, bring_up_to_date, is_newer, is_up_to_date
from .sql import tables
from .template import fill, version
from .write_logs import logs_of

_REMEMBERED = 200  # the newest files
_TABLES_ALONE = {"raw": "raw", "stored": STORED_VIEWS}  # schemas without views
_VIEWS = """SELECT schema_name, view_name, sql FROM duckdb_views()
            WHERE database_name = 'wh' AND NOT internal ORDER BY ALL"""
_MACROS = """SELECT function_name, function_type, parameters, macro_definition,
                 lower(function_name) IN (FROM built_in) AS hides
             FROM functions WHERE database_name = 'wh' AND schema_name = 'main' ORDER BY ALL"""
_FUNCTIONS = f"""
    WITH functions AS MATERIALIZED (
        SELECT database_name, schema_name, function_name, function_type, parameters,
            macro_definition, internal
        FROM duckdb_functions()),
    built_in AS (SELECT lower(function_name) FROM functions WHERE internal)
    {_MACROS}"""
# A computed column or a default is an expression of the file's creator, and a key refuses rows that
# are right; our tables have none.
_NOT_PLAIN = """
    SELECT schema_name || '.' || view_name || ' is no plain table' FROM duckdb_views()
    WHERE database_name = 'wh' AND NOT internal AND schema_name IN ($raw, $stored)
    UNION ALL
    SELECT schema_name || '.' || table_name || ' is no plain table' FROM duckdb_tables()
    WHERE database_name = 'wh' AND schema_name IN ($raw, $stored)
        AND regexp_matches(sql, '\\b(GENERATED|DEFAULT)\\b')
    UNION ALL
    SELECT schema_name || '.' || table_name || ' has a constraint: ' || constraint_type
    FROM duckdb_constraints()
    WHERE database_name = 'wh' AND schema_name IN ($raw, $stored) AND constraint_type <> 'NOT NULL'
    UNION ALL
    SELECT schema_name || '.' || table_name || ' has an index' FROM duckdb_indexes()
    WHERE database_name = 'wh' AND schema_name IN ($raw, $stored)
    ORDER BY ALL"""
_TRIGGERS = """SELECT schema_name || '.' || table_name || ' has a trigger' FROM duckdb_triggers()
               WHERE database_name = 'wh' ORDER BY ALL"""
_TYPES = """SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()
            WHERE database_name = 'wh' AND schema_name = 'raw'"""
_known: dict[str, str] = {}  # digests of `_plain`, by the digest of the text as written
_right: set[str] = set()  # verified states, where no cache can be written


def outdated(con: duckdb.DuckDBPyConnection, path: Path) -> list[str] | None:
    """None if all definitions in a file are those of this version; nothing of it runs before.

    Else a description of those changed by others; empty if an older version made them. Raises
    Incompatible also for a foreign file that is marked as of a newer release.
    """
    try:
        with explained(path):
            wrong = _foreign(con, path)
            if not is_up_to_date(con, path):
                return []
            if wrong and is_newer(con):
                why = f"{wrong[0]}, as this version knows it"
                hint = "upgrade bench, or ingest again into a new --db PATH"
                what = f"the warehouse {path} was made by another version of bench"
                raise Incompatible(what, why=why, hint=hint)
            return wrong or None
    except BaseException:
        disconnect(con, reusable=False)
        raise


def remake(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Recreate all definitions; raises Incompatible where that is not possible."""
    try:
        bring_up_to_date(con, path, anew=True)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise _no_warehouse(path, str(error).splitlines()[0]) from error


def _foreign(con: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """The foreign definitions in the file at `path`, attached as `wh`, as `others`.

    Raises Incompatible for a file with views or computed columns in place of tables, or macros in
    place of functions of DuckDB: recreated definitions would use them.
    """
    state = _state(path)
    if state in _right or state in _remembered():
        return []
    with outside_cursor(con) as cursor:
        _require_tables(cursor, path)
        missing = _missing_columns(cursor, path)
        found = defined(cursor)
    # A later DuckDB may have a function with the name of one of our macros.
    strange = found.keys() - _ours().keys()
    if hides := sorted(name for name in strange if name.startswith("hides ")):
        raise _no_warehouse(path, f"the macro {hides[0].removeprefix('hides ')} is one of DuckDB's")
    if missing and is_up_to_date(con, path):  # this calls functions of DuckDB
        raise _no_warehouse(path, f"raw.{missing[0]} is missing")
    if not (wrong := others(found)):
        _remember(state)
    return wrong


def others(found: Mapping[str, str]) -> list[str]:
    """Definitions in `defined` that differ from this version's, a sentence each.

    Views and macros with names that we do not use are harmless: our views never use them.
    """
    ours = _ours()
    missing = [f"{name} is missing" for name in ours if name not in found]
    return missing + [
        f"{name} is not the one that bench makes"
        for name, text in ours.items()
        if found.get(name, text) != text
    ]


def made_here(path: Path) -> None:
    """Remember a file as verified in its present state: written by us since it was opened."""
    _remember(_state(path))


def created_here(path: Path, file: str) -> None:
    """Note a file that was made just now with this device and inode.

    Not where it has a log of writes already: nobody has written yet, so that is somebody else's.
    """
    state = _state(path)
    if state.startswith(f"{file} ") and not any(map(os.path.lexists, logs_of(path))):
        _remember(state)


def _remember(state: str) -> None:
    if state and state not in _right:
        _right.add(state)
        known = _remembered()
        if state in known:
            return
        # One state per file: a watched log makes a new one every few seconds.
        rest = [one for one in known if one.partition(" ")[0] != state.partition(" ")[0]]
        with suppress(OSError, RuntimeError):
            keep(_kept(), "\n".join([*rest, state][-_REMEMBERED:]).encode())


def _require_tables(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Our schemas have plain tables alone: a write to them is no other statement."""
    wrong = con.execute(_NOT_PLAIN, _TABLES_ALONE).fetchall()
    with suppress(duckdb.CatalogException):  # DuckDB 1.5 has no triggers, and opens no file of them
        wrong += con.execute(_TRIGGERS).fetchall()
    if wrong:
        raise _no_warehouse(path, wrong[0][0])


def _missing_columns(con: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """The columns that are not there yet; those of our names have our types, and are not null where
    ours are not, and no other one has to be filled."""
    found = {(table, name): rest for table, name, *rest in con.execute(_TYPES).fetchall()}
    missing = []
    for table, columns in tables().items():
        for name, column in columns.items():
            if (table, name) not in found:
                missing.append(f"{table}.{name}")
            elif found[table, name] != [column.type, not column.required]:
                kind, nullable = found[table, name]
                if kind != column.type:
                    why = f"raw.{table}.{name} is {kind}, not {column.type}"
                else:
                    why = f"raw.{table}.{name} is {'' if nullable else 'NOT '}NULL"
                raise _no_warehouse(path, why)
    for (table, name), (_, nullable) in found.items():
        if not nullable and table in tables() and name not in tables()[table]:
            raise _no_warehouse(path, f"raw.{table}.{name} is NOT NULL")
    return missing


def _no_warehouse(path: Path, why: str) -> Incompatible:
    hint = "choose another --db PATH"
    return Incompatible(f"{path} is no warehouse of bench", why=why, hint=hint)


@cache
def _ours() -> Mapping[str, str]:
    """The definitions of this version, in the form of `defined`."""
    return cached("definitions", [], _made, _made_by())


def _made() -> dict[str, str]:
    con = connect_memory()
    try:
        fill(con)
        return defined(con)
    finally:
        disconnect(con)


@cache
def _made_by() -> str:
    """The key of the digests: the definitions, and the code that compares them."""
    return _digest(version() + Path(__file__).read_text("utf-8"))


def defined(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Digests of definitions, by kind and name; macros that `hides` a DuckDB function, also by that
    name."""
    made = {
        f"view {name}": _text_digest(sql)
        for schema, name, sql in con.execute(_VIEWS).fetchall() if schema == "main"
    }  # fmt: skip
    for name, kind, parameters, text, hides in con.execute(_FUNCTIONS).fetchall():
        key = f"{'hides' if hides else kind} {name.lower()}"  # a name may have several
        made[key] = made.get(key, "") + _digest(f"{parameters} {_text_digest(text)}")
    return made


def _text_digest(sql: str) -> str:
    """A digest of `_plain`, cached by text: most files have our texts."""
    if (as_written := _digest(sql)) not in _known:
        _known[as_written] = _digest(_plain(sql))
    return _known[as_written]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_STRING = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
_STEP = re.compile(rf"{_STRING}|(?:REPLACE|EXCLUDE) \(|[(),]")
_WORD = re.compile(rf"{_STRING}|\d[\w.]*(?:(?<=e)[-+]\d+)?|\w+|[^\w\s]")
_NUMBER = re.compile(r"CAST ([\d.e+-]+) AS DOUBLE(?= |\Z)")
_TRUTH = {"CAST 'f' AS BOOLEAN": "false", "CAST 't' AS BOOLEAN": "true"}
_SORTED = re.compile(r"list_sort list ([\w .]+) , 'ORDER_DEFAULT' , 'ORDER_DEFAULT'")
_NOT_IN = re.compile(r"\bNOT ((?:\w+ \. )?\w+) IN\b")


def _plain(sql: str) -> str:
    """A statement normalised: both releases of DuckDB, and a file and a connection, agree on it.

    They differ in parentheses, in quotes, in schemas, and in the format of numbers. Without
    parentheses a sum may be regrouped unseen: values in a foreign file may be wrong anyway, and no
    other function is called, no other table read.
    """
    words = [_word(one) for one in _WORD.findall(_ordered(sql))]
    text = " ".join(word for word in words if word not in ("(", ")", ""))
    for written, meant in _TRUTH.items():
        text = text.replace(written, meant)
    text = _SORTED.sub(r"list \1 ORDER BY \1", text)
    return _NOT_IN.sub(r"\1 NOT IN", _NUMBER.sub(r"\1", text.replace("main . ", "")))


def _word(word: str) -> str:
    if word[0] == '"' and re.fullmatch(r'"\w+"', word):
        return word[1:-1]
    if word[0].isdigit():
        with suppress(ValueError):
            return repr(float(word))
    return word


def _ordered(sql: str) -> str:
    """A statement with sorted lists in EXCLUDE and REPLACE: DuckDB writes them in any order."""
    parts: list[list[str]] = [[""]]  # for each open parenthesis its items
    is_list = [False]
    at = 0
    for match in _STEP.finditer(sql):
        parts[-1][-1] += sql[at : match.start()]
        at, sign = match.end(), match.group()
        if sign.endswith("("):
            parts[-1][-1] += sign
            parts.append([""])
            is_list.append(sign != "(")
        elif sign == ")" and len(parts) > 1:
            inside = [one.strip() for one in parts.pop()] if is_list[-1] else parts.pop()
            parts[-1][-1] += ",".join(sorted(inside) if is_list.pop() else inside) + sign
        elif sign == ",":
            parts[-1].append("")
        else:
            parts[-1][-1] += sign
    return ",".join(",".join(part) for part in parts) + sql[at:]


def _state(path: Path) -> str:
    """The path, and a digest that changes with the file or its write-ahead log; "" without one."""
    try:
        stats = [path.stat(), *(log.stat() for log in logs_of(path) if os.path.lexists(log))]
    except OSError:
        return ""
    stats_key = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in stats]
    file = f"{stats[0].st_dev}:{stats[0].st_ino}"
    return f"{file} {_digest(f'{_made_by()} {stats_key}')}"


def _remembered() -> list[str]:
    with suppress(OSError, RuntimeError):
        return read(_kept()).decode("ascii", "replace").split("\n")
    return []


def _kept() -> Path:
    return kept_file("right", "files", ".txt")
