"""Warehouses and records of several groups become one: nothing twice, all or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from bench.project.merging import MergeSource, contradicting, merge_all, parse_other
from bench.schema.errors import BenchError, Incompatible
from bench.schema.merge import MergeResult, merge
from bench.schema.opening import open_read
from tests.facts_files import SIGNED, fact
from tests.making import iteration, log, table
from tests.program import quick
from tests.sharing import made, take

ROW = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | {} | 0.86"


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two groups: a log in common, under two names; one name with other bytes; a log of one alone,
    which was read while it grew."""
    home = tmp_path_factory.mktemp("sites")
    for site, ms in (("a", "100.5"), ("b", "90.5")):
        folder = home / site
        (folder / ".git").mkdir(parents=True)
        (folder / "sweep.md").write_text(table(ROW.format(ms)))
        (folder / f"common-{site}.log").write_text(log(3))
    (home / "b" / "facts.toml").write_text(
        fact('file = "common-b.log"', "device", '"A64FX"') + fact('file = "sweep"', "nodes", "1")
    )
    (home / "a" / "facts.toml").write_text(fact('file = "common-a.log"', "device", '"V100"'))
    for lines in (4, 9):
        (home / "b" / "own.log").write_text(log(lines, 222))
        assert quick(home / "b", "ingest", "-q", ".").code == 0
    assert quick(home / "a", "ingest", "-q", ".").code == 0
    return home


@pytest.fixture(scope="module")
def merged(sites: Path) -> tuple[Path, list[MergeResult]]:
    """A warehouse of both."""
    (sites / "all").mkdir()
    db = sites / "all" / "bench.duckdb"
    others = [MergeSource(site, sites / site / "bench.duckdb") for site in ("a", "b")]
    done, _ = merge_all(db, others, None, 5.0)
    return db, [one for _, one in done]


def rows(db: Path, query: str) -> list[tuple[object, ...]]:
    with open_read(db) as warehouse:
        return warehouse.rows(query)


def test_sources_are_known_by_their_bytes(merged: tuple[Path, list[MergeResult]]) -> None:
    db, (first, second) = merged
    assert first == MergeResult(("a/common-a.log", "a/sweep.md"), (), 0, ())
    assert second.added == ("b/own.log", "b/sweep.md")
    assert second.known == ("b/common-b.log",)
    assert second.otherwise == (("b/sweep.md", "a/sweep.md"),)
    named = {str(uri): uris for uri, uris in rows(db, "SELECT uri, uris FROM sources")}
    assert named["a/common-a.log"] == ["a/common-a.log", "b/common-b.log"]
    assert len(named) == 4


def test_everything_of_a_run_comes_along(
    sites: Path, merged: tuple[Path, list[MergeResult]]
) -> None:
    db, _ = merged
    told = """SELECT r.status, r.line, r.last_line, s.median, s.n, count(i.iteration) FROM runs r
        JOIN run_stats s ON s.run_id = r.run_id AND s.metric = 'step_time_s'
        JOIN iterations i ON i.run_id = r.run_id WHERE r.uri LIKE '%own.log' GROUP BY ALL"""
    assert rows(db, told) == rows(sites / "b" / "bench.duckdb", told)
    assert rows(db, "SELECT count(*) FROM iterations") == [(3 + 9,)]
    told = "SELECT r.uri, c.name, c.raw FROM cells c JOIN tables t USING (table_id) JOIN runs r"
    told += " ON r.table_id = t.table_id WHERE r.uri LIKE '%b/sweep.md' AND c.raw = '90.5'"
    assert rows(db, told) == [("b/sweep.md", "step_time", "90.5")]


def test_what_people_stated_comes_along_and_disagrees(
    merged: tuple[Path, list[MergeResult]],
) -> None:
    db, _ = merged
    told = """SELECT a.field, a.value, a.origin, a.reason, a.author, a.stated_on::VARCHAR
              FROM annotations a JOIN runs r USING (run_id)
              WHERE r.uri = 'a/common-a.log' AND a.outcome = 'counts'"""
    assert rows(db, told) == [
        ("device", "A64FX", "record", "measured twice", "A. Author", "2026-02-16")
    ]


