"""A warehouse that somebody else made: nothing that they defined in it is run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import pytest

from bench.schema import definitions
from bench.schema.copies import restore
from bench.schema.errors import Incompatible
from bench.schema.migrate import VIEWS
from bench.schema.opening import open_read, open_write
from tests.making import doubted
from tests.program import quick

ENDLESS = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT sum(n) AS run_id FROM r"
)
# Each join doubles the views that are bound, which no interrupt ends.
BOUND = [
    "CREATE VIEW b0 AS SELECT 1 AS x",
    *(
        f"CREATE VIEW b{i} AS SELECT a.x FROM b{i - 1} a JOIN b{i - 1} b USING (x)"
        for i in range(1, 6)
    ),
    "CREATE OR REPLACE VIEW runs AS FROM b5"
    + "".join(f" JOIN b5 a{i} USING (x)" for i in range(40)),
]  # fmt: skip
REMADE = {
    "a view without end": [f"CREATE OR REPLACE VIEW runs AS {ENDLESS}"],
    "a view that takes long to bind": BOUND,
    "a macro without end": [f"CREATE OR REPLACE MACRO f6(params, b, s) AS ({ENDLESS})"],
    "a view that is missing": ["DROP VIEW runs"],
}
REFUSED = {
    "a view for a table": [
        "ALTER TABLE raw.loads RENAME TO others",
        "CREATE VIEW raw.loads AS FROM raw.others",
    ],
    "a view for what was applied": [
        "ALTER TABLE raw.applied RENAME TO others",
        "CREATE VIEW raw.applied AS SELECT o.* FROM raw.others o, range(1000000000000)",
    ],
    "a view for a stored view": [
        "CREATE SCHEMA IF NOT EXISTS materialized",
        f"CREATE VIEW materialized.continuations AS {ENDLESS}",
    ],
    "a column that is computed": [
        "CREATE SCHEMA IF NOT EXISTS materialized",
        "CREATE TABLE materialized.continuations"
        " (a INT, b BIGINT GENERATED ALWAYS AS (list_sum(range(1000000000000))))",
    ],
    "a table for a view": ["DROP VIEW runs", "CREATE TABLE runs (run_id VARCHAR)"],
    "a macro for a function": ["CREATE MACRO greatest(a, b) AS a"],
    "a macro for a function, in capitals": ["CREATE MACRO GREATEST(a, b) AS a"],
    "a macro that hides others": [
        "CREATE TABLE listed AS SELECT replace(database_name, 'bench', 'wh') AS database_name,"
        " schema_name, function_name, function_type, parameters, macro_definition, internal"
        " FROM duckdb_functions()",
        "CREATE MACRO duckdb_functions() AS TABLE FROM listed",
        "CREATE MACRO lower(x) AS CASE WHEN error('it runs') THEN x END",
    ],
    "a macro that lists tables, and no mark of a version": [
        "DROP TABLE raw.applied",
        "ALTER TABLE raw.loads DROP COLUMN to_byte",
        "CREATE MACRO duckdb_tables() AS TABLE SELECT error('it runs')",
    ],
    "a macro that lists no column": [
        "CREATE MACRO duckdb_constraints() AS TABLE SELECT '' AS database_name, '' AS schema_name,"
        " '' AS table_name, '' AS constraint_type",
        "CREATE TABLE raw.others (x BIGINT CHECK (x > 0))",
    ],
    "a value that is filled in": [
        "ALTER TABLE raw.loads ADD COLUMN e BIGINT DEFAULT (list_sum(range(1000000000000)))",
    ],
    "a check of each row": ["CREATE TABLE raw.others (x BIGINT CHECK (x > 0))"],
    "a key of rows": ["CREATE UNIQUE INDEX one ON raw.loads (parser_version)"],
    "an expression of an index": ["CREATE INDEX long ON raw.loads ((repeat(uri, 1000000000)))"],
    "a column that has to be filled": [
        "ALTER TABLE raw.loads ADD e INT",
        "ALTER TABLE raw.loads ALTER e SET NOT NULL",
    ],
    "a column that may be NULL": ["ALTER TABLE raw.audits ALTER facts DROP NOT NULL"],
    "a column of another type": ["ALTER TABLE raw.findings ALTER rules TYPE VARCHAR"],
    "a column that is missing": ["ALTER TABLE raw.loads DROP COLUMN to_byte"],
    "a table that is missing": ["DROP TABLE raw.closings"],
    "a view said to be newer": [
        f"CREATE OR REPLACE VIEW runs AS {ENDLESS}",
        f"UPDATE raw.applied SET sha256 = '999000000 0123456789abcdef' WHERE number = {VIEWS}",
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "bench.duckdb"
    open_write(path).close()
    return path


@pytest.fixture
def strange(made: Path, tmp_path: Path) -> Callable[[list[str]], Path]:
    def change(statements: list[str]) -> Path:
        path = tmp_path / "bench.duckdb"
        shutil.copy(made, path)
        with duckdb.connect(str(path)) as con:
            for statement in statements:
                con.execute(statement)
        return path

    return change


@pytest.mark.parametrize("what", REMADE)
def test_what_others_defined_is_made_anew(strange: Callable[[list[str]], Path], what: str) -> None:
    with open_read(strange(REMADE[what])) as warehouse:
        assert warehouse.rows("SELECT count(*) FROM runs") == [(0,)]
        assert definitions.others(definitions.defined(warehouse.con)) == []


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_made_anew_is_refused(
    strange: Callable[[list[str]], Path], what: str
) -> None:
    path = strange(REFUSED[what])
    for opening in (open_read, open_write):
        with pytest.raises(Incompatible):
            opening(path)
    done = quick(path.parent, "runs")
    assert done.code == Incompatible.exit_code and "try: " in done.err, done.text


@pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1.5 has no triggers")
def test_a_trigger_is_refused(made: Path, tmp_path: Path) -> None:
    """It is a statement of the file's creator, run by each write to its table."""
    path = tmp_path / "bench.duckdb"
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{made}' AS made (READ_ONLY)")
        con.execute(f"ATTACH '{path}' AS strange (STORAGE_VERSION 'v2.0.0')")
        con.execute("COPY FROM DATABASE made TO strange")
        con.execute("USE strange")
        con.execute(
            "CREATE TRIGGER theirs AFTER INSERT ON raw.loads FOR EACH STATEMENT"
            " INSERT INTO raw.hidden SELECT 'uri', 'theirs', true, now()::TIMESTAMP"
        )
    for opening in (open_read, open_write):
        with pytest.raises(Incompatible, match="no warehouse of bench"):
            opening(path)


