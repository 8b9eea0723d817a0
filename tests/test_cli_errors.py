"""Every sort of wrong input: the exit code, and an error in words."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import duckdb
import pytest

from tests.program import READING, bench, quick, told, words

TABLE = "data/tables/001_1.3b_benchmarking.md"


@pytest.mark.parametrize("line", [*READING, "forget x"])
def test_no_warehouse(folder: Path, line: str) -> None:
    done = quick(folder, *words(line.format(tmp=folder / "out")))
    told(done, 2, "no warehouse at", "bench ingest PATH...")


WRONG = [
    (
        "report nonsense",
        [
            "'nonsense' is neither a report nor an existing file",
            "reports: best, days, failures, model",
        ],
    ),
    ("report --model 9B", ["no runs of model '9B'", "1.3B (59)", "124M (31)"]),
    ("report --model ''", ["no runs of model ''", "1.3B (59)"]),
    ("runs --model '%'", ["no runs of model '%'"]),
    ('report --model "\'; DROP"', ["no runs of model"]),
    ("report --document nope", ["no source is called 'nope'", "known sources: ", ", 003, 004"]),
    ("report --document 00", ["several sources are called '00'", "name one by its path"]),
    ("report --where 'tp = 77'", ["no runs to report on"]),
    ("report --since 2999-01-01", ["no runs to report on"]),
    ("runs --columns foo", ["unknown column 'foo'", "known: "]),
    ("runs --columns ,", ["no columns given"]),
    ("runs --columns node --all", ["did you mean 'nodes'"]),
    ("runs --columns gpus", ["did you mean 'devices'?"]),
    ("runs --columns iterations", ["unknown column"]),
    ("runs --columns line,runs", ["a group of runs has no single 'line'"]),
    ("runs --group foo", ["unknown column 'foo'"]),
    ("runs --where 'foo = 1'", ["unknown column 'foo'", "character 1"]),
    ("runs --where 'tp ='", ["not a whole condition", "character 4"]),
    ("runs --where ''", ["no condition"]),
    ("runs --where 'tp = 4; DROP TABLE runs'", ["';' is not part of this grammar"]),
    ("runs --where \"read_text('/etc/passwd') = 'x'\"", ["functions such as 'read_text'"]),
    ("runs --where 'tp in (select 1)'", ["unknown column 'select'", "character 8"]),
    ("report --tokens many", ["'many' is not a positive integer", "380B"]),
    ("report --steps 0", ["'0' is not a positive integer"]),
    ("report --tokens=-5", ["'-5' is not a positive integer"]),
    ("report --table nope.md", ["no source is called 'nope.md'"]),
    ("report --table 001:9", ["has no table 9", "it has 3"]),
    ("report --table 001:0", ["N >= 1"]),
    ("report --table fugaku_dp2", ["has no benchmark table"]),
    ("report --table 001 --format csv", ["needs a single table", "--table 001:1"]),
    ("report --templates nowhere", ["no such folder of templates", "nowhere"]),
    ("report -o nowhere/x.md", ["output directory does not exist", "mkdir -p nowhere"]),
    ("runs -o nowhere/x.md", ["output directory does not exist"]),
    ("show 001:29 -o nowhere/x.md", ["output directory does not exist"]),
    ("runs -o x.png", ["cannot write a table as .png", "bench chart"]),
    ("trend step_time -o x.gif", ["cannot write a table as .gif", ".svg and .png"]),
    ("show nonsense", ["no run 'nonsense'", "bench runs --all"]),
    ("show 001:9999", ["no run '001:9999'", "the nearest runs of 001 are on lines"]),
    ("show nope:3", ["no source is called 'nope'", "known sources: fugaku_1proc, fugaku_dp2"]),
    ("show fugako_dp2:3", ["no source is called 'fugako_dp2'", "did you mean fugaku_dp2"]),
    ("explain days nope:3", ["no source is called 'nope'"]),
    ("explain step_time 001:29", ["no metric 'step_time'", "did you mean 'step_time_s'?"]),
    ("show 0", ["several runs begin with '0'", "write more of the id"]),
    ("show ''", ["several runs begin with ''"]),
    ("sql ''", ["takes one query", "there is none"]),
    ("sql ';'", ["takes one query"]),
    ("sql 'FROM runs; FROM sources'", ["takes one query", "there are 2"]),
    (
        "sql 'SELEC 1'",
        ["the query failed", "tables: annotations, beside, brought_statements, cells, "],
    ),
    ("sql 'FROM nonsense'", ["the query failed", "nonsense"]),
    ("sql \"FROM '/etc/passwd'\"", ["the query failed"]),
    ("sql \"FROM read_text('/etc/passwd')\"", ["file system operations are disabled"]),
    ("sql \"FROM glob('/*')\"", ["the query failed"]),
    ("sql \"FROM read_csv('https://example.org/x.csv')\"", ["the query failed"]),
    ("sql \"COPY runs TO 'x.csv'\"", ["x.csv' is not there"]),
    ("sql \"ATTACH 'x.duckdb'\"", ["x.duckdb' is not there"]),
    ("sql \"EXPORT DATABASE 'x'\"", ["x' is not there"]),
    ("sql 'INSTALL httpfs'", ["may only read|the query failed"]),
    ("sql 'LOAD httpfs'", ["may only read|the query failed"]),
    ("sql \"SET memory_limit = '9TB'\"", ["may only read|the query failed"]),
    ("sql 'DROP TABLE raw.runs'", ["may only read|the query failed"]),
    ("sql 'DELETE FROM raw.runs'", ["may only read|the query failed"]),
    ("sql \"INSERT INTO raw.hidden SELECT 'uri', 'x', true, now()\"", ["may only read"]),
    ("sql \"SELECT getenv('HOME')\"", ["the query failed"]),
    ("forget nonsense", ["no source is called 'nonsense'"]),
    ("forget --undo 001", ["'001' is not hidden", "hidden: nothing"]),
    ("forget", ["Missing argument"]),
    ("ingest", ["Missing argument"]),
    ("ingest nowhere", ["no such file or folder: nowhere"]),
    ("report nowhere.md", ["neither a report nor an existing file"]),
    ("runs nowhere.md", ["no such file or folder: nowhere.md"]),
    ("rusn", ["Did you mean 'runs'?"]),
    ("report --modle 1.3B", ["--modle", "--model"]),
    ("report --format pdf", ["'pdf' is not one of"]),
    ("export --format pdf", ["'pdf' is not one of"]),
    ("--lock-timeout soon report", ["Invalid value for '--lock-timeout'", "number"]),
    ("report --lock-timeout nan", []),
    ("show \udcff", ["a word of the command is no UTF-8"]),
    ("explain \udcff", ["a word of the command is no UTF-8"]),
    ("predict --nodes -3", ["Invalid value for '--nodes'", "it must be at least 1"]),
    ("predict --nodes 1e9", ["Invalid value for '--nodes'", "it must be a whole number"]),
    ("site -o out --serve 99999999", ["it must be at most 65535"]),
    ("--db s3://nowhere/x runs", ["no warehouse at", "folder:DIR or ducklake:CATALOG"]),
    ("stragglers", ["no log names the hosts of its job", "logs searched for SLURM_JOB_NODELIST"]),
    ("compare a b c d", ["'a' is not a file, condition or run", "in no git repository"]),
    ("ingest data --set nodes=many", ["nodes cannot be 'many'", "nodes is a whole number\n"]),
    ("--db nowhere/x.duckdb ingest data", ["its folder does not exist", "mkdir -p"]),
    ("--db data report", ["is a folder", "--db"]),
]


@pytest.mark.parametrize(("line", "parts"), WRONG)
def test_wrong_input_is_told(swept: Path, line: str, parts: list[str]) -> None:
    before = sorted(swept.iterdir())
    done = quick(swept, *words(line))
    if "nan" in line:
        assert done.code in (0, 2)
        return
    told(done, 2, *(part for part in parts if not part.endswith("not there") and "|" not in part))
    assert all(re.search(part, done.err) for part in parts if "|" in part), done.err
    assert sorted(swept.iterdir()) == before, "a wrong command left something behind"


def test_what_holds_nothing(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "noise.log").write_bytes(bytes(range(256)) * 40)
    (folder / "noise.md").write_bytes(os.urandom(5000))
    (folder / "prose.md").write_text(
        "# A title\n\nOnly prose.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    (folder / "nothing.log").write_bytes(b"")
    duckdb.connect(str(folder / "foreign.duckdb")).close()
    for name in ("empty", "noise.log", "noise.md", "prose.md", "nothing.log", "foreign.duckdb"):
        for command in ("ingest", "report", "runs"):
            done = quick(folder, command, name)
            told(done, 3, "no log or benchmark table found", "two known headings")
    told(quick(folder, "ingest", "."), 3, "no log or benchmark table found")
    told(quick(folder, "ingest", ".", "-q"), 3, "no log or benchmark table found")


def test_a_warehouse_that_is_none(folder: Path, data: Path) -> None:
    con = duckdb.connect(str(folder / "foreign.duckdb"))
    con.execute("CREATE TABLE theirs (a INTEGER)")
    con.close()
    (folder / "text.duckdb").write_text("hello\n")
    (folder / "empty.duckdb").write_bytes(b"")
    for name, why in (
        ("foreign", "no warehouse of bench"),
        ("text", "not a warehouse"),
        ("empty", "empty file is no warehouse"),
    ):
        before = (folder / f"{name}.duckdb").read_bytes()
        if name == "text":
            told(quick(folder, "db", "restore", "text.duckdb"), 4, "text.duckdb is not a warehouse")
        for command in ("report", "runs", f"ingest {data / 'tables'}", "export -o out"):
            told(quick(folder, "--db", f"{name}.duckdb", *command.split()), 4, why, "--db PATH")
        assert (folder / f"{name}.duckdb").read_bytes() == before, "another's file is left alone"


def test_a_damaged_warehouse(swept: Path, folder: Path) -> None:
    whole = (swept / "bench.duckdb").read_bytes()
    (folder / "bench.duckdb").write_bytes(whole[: len(whole) // 3])
    shutil.copytree(swept / "data", folder / "data")
    for line in [*(r.format(tmp="out") for r in READING), "ingest data", "forget 001"]:
        told(quick(folder, *words(line)), 4, "damaged or cut short", "try: ")


@pytest.mark.parametrize("first", [20_000, 300_000])
def test_a_warehouse_with_damaged_blocks(swept: Path, folder: Path, first: int) -> None:
    whole = bytearray((swept / "bench.duckdb").read_bytes())
    for place in range(first, len(whole), 1 << 18):
        whole[place : place + 4000] = bytes(byte ^ 0xA5 for byte in whole[place : place + 4000])
    (folder / "bench.duckdb").write_bytes(whole)
    for line in ("runs", "report", "export -o out"):
        told(quick(folder, *words(line)), 4, "damaged or cut short", "try: ")


def test_a_warehouse_of_a_newer_version(swept: Path, folder: Path) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    con = duckdb.connect(str(folder / "bench.duckdb"))
    con.execute("INSERT INTO raw.applied SELECT 999, '999_later', 'x', now()::TIMESTAMP")
    con.close()
    told(bench(folder, "report"), 4, "another version of bench", "upgrade bench")
    told(quick(folder, "ingest", str(swept / "data")), 4, "another version of bench")


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: permissions are those of POSIX")
def test_some_inputs_unreadable(data: Path, tmp_path: Path) -> None:
    for command in ("report", "export", "runs"):  # all is imported while we may
        quick(tmp_path, command, str(data / "tables"), "-o", str(tmp_path))
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders let nobody else in
        folder = Path(name)
        folder.chmod(0o777)
        (folder / ".git").mkdir()
        shutil.copytree(data / "tables", folder / "tables")
        (folder / "tables" / "004_tr3m-1B3.md").chmod(0)
        (folder / "out").mkdir()
        (folder / "out").chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            done = quick(folder, "ingest", "tables")
            kept = quick(folder, "report", "--model", "1.3B", "-o", "out")
            other = quick(folder, "runs", "-o", "out/x.md")
            export = quick(folder, "export", "-o", "out")
            db = quick(folder, "--db", "out/x.duckdb", "ingest", "tables/001_1.3b_benchmarking.md")
        finally:
            if root:
                os.seteuid(0)
    assert done.code == 1, done.text
    assert "tables/004_tr3m-1B3.md: cannot read: Permission denied" in done.err
    assert "4 new" in done.err and "1 failed" in done.err
    told(kept, 2, "cannot be written", "Permission denied", "try: ")
    told(other, 2, "cannot write", "Permission denied")
    told(export, 2, "cannot be written", "Permission denied")
    told(db, 2, "cannot", "ermission")


def test_an_output_that_is_the_wrong_thing(swept: Path, folder: Path) -> None:
    (folder / "file").write_text("mine\n")
    (folder / "x.md").mkdir()
    done = quick(swept, "report", "--model", "124M", "-o", str(folder / "file"))
    assert done.code == 0 and "# 124M: " in (folder / "file").read_text()
    told(quick(swept, "export", "-o", str(folder / "file")), 2, "is a file", "-o FOLDER")
    assert quick(swept, "runs", "-o", str(folder / "x.md")).code == 0
    assert (folder / "x.md" / "runs.md").is_file()
    assert quick(swept, "report", "-o", "/dev/null").code == 0
    for form in ("html", "json", "csv"):
        target = folder / form
        assert quick(swept, "report", "--format", form, "-o", str(target)).code == 0
        assert [path.suffix for path in target.iterdir()] == [f".{form}"]


@pytest.mark.parametrize("name", ["report", "best", "site"])
def test_an_output_without_a_name_writes_nothing(swept: Path, name: str) -> None:
    before = sorted(swept.iterdir())
    told(quick(swept, name, "-o", ""), 2, "-o names no file", "this folder")
    assert sorted(swept.iterdir()) == before


# Templates of a user.

TEMPLATES = [
    ("{{ nonesuch }}", "'nonesuch' is undefined", 1),
    ("line\n{{ counts[0].nokey }}", "has no attribute 'nokey'", 2),
    ("\n\n{% for x %}", "expected token 'in'", 3),
    ("{{ name", "unexpected end of template", 1),
    ("{{ name | nofilter }}", "No filter named 'nofilter'", 1),
    ("{{ 1 / 0 }}", "division by zero", 1),
    ("{{ name + 1 }}", "concatenate", 1),
    ("{{ counts | days_table }}", "size", 1),
    ("{{ 'a' | tokens }}", "could not convert", 1),
    ("{{ range(10 ** 9) | list }}", "Range too big", 1),
    ('{% include "../../etc/passwd" %}', "there is no template", 1),
    ('{% include "/etc/passwd" %}', "there is no template", 1),
    ('{% extends "model.md.j2" %}', "recursion", 1),
    ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe", 1),
    ("{{ budget.__init__.__globals__ }}", "unsafe", 1),
    ("{{ '{0.__class__}'.format(1) }}", "unsafe", 1),
    ("{{ cycler.__init__.__globals__['os'].system('id') }}", "unsafe", 1),
    ("{{ counts | attr('__class__') }}", "unsafe", 1),
]


@pytest.mark.parametrize(("text", "why", "line"), TEMPLATES)
def test_a_wrong_template_is_told(
    swept: Path, folder: Path, text: str, why: str, line: int
) -> None:
    (folder / "model.md.j2").write_text(text)
    done = quick(swept, "report", "--model", "124M", "--templates", str(folder))
    told(done, 2, "the template of 'model' failed", why, f"model.md.j2:{line}\n", "--templates")


def test_a_template_that_is_no_text(swept: Path, folder: Path) -> None:
    (folder / "model.md.j2").write_bytes(b"\xff\xfe")
    done = quick(swept, "report", "--model", "124M", "--templates", str(folder))
    told(done, 2, "the template of 'model' failed", "utf-8")


def test_a_source_shows_its_run_or_names_its_runs(swept: Path) -> None:
    told(quick(swept, "show", "001"), 2, "'001' is", "with 17 runs", "001:27", "bench show 001:27")
    done = quick(swept, "show", "fugaku_dp2")
    assert done.code == 0 and "fugaku_dp2.log:" in done.out


def test_a_file_that_is_written_is_named_and_needs_no_other(swept: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    done = quick(swept, "report", "--model", "1.3B", "-o", str(file))
    assert done.code == 0 and f"wrote {file}" in done.err
    text = file.read_text("utf-8")
    assert "<title>1.3B: measured speed" in text and "@media print" in text
    assert "<link" not in text and "src=" not in text