def test_copies_and_statements_that_contradict_are_findings(
    merged: tuple[Path, list[MergeResult]],
) -> None:
    rows, stated = contradicting(merged[0], 5.0)
    assert rows.startswith("b/sweep.md:5: copies of two groups contradict each other: a/sweep.md:5")
    assert "step_time_s 90.5 here and 100.5 there" in rows
    assert stated == (
        "a/common-a.log:1: device is stated in contradictory ways: A64FX stated by b/facts.toml:1,"
        " V100 stated by a/facts.toml:1: A64FX is used"
    )


def test_to_merge_again_changes_nothing(
    sites: Path, merged: tuple[Path, list[MergeResult]]
) -> None:
    db, _ = merged
    before = rows(db, "SELECT count(*) FROM raw.facts UNION ALL SELECT count(*) FROM raw.loads")
    again = merge(db, sites / "b" / "bench.duckdb", "b", 5.0)
    assert (again.added, again.known, again.unchanged) == ((), (), 3)
    after = rows(db, "SELECT count(*) FROM raw.facts UNION ALL SELECT count(*) FROM raw.loads")
    assert after == before


def test_records_and_folders_are_merged_alike(sites: Path, folder: Path) -> None:
    assert quick(sites / "b", "export", "--records", str(folder / "records")).code == 0
    done = quick(folder, "merge", f"a={sites / 'a' / 'bench.duckdb'}", "b=records")
    assert done.code == 0, done.text
    assert "a/sweep.md" in done.err or "sources added" in done.err
    # The common log is a source of a, and its record of b gives way.
    found = rows(
        folder / "bench.duckdb", "SELECT split_part(uri, '/', 1), count(*) FROM runs GROUP BY 1"
    )
    assert dict(found) == {"a": 2, "b": 2}  # type: ignore[arg-type]  # two columns


def test_a_log_that_has_grown_there_grows_here(sites: Path, folder: Path) -> None:
    shutil.copytree(sites / "b", folder / "b")
    db = folder / "bench.duckdb"
    merge(db, folder / "b" / "bench.duckdb", "b", 5.0)
    (folder / "b" / "own.log").write_text(log(15, 222))
    assert quick(folder / "b", "ingest", "-q", ".").code == 0
    grown = merge(db, folder / "b" / "bench.duckdb", "b", 5.0)
    assert grown.added == ("b/own.log",) and grown.unchanged == 2
    told = "SELECT count(*) FROM iterations i JOIN runs r USING (run_id) WHERE r.uri = 'b/own.log'"
    assert rows(db, told) == [(15,)]


def test_what_is_stated_and_taken_back_later_comes_with_the_next_merge(
    sites: Path, folder: Path
) -> None:
    shutil.copytree(sites / "b", folder / "b")
    db, other = folder / "bench.duckdb", folder / "b" / "bench.duckdb"
    merge(db, other, "b", 5.0)
    told = """SELECT field, value, outcome, file, known_since::VARCHAR, withdrawn_on::VARCHAR
        FROM annotations WHERE field <> 'device' ORDER BY ALL"""
    later = SIGNED + "known_since = 2026-01-02\n"
    back = SIGNED + 'withdrawn = 2026-05-04\nwithdrawn_because = "no"\n'
    for signed, outcome, days in (
        (later, "counts", ("2026-01-02", None)), (back, "withdrawn", (None, "2026-05-04"))
    ):  # fmt: skip
        facts = fact('file = "sweep"', "seq_len", "2048", signed)
        (folder / "b" / "facts.toml").write_text(facts)
        assert quick(folder / "b", "ingest", "-q", ".").code == 0
        assert merge(db, other, "b", 5.0).unchanged == 3
        assert rows(db, told) == [("seq_len", "2048", outcome, "b/facts.toml", *days)]


