"""Whether the views and macros of a warehouse file are those that this program makes.

Whoever made the file chose them: a view may compute without end, already while it is bound, and a
macro may stand for a function of DuckDB. So none is asked before all are compared, by their text.
To compare takes about 50 ms, and which files were found right is kept in the user's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from ..vocabulary.kept import keep, kept_file, read
from .connect import connect_memory, disconnect, explained, logs_of
from .errors import Incompatible
from .migrate import STORED_VIEWS, bring_up_to_date, is_newer, is_up_to_date
from .template import fill, version

_REMEMBERED = 200  # files, the newest
_TABLES_ALONE = ("raw", STORED_VIEWS)  # schemas that hold no view
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
# A column that is computed, or a value that is filled in, is an expression of its maker's: no table
# of ours has one.
_COMPUTED = """SELECT schema_name || '.' || table_name FROM duckdb_tables()
               WHERE database_name = 'wh' AND schema_name IN (?, ?)
                 AND regexp_matches(sql, '\\b(GENERATED|CHECK|DEFAULT)\\b') ORDER BY ALL"""
_known: dict[str, str] = {}  # digests of `_plain`, by those of texts as they are written
_right: set[str] = set()  # states of files, as the cache keeps them, for where none can be kept


def outdated(con: duckdb.DuckDBPyConnection, path: Path) -> list[str] | None:
    """None where all that is defined in a file is what this version makes: none of it is run
    before. Else what others have made of it, in words; nothing where an older version made it.

    Raises Incompatible also where it is said to be of a newer release, and is not ours.
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
    """All that is defined made anew; raises Incompatible where that cannot be."""
    try:
        bring_up_to_date(con, path, anew=True)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise _no_warehouse(path, str(error).splitlines()[0]) from error


def _foreign(con: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """What is defined in the file at `path`, attached as `wh`, and not by us, as `others`.

    Raises Incompatible for a file that has views or computed columns in place of tables, or macros
    in place of functions of DuckDB: those that we make anew would ask them.
    """
    state = _state(path)
    if state in _right or state in _remembered():
        return []
    _require_tables(con, path)
    found = defined(con)
    # A later DuckDB may have a function of the name of one of our macros.
    strange = found.keys() - _ours().keys()
    if hides := sorted(name for name in strange if name.startswith("hides ")):
        raise _no_warehouse(path, f"the macro {hides[0].removeprefix('hides ')} is one of DuckDB's")
    if not (wrong := others(found)):
        _remember(state)
    return wrong


def others(found: Mapping[str, str]) -> list[str]:
    """What of `defined` is not as this version makes it, a sentence each.

    Views and macros of names that we do not use are their maker's own: none of ours asks them.
    """
    ours = _ours()
    missing = [f"{name} is missing" for name in ours if name not in found]
    return missing + [
        f"{name} is not the one that bench makes"
        for name, text in ours.items()
        if found.get(name, text) != text
    ]


def made_here(path: Path) -> None:
    """Note a file that is ours as it is now, with what was written to it since it was opened."""
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
        # One state of each file: a log that is watched makes a new one every few seconds.
        rest = [one for one in known if one.partition(" ")[0] != state.partition(" ")[0]]
        with suppress(OSError, RuntimeError):
            keep(_kept(), "\n".join([*rest, state][-_REMEMBERED:]).encode())


def _require_tables(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    query = f"SELECT schema_name || '.' || view_name FROM ({_VIEWS}) WHERE schema_name IN (?, ?)"
    for asked in (query, _COMPUTED):
        wrong = con.execute(asked, [*_TABLES_ALONE]).fetchall()
        if not wrong:
            continue
        raise _no_warehouse(path, f"{wrong[0][0]} is no plain table")


def _no_warehouse(path: Path, why: str) -> Incompatible:
    hint = "choose another --db PATH"
    return Incompatible(f"{path} is no warehouse of bench", why=why, hint=hint)


@cache
def _ours() -> Mapping[str, str]:
    """What this version makes, as `defined` tells it."""
    with suppress(OSError, RuntimeError, ValueError):
        kept: Mapping[str, str] = json.loads(read(kept_file("definitions", _made_by(), ".json")))
        return kept
    con = connect_memory()
    try:
        fill(con)
        made = defined(con)
    finally:
        disconnect(con)
    with suppress(OSError, RuntimeError):
        keep(kept_file("definitions", _made_by(), ".json"), json.dumps(made).encode())
    return made


@cache
def _made_by() -> str:
    """What the digests hang on: what is defined, and how it is told here."""
    return _digest(version() + Path(__file__).read_text("utf-8"))


def defined(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Digests of what is defined, by kind and name; what `hides` a function of DuckDB by its own
    name, too."""
    made = {
        f"view {name}": _told(sql)
        for schema, name, sql in con.execute(_VIEWS).fetchall() if schema == "main"
    }  # fmt: skip
    for name, kind, parameters, text, hides in con.execute(_FUNCTIONS).fetchall():
        key = f"{'hides' if hides else kind} {name.lower()}"  # there may be several of one name
        made[key] = made.get(key, "") + _digest(f"{parameters} {_told(text)}")
    return made


def _told(sql: str) -> str:
    """A digest of `_plain`, which a process works out once of each text: most files have ours."""
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
    """A statement as both lines of DuckDB, and a file and a connection, would write it.

    They differ in parentheses, in quotes, in schemas, and in how they write a number. Without
    parentheses a sum may be grouped otherwise unseen: what a stranger's file says can be wrong
    anyway, and nothing more is called or read.
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
    """A statement with each list of an EXCLUDE or REPLACE in order: DuckDB writes it in any."""
    parts: list[list[str]] = [[""]]  # for each open parenthesis what is in it, by commas
    is_list = [False]
    at = 0
    for found in _STEP.finditer(sql):
        parts[-1][-1] += sql[at : found.start()]
        at, sign = found.end(), found.group()
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
    return ",".join(",".join(one) for one in parts) + sql[at:]


def _state(path: Path) -> str:
    """Which file, and a digest that changes whenever it or its log of writes does; "": none."""
    try:
        stats = [path.stat(), *(one.stat() for one in _logs(path))]
    except OSError:
        return ""
    told = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in stats]
    file = f"{stats[0].st_dev}:{stats[0].st_ino}"
    return f"{file} {_digest(f'{_made_by()} {told}')}"


def _logs(path: Path) -> Iterator[Path]:
    log = Path(f"{path}.wal")
    if os.path.lexists(log):
        yield log


def _remembered() -> list[str]:
    with suppress(OSError, RuntimeError):
        return read(_kept()).decode("ascii", "replace").split("\n")
    return []


def _kept() -> Path:
    return kept_file("right", "files", ".txt")
