"""CSV and TSV files: the same headings and cells as in markdown."""

from pathlib import Path

import pytest

from bench.ingest.documents.csv_files import read_separated
from bench.ingest.files.pipeline import ingest_into
from bench.records.scrub import keyed_id
from bench.schema.opening import in_memory
from bench.schema.rows import Rows

HEADER = "Nodes,Size,DP,TP,PP,MBS,GBS,Mem,Sec/it,TFLOPs,Notes"
ROW = "48,181B,8,8,6,4,2048,56GB,121.48,132.71,02-21"


def read(text: str, form: str = "csv") -> Rows:
    rows, _ = read_separated(text, "s", form)
    return rows


def facts_of(rows: Rows) -> list[tuple[object, ...]]:
    measured = {
        (row["run_id"], row["metric"]): row["value"] for row in rows.by_table["measurements"]
    }
    return [
        (
            run["line"],
            topology["nodes"],
            topology["gbs"],
            run["model"],
            measured.get((run["run_id"], "step_time_s")),
            measured.get((run["run_id"], "memory")),
        )
        for run, topology in zip(rows.by_table["runs"], rows.by_table["topology"], strict=True)
    ]


EXPECTED = [(2, 48, 2048, "181B", 121.48, 56.0)]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"{HEADER}\n{ROW}\n", "csv"),
        (f"{HEADER}\n{ROW}", "csv"),
        (f"{HEADER}\n{ROW}\n\n\n", "csv"),
        (f"{HEADER};x\n{ROW};y\n".replace(",", ";"), "csv"),
        (f"{HEADER}\n{ROW}\n".replace(",", "\t"), "csv"),
        (f"{HEADER}\n{ROW}\n".replace(",", "\t"), "tsv"),
        (f"{HEADER}\n{ROW}\n".replace(",", " , "), "csv"),
        ('"' + HEADER.replace(",", '","') + '"\n"' + ROW.replace(",", '","') + '"\n', "csv"),
    ],
    ids=[
        "plain",
        "no newline",
        "blank lines",
        "semicolons",
        "tabs in csv",
        "tabs",
        "spaces",
        "quotes",
    ],
)
def test_the_same_row_however_it_is_separated(text: str, form: str) -> None:
    assert facts_of(read(text, form)) == EXPECTED


def test_quotes_and_newlines_in_cells() -> None:
    rows = read(f'# from the cluster\n{HEADER}\n{ROW[:-5]}"fast, then\nslow"\n{ROW}\n')
    assert [run["line"] for run in rows.by_table["runs"]] == [3, 5]
    assert rows.by_table["runs"][0]["notes"] == "fast, then\nslow"


def test_settings_in_quotes() -> None:
    rows = read('Nodes,GBS,TFLOPs\n"512 (2.2Hz, LD_PRELOAD=libtcmalloc.so)",1024,0.43^\n')
    assert rows.by_table["topology"][0]["nodes"] == 512
    assert {flag["name"]: flag["value"] for flag in rows.by_table["env_flags"]} == {
        "clock_ghz": "2.2",
        "LD_PRELOAD": "libtcmalloc.so",
    }
    assert rows.by_table["measurements"][0]["marks"] == ["^"]


def test_rows_of_another_length_are_reported() -> None:
    rows = read("Nodes,GBS,TFLOPs,Notes\n4,512,10\n4,512\n4,512,10,a,b\n4,512,10,a\n")
    assert [warning["line"] for warning in rows.by_table["warnings"]] == [2, 3, 4]
    assert [run["flags"] for run in rows.by_table["runs"]] == [[], ["ragged"], ["ragged"], []]


def test_comments_and_empty_lines_are_passed_over() -> None:
    rows = read(f"# one\n\n{HEADER}\n# two\n,,,,,,,,,,\n{ROW}\n")
    assert facts_of(rows) == [(6, *EXPECTED[0][1:])]


def test_a_heading_that_starts_with_the_number_sign() -> None:
    rows = read("#GPUs,GBS,TFLOPs\n8,512,10\n")
    assert rows.by_table["topology"][0]["devices"] == 8