def test_copies_of_one_log_that_contradict(folder: Path) -> None:
    lines = [iteration(number, 100 + number / 8) for number in range(1, 9)]
    edited = [*lines[:4], iteration(5, 100.1), *lines[5:]]
    other = [iteration(number, 120 + number / 8) for number in range(1, 9)]
    for site, text in (("a", lines), ("b", edited), ("c", other)):
        (folder / site).mkdir()
        (folder / site / "train.log").write_text("".join(text))
    db = folder / "bench.duckdb"
    merge_all(db, [MergeSource(site, folder / site) for site in "abc"], None, 5.0)
    [found] = contradicting(db, 5.0)
    assert found.startswith("b/train.log:1: copies of one log contradict each other: a/train.log:1")
    assert "step_time_s has its mean" in found


@pytest.mark.parametrize("form", ["folder", "duckdb"])
def test_shared_places_are_merged_from_and_into(sites: Path, folder: Path, form: str) -> None:
    (folder / "from").mkdir()
    (folder / "into").mkdir()
    place, target = made(form, folder / "from"), made("folder", folder / "into")
    take(sites / "a", place)
    other = parse_other(str(place))
    assert other.group == "from" and parse_other(f"a={place}") == MergeSource("a", place)
    [(_, first)], _ = merge_all(target, [MergeSource("a", place)], None, 5.0)
    assert len(first.added) == 2
    again = merge(target, place, "a", 5.0)
    assert (again.added, again.unchanged) == ((), 2)
    with pytest.raises(BenchError, match="itself"):
        merge_all(target, [MergeSource("x", target)], None, 5.0)
    with open_read(target) as warehouse:
        assert warehouse.rows("SELECT group_name FROM merges") == [("a",)]
        uris = [uri for (uri,) in warehouse.rows("SELECT uri FROM sources ORDER BY uri")]
    assert [uri.startswith("a/") for uri in uris] == [True, True], uris


def test_a_stranger_s_warehouse_is_tables_alone_and_all_or_nothing(
    sites: Path, folder: Path
) -> None:
    shutil.copy(sites / "a" / "bench.duckdb", folder / "evil.duckdb")
    (folder / "secret.csv").write_text("a\n1\n")
    con = duckdb.connect(str(folder / "evil.duckdb"))
    con.execute("DROP VIEW IF EXISTS hidden_runs")  # views may be missing, or lie: none is read
    con.execute("CREATE OR REPLACE VIEW runs AS SELECT 1 / 0 AS run_id")
    con.close()
    db = folder / "bench.duckdb"
    assert merge(db, folder / "evil.duckdb", "e", 5.0).added
    before = rows(db, "SELECT count(*) FROM raw.runs")
    con = duckdb.connect(str(folder / "evil.duckdb"))
    con.execute("UPDATE raw.loads SET sha256 = sha256[:-2] || 'x'")
    con.execute("ALTER TABLE raw.topology ALTER COLUMN tp TYPE VARCHAR")
    con.execute("UPDATE raw.topology SET tp = 'four'")
    con.close()
    with pytest.raises(Incompatible):
        merge(db, folder / "evil.duckdb", "f", 5.0)
    assert rows(db, "SELECT count(*) FROM raw.runs") == before
    con = duckdb.connect(str(folder / "evil.duckdb"))
    con.execute("DROP TABLE raw.cells")
    con.execute(f"CREATE VIEW raw.cells AS FROM read_csv('{folder / 'secret.csv'}')")
    con.close()
    with pytest.raises(Incompatible, match="no warehouse"):
        merge(db, folder / "evil.duckdb", "f", 5.0)


def test_names_of_groups(sites: Path, folder: Path) -> None:
    assert parse_other(str(sites / "a" / "bench.duckdb")).group == "a"
    assert parse_other(f"x={sites / 'a'}") == MergeSource("x", sites / "a")
    for wrong in ("nowhere", "x=nowhere", f"../x={sites}"):
        with pytest.raises(BenchError):
            parse_other(wrong)
    one = MergeSource("x", sites / "a" / "bench.duckdb")
    with pytest.raises(BenchError, match="duplicate group"):
        merge_all(folder / "bench.duckdb", [one, one], None, 5.0)
    with pytest.raises(BenchError, match="itself"):
        merge_all(one.path, [one], None, 5.0)