def test_a_backup_of_others_is_not_asked_before_it_is_compared(
    strange: Callable[[list[str]], Path], tmp_path: Path
) -> None:
    db = tmp_path / "restored.duckdb"
    restore(strange(REMADE["a view without end"]), db, 0)
    before = db.read_bytes()
    theirs = strange(REFUSED["a view for a table"])
    with pytest.raises(Incompatible, match=re.escape(f"{theirs} is no warehouse of bench")):
        restore(theirs, db, 0)
    assert db.read_bytes() == before


@pytest.mark.parametrize("name", ["VIEW x; {}", "MACRO x; {}", "{}", "VIEW x;{} --"])
def test_a_name_of_a_view_is_no_statement(
    strange: Callable[[list[str]], Path], tmp_path: Path, name: str
) -> None:
    """Views of an older version are dropped by their names, which the file tells."""
    out = tmp_path / "written"
    text = name.format(f"COPY (SELECT 1) TO '{out}' (FORMAT csv)").replace("'", "''")
    path = strange(
        [f"UPDATE raw.applied SET sha256 = '0 0', name = '{text}' WHERE number = {VIEWS}"]
    )
    quick(path.parent, "runs")
    assert not out.exists()


def test_a_file_is_compared_once(
    strange: Callable[[list[str]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked, compared = strange([]), list[int](), definitions.others

    def counted(found: Mapping[str, str]) -> list[str]:
        asked.append(1)
        return compared(found)

    monkeypatch.setattr(definitions, "others", counted)
    for _ in range(3):
        open_read(path).close()
    assert len(asked) == 1, "nobody has written to it"
    with open_write(path) as warehouse:
        warehouse.con.execute("CREATE TABLE mine (i INT)")
    open_read(path).close()
    assert len(asked) == 1, "we have"
    with duckdb.connect(str(path)) as con:
        con.execute(f"CREATE OR REPLACE VIEW runs AS {ENDLESS}")
    with open_read(path) as warehouse:
        assert len(asked) > 1 and warehouse.rows("SELECT count(*) FROM runs") == [(0,)]


@pytest.mark.parametrize("end", [".wal", ".wal.checkpoint", "-journal"])
def test_a_log_of_writes_without_its_file_is_refused(tmp_path: Path, end: str) -> None:
    """DuckDB would replay it into the warehouse that is made there."""
    log = tmp_path / f"bench.duckdb{end}"
    log.write_bytes(b"theirs")
    (tmp_path / "a.md").write_text("| Size | Nodes |\n|--|--|\n| 1.3B | 1 |\n")
    done = quick(tmp_path, "ingest", "a.md")
    assert done.code == 2 and f"{log.name} is the log of a warehouse" in done.err
    assert log.read_bytes() == b"theirs" and not (tmp_path / "bench.duckdb").exists()


def test_what_replaces_a_new_file_is_compared(tmp_path: Path) -> None:
    path = tmp_path / "bench.duckdb"
    path.write_bytes(b"theirs")
    definitions.created_here(path, "1:1")
    assert definitions._state(path) not in definitions._right


def test_writes_that_wait_beside_what_a_link_leads_to_are_compared(tmp_path: Path) -> None:
    """The file itself was verified, but DuckDB replays them."""
    file, theirs, link = (tmp_path / name for name in ("disk.duckdb", "theirs", "bench.duckdb"))
    open_write(file).close()
    link.symlink_to(file)
    open_read(link).close()
    shutil.copyfile(file, theirs)
    with duckdb.connect(str(theirs)) as con:
        con.execute(f"CREATE OR REPLACE VIEW runs AS {ENDLESS}")
        shutil.copyfile(f"{theirs}.wal", f"{file}.wal")
    with open_read(link) as warehouse:
        assert warehouse.remade == ["view runs is not the one that bench makes"]


def test_views_of_a_user_stay(strange: Callable[[list[str]], Path]) -> None:
    path = strange([
        "CREATE VIEW mine AS FROM runs", "CREATE MACRO my_macro(a) AS a + 1",
        "CREATE TABLE own (a INT DEFAULT 1 CHECK (a > 0))",
        "CREATE SCHEMA apart", "CREATE MACRO apart.greatest(a, b) AS a",
    ])  # fmt: skip
    with open_read(path) as warehouse:
        assert warehouse.rows("SELECT my_macro(1), count(*) FROM mine") == [(2, 0)]


def test_what_a_stranger_left_out_ends_no_command(folder: Path) -> None:
    """A column that we always fill may be NULL, if one of an older version is."""
    doubted(folder / "logs", logs=1, tables=1)
    assert quick(folder, "ingest", "logs").code == 0
    with duckdb.connect(str(folder / "bench.duckdb")) as con:
        con.execute("UPDATE raw.findings SET rules = NULL, number = NULL, confidence = NULL,"
                    " name = NULL, closed = NULL, suggestion = NULL")  # fmt: skip
        con.execute("UPDATE raw.tables SET number = NULL")
        con.execute("INSERT INTO raw.facts FROM raw.facts WHERE how = 'user'")  # stated twice
        con.execute("DROP SCHEMA materialized CASCADE")  # what is stored says nothing else
    for words in (["report"], ["best"], ["explain", "12.3"], ["export", "-o", "out"],
                  ["site", "-o", "pages"], ["audit"]):  # fmt: skip
        done = quick(folder, *words)
        assert done.code < 2, (words, done.text)
