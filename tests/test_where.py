"""`--where`: what it means on a real DuckDB, and that nothing else gets through."""

import string
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.schema.errors import BenchError
from bench.schema.where import compile_where
from bench.terminal.tables import parse_columns

COLUMNS = {
    "tp": "INTEGER",
    "tokens": "BIGINT",
    "step_time_s": "DOUBLE",
    "loss": "DECIMAL(10,4)",
    "name": "VARCHAR",
    "ok": "BOOLEAN",
    "date": "TIMESTAMP",
    "flags": "VARCHAR[]",
    "group by": "VARCHAR",
}
ROWS = """
    (1, 4, 9000000000000000000, 105.3, 2.5, 'it''s', true, '2024-03-01', ['a'], 'x'),
    (2, 8, 1048576, 1e308, 0, 'A64FX', false, '2024-04-01 10:30:00', [], 'y'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 2147483647, 0, 0, 1, '4', true, '2023-01-01', NULL, '')
"""


@pytest.fixture(scope="module")
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    """A small table, on a connection that could do anything to it."""
    with duckdb.connect() as connection:
        listed = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
        connection.execute(f"create table t(id integer, {listed})")
        connection.execute(f"insert into t values {ROWS}")
        connection.execute("create table secret as select 'hidden' as word")
        yield connection


def ids(db: duckdb.DuckDBPyConnection, expr: str) -> list[int]:
    sql = f"SELECT id FROM t WHERE ({compile_where(expr, COLUMNS)}) ORDER BY id"
    return [row[0] for row in db.execute(sql).fetchall()]


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("tp = 4", [1]),
        ("TP == 4", [1]),
        ("tp != 4", [2, 4]),
        ("tp <> 4 and ok", [4]),
        ("tp = '4'", [1]),
        ("tp in (4, 8) and not tp in (8)", [1]),
        ("tp not in (-4, 8)", [1, 4]),
        ("tp between 4 and 8", [1, 2]),
        ("tp not between 4 and 8 or ok = false", [2, 4]),
        ("tp * tp * 1000000 > 1", [1, 2, 4]),
        ("tokens + tokens > 1", [1, 2]),
        ("-tp < -4", [2, 4]),
        ("tp - -1 = 5", [1]),
        ("1 + 2 * 3 = 7 and tp % 3 = 1", [1, 4]),
        ("tp / 8 = 0.5", [1]),
        ("tp / 0 > 1 or tp % 0 = 1", []),
        ("step_time_s = 105.3", [1]),
        ("step_time_s * 10 > 1e300", [2]),
        ("loss < 0.00000000000000000000000000000000000001", [2]),
        ("tokens < 99999999999999999999999999999999999999999999999", [1, 2, 4]),
        ("name = 'it''s'", [1]),
        ('name = "A64FX"', [2]),
        ("name = 4", [4]),
        ("name in ('4', 64)", [4]),
        ("name like '%''%'", [1]),
        ("name ilike 'a64%'", [2]),
        ("name not like 'A%'", [1, 4]),
        ("name is null", [3]),
        ("name IS NOT NULL AND flags is null", [4]),
        ("ok", [1, 4]),
        ("not ok", [2]),
        ("ok is not true", [2, 3]),
        ("ok = true or tp = 8", [1, 2, 4]),
        ("date >= '2024-03-01' and date < '2024-04-01 10:30'", [1]),
        ("date = '2024-04-01T10:30:00'", [2]),
        ('"group by" = "y"', [2]),
        ("(tp = 4 or tp = 8) and ok", [1]),
        ("tp = 4 or tp = 8 and ok", [1]),
        ("\ttp\n= 4 ", [1]),
        (" or ".join(["tp = 4"] * 400), [1]),
        (f"name in ({', '.join(repr(str(n)) for n in range(900))})", [4]),
    ],
)
def test_what_it_means(db: duckdb.DuckDBPyConnection, expr: str, expected: list[int]) -> None:
    assert ids(db, expr) == expected


@pytest.mark.parametrize(
    ("expr", "told"),
    [
        ("tpp = 4", "did you mean 'tp'?"),
        ("name = A64FX", "text needs quotes: 'A64FX'"),
        ("tp = 4; drop table t", "character 7"),
        ("tp = 4 -- and ok", "character 8"),
        ("tp /* x */ = 4", "character 4"),
        ("-- tp", "character 1"),
        ("tp = 4 /* open", "not closed"),
        ("name = 'open", "not closed"),
        ("count(*) > 1", "functions such as 'count'"),
        ("name = getenv('HOME')", "functions such as 'getenv'"),
        ("tp = (select 1)", "'select'"),
        ("exists (from secret)", "'exists'"),
        ("tp in secret", "'secret'"),
        ("tp in flags", "not part"),
        ("tp in ()", "lists nothing"),
        ("tp::varchar = '4'", "'::'"),
        ("cast(tp as text) = '4'", "'cast'"),
        ("tp = ?", "'?'"),
        ("tp = $1", "'$'"),
        ("tp = $$x$$", "'$$x$$'"),
        ("name = e'\\x27'", "not part"),
        ("t.tp = 4", "'t'"),
        ("tp.tp = 4", "'.'"),
        ("flags[1] = 'a'", "'['"),
        ("x -> x + 1", "'x'"),
        ("tp -> tp", "'->'"),
        ("{'a': tp}", "'{'"),
        ("*", "not part"),
        ("(tp, ok) = (4, true)", "not part"),
        ("tp(4) = 1", "not part"),
        ("name = 'a' 'b'", "not part"),
        ("name || 'x' = 'y'", "'||'"),
        ("tp = 4 ok", "character 8"),
        ("tp = 4 and", "not a whole condition"),
        ("", "no condition"),
        ("  ", "no condition"),
        ("tp", "a number, not a condition"),
        ("tp and ok", "a number, not a condition"),
        ("name > 3", "compares text with a number"),
        ("tp = 'x'", "compares a number with text"),
        ("tp = name", "compares a number with text"),
        ("ok = 1", "compares true or false with a number"),
        ("name + 1 = 2", "not a number"),
        ("tp like '4%'", "needs text"),
        ("date > 'yesterday'", "YYYY-MM-DD"),
        ("date > '2024-02-30'", "YYYY-MM-DD"),
        ("flags = 'a'", "tested for null"),
        ("1 < tp < 8", "a < b and b < c"),
        ("tp = null", "is null"),
        ("tp is 4", "null, true or false"),
        ("tp = 1e999", "not a number that can be used"),
        ("name = 'a\x00b'", "'\\x00'"),
        ("(" * 500 + "ok" + ")" * 500, "deep"),
        ("not " * 500 + "ok", "deep"),
        ("tp in (" + "1, " * 3000 + "1)", "more than"),
    ],
)
def test_what_it_refuses(expr: str, told: str) -> None:
    with pytest.raises(BenchError) as caught:
        compile_where(expr, COLUMNS)
    assert told in str(caught.value)
    assert caught.value.exit_code == 2