@pytest.mark.parametrize("text", ["", "\n", "# only this\n", "\n\n,,\n"])
def test_an_empty_file(text: str) -> None:
    rows, coverage = read_separated(text, "s", "csv")
    assert rows.by_table.get("runs", []) == []
    assert coverage.tables == 0


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "name,price\nx,3\n", "no commas at all\n", '"open quote\n']
)
def test_another_table_is_counted_but_not_read(text: str) -> None:
    rows, coverage = read_separated(text, "s", "csv")
    assert "runs" not in rows.by_table
    assert (coverage.tables, coverage.tables_other) == (0, 1)


def test_steps_of_several_logs_are_no_runs() -> None:
    lines = [f"{nodes},{at},2.9,1513,{12 - at / 10}" for nodes in (1, 2) for at in (10, 20, 30)]
    heading = "nodes,step,step_time_s,tokens_per_s,loss"
    assert "runs" not in read("\n".join([heading, *lines])).by_table
    ablations = [f"{nodes},100,2.9,1513,11.1" for nodes in (1, 2, 4)]
    assert len(read("\n".join([heading, *ablations])).by_table["runs"]) == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_with_bom_and_windows_lines(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes(f"{HEADER}\n{ROW}\n".replace("\n", "\r\n").encode(encoding))
    with in_memory() as warehouse:
        summary = ingest_into(warehouse, [tmp_path / "a.csv"], tmp_path)
        assert (summary.failed, summary.skipped) == ([], [])
        rows = warehouse.rows("SELECT uri, line, nodes, gbs FROM runs JOIN topology USING (run_id)")
        assert rows == [("a.csv", 2, 48, 2048)]
        assert warehouse.rows("SELECT DISTINCT form FROM tables") == [("csv",)]


def test_a_cell_of_any_length(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{HEADER}\n{ROW} {'x' * 200_000}\n")
    with in_memory() as warehouse:
        summary = ingest_into(warehouse, [tmp_path / "a.csv"], tmp_path)
        assert (summary.failed, summary.skipped) == ([], [])
        assert warehouse.rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("title", ["Benchmarks, 48 nodes, V100, May", "Runs; of May"])
def test_headings_below_a_title(title: str) -> None:
    semicolons = f"{HEADER}\n{ROW}\n".replace(",", ";")
    assert [fact[1:] for fact in facts_of(read(f"{title}\n{semicolons}"))] == [EXPECTED[0][1:]]


def test_a_file_of_more_rows_than_people_publish() -> None:
    """A row takes a few KB while it is read: 8 MiB of short ones took all memory."""
    rows, coverage = read_separated("model,tp,dp,tflops\n" + "a,1,2,3\n" * 50_001, "s", "csv")
    assert not rows.by_table["runs"] and coverage.tables == 0 and coverage.tables_other == 1
    [warning] = rows.by_table["warnings"]
    assert "a table of 50,001 rows is not read" in str(warning["message"])


def test_a_larger_file_is_not_read_as_one_table(tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    file.write_text(HEADER + "\n" + f"{ROW}{'x' * (1 << 20)}\n" * 65)
    with in_memory() as warehouse:
        summary = ingest_into(warehouse, [file], tmp_path)
    assert (summary.new, summary.skipped) == (0, ["large.csv"])


def test_ids_of_others_are_read() -> None:
    """Only an export of bench is left out: by its columns, or by its own ids."""
    named = read(f"run_id,{HEADER}\nbaseline,{ROW}\n")
    assert facts_of(named) == EXPECTED
    assert facts_of(read(f"run_id,{HEADER}\n2f15af1376d4,{ROW}\n")) == []
    assert facts_of(read(f"run,where,{HEADER}\n1,a.md:3,{ROW}\n")) == []


def test_an_export_is_known_with_logs_and_with_names_taken_out() -> None:
    head = f"run_id,table_id,{HEADER}"
    ids = ["2f15af1376d4", "2f15af1376d5", "0123456789ab"]
    for run, other, table in (ids, map(keyed_id, ids)):
        assert facts_of(read(f"{head}\n{run},,{ROW}\n{other},{table},{ROW}\n")) == []
        assert facts_of(read(f"{head}\n{run},,{ROW}\n")) == []
    assert facts_of(read(f"{head}\n,,{ROW}\n")) == EXPECTED