def runs_harmlessly(db: duckdb.DuckDBPyConnection, expr: str) -> None:
    try:
        sql = compile_where(expr, COLUMNS)
    except BenchError:
        return
    statement = f"SELECT * FROM t WHERE ({sql})"
    assert len(duckdb.extract_statements(statement)) == 1
    assert duckdb.get_table_names(statement) == {"t"}
    assert len(db.execute(statement).fetchall()) <= 4
    assert db.execute("select count(*) from t").fetchone() == (4,)


PARTS = [*COLUMNS, "drop table t", "\n", "\t", "\x00", "é", "\u00a0", "\ud800"]
WORDS = """
    = == != < <= > >= + - * / % and or not in between like ilike is null true false as cast case
    ( ) , ; -- /* */ ' '' " "" $$ ? $1 :: . [ ] { } -> || @ ! \\ # secret select from when union
    0 1 4 -1 1.5 1e308 1e400 9223372036854775807 0x1F 1_0 'x' '4' "y" 'it''s' e'\\'' x'00'
    '2024-03-01' count(*) read_csv('/etc/passwd')
"""
PARTS += WORDS.split()
COMPARE = st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">=", "like", "ilike"])
words = st.lists(st.sampled_from(PARTS), max_size=14).map(" ".join)
glued = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)
texts = st.text(max_size=40) | st.text(alphabet=string.printable, max_size=40)
numbers = st.sampled_from(["tp", "tokens", "step_time_s", "loss"])
numbers |= st.integers().map(str) | st.floats(0, allow_infinity=False).map(str)
strings = st.text(max_size=12).map(lambda text: "'" + text.replace("'", "''") + "'")
strings |= st.sampled_from(["name", '"group by"', "'4'", "4", "date", "'2024-03-01'"])
sums = st.recursive(
    numbers,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner)
        | inner.map("-{}".format)
    ),
    max_leaves=5,
)


def compared(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Every way to ask about such values."""
    return st.one_of(
        st.builds("{} {} {}".format, values, COMPARE, values),
        st.builds("{} in ({}, {})".format, values, values, values),
        st.builds("{} not between {} and {}".format, values, values, values),
        st.builds("{} is not null".format, values),
    )


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Conditions with and, or, not, and no parentheses."""
    return st.recursive(
        parts,
        lambda inner: (
            st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner)
            | inner.map("not {}".format)
        ),
        max_leaves=5,
    )


sentences = joined(compared(sums) | compared(strings) | compared(sums | strings))
small = st.sampled_from(["tp", "0", "1", "4", "id"])
small = st.recursive(
    small, lambda inner: st.builds("{} {} {}".format, inner, st.sampled_from("+-*"), inner)
)
thorough = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@thorough
@given(expr=words | glued | texts)
@example(expr="name = '\\'; drop table t --'")
@example(expr='name = "\\"; drop table t --"')
@example(expr="name = 'a' \u2028 or 1=1")
def test_no_text_does_anything_else(db: duckdb.DuckDBPyConnection, expr: str) -> None:
    runs_harmlessly(db, expr)


@thorough
@given(expr=sentences)
def test_no_sentence_fails_in_the_database(db: duckdb.DuckDBPyConnection, expr: str) -> None:
    runs_harmlessly(db, expr)


@thorough
@given(expr=joined(compared(small)))
def test_words_bind_as_in_sql(db: duckdb.DuckDBPyConnection, expr: str) -> None:
    try:
        expected = db.execute(f"select id from t where id < 4 and ({expr}) order by id").fetchall()
    except duckdb.Error:
        return  # an overflow
    sql = compile_where(expr, {"id": "INTEGER", "tp": "INTEGER"})
    found = db.execute(f"select id from t where id < 4 and ({sql}) order by id").fetchall()
    assert found == expected


@thorough
@given(text=st.text(max_size=30))
def test_a_string_stays_that_string(db: duckdb.DuckDBPyConnection, text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    try:
        sql = compile_where(f"name = {quoted}", {"name": "VARCHAR"})
    except BenchError:
        assert not text.isprintable()
        return
    assert db.execute(f"select {sql} from (select $1 as name)", [text]).fetchone() == (True,)


def test_columns() -> None:
    known = ["tp", "Name", "mbs"]
    assert parse_columns(" mbs, NAME ,mbs", known) == ["mbs", "Name"]
    with pytest.raises(BenchError, match="did you mean 'mbs'"):
        parse_columns("tp,mbss", known)
    with pytest.raises(BenchError, match="no column"):
        parse_columns(" , ", known)
