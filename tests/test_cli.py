"""The program as its users meet it: every command, exit code, and sort of wrong input."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import pytest
from markdown_it import MarkdownIt
from typer.main import get_command

from bench.cli import app
from bench.terminal.options import BY_NAME
from tests.program import Outcome, bench, environment, quick

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]  # a group, as typer makes it
READING = ("report", "runs", "show 001:29", "sql 'FROM sources'", "export -o {tmp}")
TABLE = "data/tables/001_1.3b_benchmarking.md"


def words(text: str) -> list[str]:
    """A command line as a shell would split it."""
    import shlex

    return shlex.split(text)


def told(outcome: Outcome, code: int, *parts: str) -> None:
    """An error in words: the code, nothing on stdout, no traceback, every part said."""
    assert outcome.code == code, outcome.text
    assert outcome.out == "", outcome.text
    assert "Traceback" not in outcome.err and 'File "' not in outcome.err
    for part in parts:
        assert part in outcome.err, f"{part!r} is not in:\n{outcome.err}"
    if outcome.err.startswith("error:"):  # ours, not typer's usage
        assert "\n  try: " in outcome.err or "\n  why: " in outcome.err, outcome.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder in which no bench.toml from above counts."""
    (tmp_path / ".git").mkdir()
    return tmp_path


# What there is.


def test_the_commands() -> None:
    names = "ingest forget report runs show sql export audit diff ci"
    assert sorted(COMMANDS) == sorted(names.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(folder: Path, name: str) -> None:
    done = quick(folder, name, "--help")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(f"Usage: bench {name} ")
    for parameter in COMMANDS[name].params:
        assert parameter.help, f"{name} {parameter.name} has no help"
    assert all(len(line) <= 100 for line in done.out.splitlines())


@pytest.mark.parametrize("args", ["--help", "-h", "--version", "report -h"])
def test_what_only_tells(folder: Path, args: str) -> None:
    done = bench(folder, *args.split())
    assert done.code == 0 and done.out and done.err == ""
    assert list(folder.iterdir()) == [folder / ".git"]


def test_without_a_command_it_helps(folder: Path) -> None:
    done = quick(folder)
    assert done.code == 2 and "Commands:" in done.out + done.err


# Ingest, once and again.


def test_ingest_says_what_it_read_and_what_comes_next(data: Path, folder: Path) -> None:
    shutil.copytree(data, folder / "data")
    first = bench(folder, "ingest", "data", "--format", "json")
    assert first.code == 0, first.text
    read = json.loads(first.out)
    assert [(row["kind"], row["files"]) for row in read] == [
        ("document", 5), ("log", 3), ("log", 1),
    ]  # fmt: skip
    assert sum(row["lines"] for row in read) == sum(
        len(path.read_text().splitlines())
        for path in (*(data / "logs").glob("*.log"), *(data / "tables").glob("0*.md"))
    )
    assert "000_fugaku_sweep.md:36: 13 cells under 12 headings" in first.err
    assert "001_1.3b_benchmarking.md:29: '20033.7 MiB'" in first.err
    [after] = re.findall(r"^next: bench (.*)$", first.err, re.M)
    again = bench(folder, "ingest", "data", str(folder / "data" / "tables"))
    assert again.code == 0 and again.out == ""
    assert "0 new, 9 known and unchanged" in again.err
    assert quick(folder, *words(after)).code == 0


def test_quiet_says_nothing_but_errors(data: Path, folder: Path) -> None:
    done = bench(folder, "-q", "ingest", str(data / "tables"))
    assert (done.code, done.out, done.err) == (0, "", "")
    done = bench(folder, "ingest", "-q", str(data / "tables"))
    assert (done.code, done.out, done.err) == (0, "", "")
    told(bench(folder, "-q", "ingest", "nowhere"), 2, "nowhere")


def test_verbose_names_what_was_passed_by(data: Path, folder: Path) -> None:
    done = quick(folder, "ingest", "-v", str(data))
    assert "tables/SOURCE.md: neither log nor benchmark table" in done.err


def test_paths_are_read_without_a_warehouse(data: Path, folder: Path) -> None:
    done = bench(folder, "report", str(data / "tables"), "--model", "124M")
    assert done.code == 0, done.text
    assert "# 124M: what was measured" in done.out
    assert list(folder.iterdir()) == [folder / ".git"]


@pytest.mark.parametrize("label", ["1.3B", "1B3", "1.3b", "1300M"])
def test_a_model_by_any_of_its_labels(swept: Path, label: str) -> None:
    assert "\n# 1.3B: what was measured" in quick(swept, "report", "--model", label).out


def test_a_word_is_a_report_and_a_path_with_a_dot_a_file(data: Path, folder: Path) -> None:
    (folder / "model").write_bytes((data / "tables" / "004_tr3m-1B3.md").read_bytes())
    told(quick(folder, "report", "model"), 2, "no warehouse")
    assert quick(folder, "report", "./model").code in (0, 3)


def test_forget_hides_and_shows_again(data: Path, folder: Path) -> None:
    shutil.copytree(data / "tables", folder / "tables")
    assert quick(folder, "ingest", "tables").code == 0
    before = quick(folder, "report", "--model", "1.3B")
    listed = quick(folder, "sql", "SELECT count(*) AS n FROM runs", "--format", "json")
    hidden = quick(folder, "forget", "004")
    assert hidden.code == 0 and "004_tr3m-1B3.md" in hidden.err
    assert "| 004" not in quick(folder, "report", "--model", "1.3B").out
    run = quick(folder, "forget", "001:28")
    assert run.code == 0, run.text
    assert "162.5" not in quick(folder, "report", "--model", "1.3B").out
    told(quick(folder, "forget", "001", "nonsense"), 2, "nonsense")
    assert "001 " in quick(folder, "report", "--model", "1.3B").out, "all or none"
    [identifier] = re.findall(r"run ([0-9a-f]+)", run.err)
    told(quick(folder, "forget", "--undo", "003"), 2, "is not hidden", "tables/004_tr3m-1B3.md")
    done = quick(folder, "forget", "--undo", "tables/004_tr3m-1B3.md", identifier)
    assert done.code == 0, done.text
    assert quick(folder, "report", "--model", "1.3B") == before
    again = quick(folder, "sql", "SELECT count(*) AS n FROM runs", "--format", "json")
    assert again.out == listed.out


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_export(swept: Path, folder: Path, form: str) -> None:
    done = quick(swept, "export", "-o", str(folder / "out"), "--format", form)
    assert done.code == 0, done.text
    runs = folder / "out" / f"runs.{form}"
    if form == "csv":
        count = len(list(csv.DictReader(io.StringIO(runs.read_text(), newline=""))))
    elif form == "json":
        count = len(json.loads(runs.read_text()))
    else:
        with duckdb.connect() as con:
            [(count,)] = con.execute("SELECT count(*) FROM read_parquet(?)", [str(runs)]).fetchall()
    counted = quick(swept, "sql", "SELECT count(*) AS n FROM runs", "--format", "json")
    assert [{"n": count}] == json.loads(counted.out)
    assert f"{count} runs" in done.err
    assert not [path for path in (folder / "out").iterdir() if path.suffix == ".part"]


# Options before and after the command.

VALUES = {
    "--db": "bench.duckdb", "--model": "1.3B", "--table": "001:2", "--where": "tp = 4",
    "--since": "2001-01-31", "--columns": "uri,line", "--group": "tp,pp", "--format": "json",
    "--output": "-", "--lock-timeout": "1", "--document": "001", "--steps": "1000",
    "--tokens": "300B",
}  # fmt: skip
LINES = {
    "ingest": "ingest data", "report": "report", "runs": "runs", "show": "show 001:29",
    "sql": "sql 'SELECT 1 AS one'", "forget": "forget nonsense",
}  # fmt: skip


def options() -> Iterator[tuple[str, str]]:
    for command, line in LINES.items():
        for parameter in COMMANDS[command].params:
            for name in parameter.opts:
                if name in BY_NAME and name not in ("--templates", "-o", "-q", "-v"):
                    yield line, name


def timeless(outcome: Outcome) -> tuple[int, str, str]:
    return outcome.code, outcome.out, re.sub(r" in \d+\.\d s", "", outcome.err)


@pytest.mark.slow
@pytest.mark.parametrize(("line", "name"), list(options()))
def test_every_option_before_and_after(swept: Path, line: str, name: str) -> None:
    given = [name, VALUES[name]] if name in VALUES else [name]
    if name in ("--columns", "--group", "--format") and line == "ingest data":
        given = ["--format", "csv"]
    before = quick(swept, *given, *words(line))
    after = quick(swept, *words(line), *given)
    assert timeless(before) == timeless(after)
    assert before.code == (2 if "forget" in line else 0), before.text


# Formats.


class Cells(HTMLParser):
    """The tables of an HTML text as rows of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.open = True

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.rows[-1][-1] += data


def parsed(form: str, text: str) -> list[list[str]]:
    """The rows of a listing, headings first."""
    if form == "json":
        rows = json.loads(text)
        assert isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
        return [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    if form == "csv":
        return list(csv.reader(io.StringIO(text, newline="")))
    if form == "tsv":
        return [line.split("\t") for line in text.splitlines()]
    if form == "html":
        page = Cells()
        page.feed(text)
        return page.rows
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type in ("td_open", "th_open"):
            rows[-1].append(tokens[at + 1].content)
    return rows


LISTINGS = ["runs", "runs --all", "show 001:29", "sql 'FROM runs'", "report --table 001:2"]


@pytest.mark.parametrize("form", ["md", "csv", "tsv", "json", "html"])
@pytest.mark.parametrize("line", LISTINGS)
def test_every_listing_in_every_format(swept: Path, folder: Path, line: str, form: str) -> None:
    done = quick(swept, *words(line), "--format", form)
    assert done.code == 0, done.text
    rows = parsed(form, done.out)
    assert len(rows) > 5 and len({len(row) for row in rows}) == 1
    assert done.out.endswith("\n") and not done.out.endswith("\n\n")
    file = folder / f"out.{form}"
    assert quick(swept, *words(line), "-o", str(file)).code == 0
    assert file.read_bytes() == done.out.encode()


@pytest.mark.parametrize("form", ["csv", "tsv", "json"])
def test_a_carriage_return_is_no_new_row(swept: Path, form: str) -> None:
    done = quick(swept, "sql", "SELECT 'a' || chr(13) || 'b' AS x, 1 AS y", "--format", form)
    assert len(parsed(form, done.out)) == 2


@pytest.mark.parametrize("form", ["md", "csv", "tsv", "json", "html"])
def test_a_page_in_every_format(swept: Path, form: str) -> None:
    done = quick(swept, "report", "--model", "1.3B", "--format", form)
    assert done.code == 0, done.text
    if form in ("csv", "tsv"):
        rows = parsed(form, done.out)
        assert len(rows) == 60 and len({len(row) for row in rows}) == 1
    elif form == "json":
        page = json.loads(done.out)
        assert page["name"] == "1.3B" and len(page["ranked"]) > 10
    elif form == "html":
        assert len(parsed(form, done.out)) > 50 and done.out.startswith("<!doctype html>")
    else:
        assert "# 1.3B: what was measured" in done.out


def test_a_terminal_gets_a_table_and_a_pipe_markdown(swept: Path) -> None:
    assert quick(swept, "runs").out.startswith("| runs |")
    for columns in (40, 80, 200):
        shown = on_a_terminal(swept, columns, "runs", "--model", "1.3B")
        lines = [x for x in shown.splitlines() if x and not x.startswith("also:")][:-1]
        assert lines[0].startswith("runs  size")
        assert all(len(line) <= columns for line in lines), (columns, lines)
    assert "also: " in on_a_terminal(swept, 40, "runs", "--model", "1.3B")


def on_a_terminal(folder: Path, columns: int, *args: str) -> str:
    leader, follower = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "bench", *args], cwd=folder, stdout=follower, stderr=follower,
        env=environment({"COLUMNS": str(columns), "TERM": "dumb"}),
    )  # fmt: skip
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(leader)
    assert done.wait(60) == 0
    return b"".join(parts).decode()


def test_a_page_on_a_terminal_cannot_move_its_cursor(folder: Path) -> None:
    (folder / "x.md").write_text(
        "# \x1b]0;title\x07 \x9b2J\n\n"
        "| Nodes | TP | MBS | Sec/it | Notes |\n|---|---|---|---|---|\n"
        "| 4 | 1 | 1 | 10.5 | \x1b[2J\u202egone |\n"
    )
    for args in ("report x.md", "runs x.md --all --columns notes,tp --format csv", "runs x.md"):
        shown = on_a_terminal(folder, 80, *args.split())
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", shown), args


# Wrong input.


@pytest.mark.parametrize("line", [*READING, "forget x"])
def test_no_warehouse(folder: Path, line: str) -> None:
    done = bench(folder, *words(line.format(tmp=folder / "out")))
    told(done, 2, "no warehouse at", "bench ingest PATH...")


WRONG = [
    ("report nonsense", ["'nonsense' is neither a report nor a file", "reports: days, model"]),
    ("report --model 9B", ["no runs of model '9B'", "1.3B (59)", "124M (31)"]),
    ("report --model ''", ["no runs of model ''", "1.3B (59)"]),
    ("runs --model '%'", ["no runs of model '%'"]),
    ('report --model "\'; DROP"', ["no runs of model"]),
    ("report --document nope", ["no source is called 'nope'", "004_tr3m-1B3.md"]),
    ("report --document 00", ["several sources are called '00'", "name one by its path"]),
    ("report --where 'tp = 77'", ["no runs to report on"]),
    ("report --since 2999-01-01", ["no runs to report on"]),
    ("runs --columns foo", ["unknown column 'foo'", "known: "]),
    ("runs --columns ,", ["no column is named"]),
    ("runs --columns node --all", ["did you mean 'nodes'"]),
    ("runs --columns iterations", ["unknown column"]),
    ("runs --columns line,runs", ["a group of runs has no single 'line'"]),
    ("runs --group foo", ["unknown column 'foo'"]),
    ("runs --where 'foo = 1'", ["unknown column 'foo'", "character 1"]),
    ("runs --where 'tp ='", ["not a whole condition", "character 4"]),
    ("runs --where ''", ["no condition"]),
    ("runs --where 'tp = 4; DROP TABLE runs'", ["';' is not part of this grammar"]),
    ("runs --where \"read_text('/etc/passwd') = 'x'\"", ["functions such as 'read_text'"]),
    ("runs --where 'tp in (select 1)'", ["unknown column 'select'", "character 8"]),
    ("report --tokens many", ["'many' is no whole number", "380B"]),
    ("report --steps 0", ["'0' is no whole number"]),
    ("report --tokens=-5", ["'-5' is no whole number"]),
    ("report --table nope.md", ["no source is called 'nope.md'"]),
    ("report --table 001:9", ["has no table 9", "it has 3"]),
    ("report --table 001:0", ["N from 1"]),
    ("report --table fugaku_dp2", ["has no benchmark table"]),
    ("report --table 001 --format csv", ["one table only", "--table 001:1"]),
    ("report --templates nowhere", ["no such folder of templates", "nowhere"]),
    ("report -o nowhere/x.md", ["the output's folder does not exist", "mkdir -p nowhere"]),
    ("runs -o nowhere/x.md", ["the output's folder does not exist"]),
    ("show 001:29 -o nowhere/x.md", ["the output's folder does not exist"]),
    ("show nonsense", ["no run 'nonsense'", "bench runs --all"]),
    ("show 001:9999", ["no run '001:9999'"]),
    ("show nope:3", ["no source is called 'nope'"]),
    ("show 0", ["several runs begin with '0'", "write more of the id"]),
    ("show ''", ["several runs begin with ''"]),
    ("sql ''", ["takes one query", "there is none"]),
    ("sql ';'", ["takes one query"]),
    ("sql 'FROM runs; FROM sources'", ["takes one query", "there are 2"]),
    ("sql 'SELEC 1'", ["the query failed", "tables: cells, "]),
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
    ("report nowhere.md", ["neither a report nor a file"]),
    ("runs nowhere.md", ["no such file or folder: nowhere.md"]),
    ("rusn", ["Did you mean 'runs'?"]),
    ("report --modle 1.3B", ["--modle", "--model"]),
    ("report --format pdf", ["'pdf' is not one of"]),
    ("export --format pdf", ["'pdf' is not one of"]),
    ("--lock-timeout soon report", ["Invalid value for '--lock-timeout'", "number"]),
    ("report --lock-timeout nan", []),
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
            told(done, 3, "nothing recognised", "two known headings")
    told(bench(folder, "ingest", "."), 3, "nothing recognised")
    told(bench(folder, "ingest", ".", "-q"), 3, "nothing recognised")


def test_a_warehouse_that_is_none(folder: Path, data: Path) -> None:
    con = duckdb.connect(str(folder / "foreign.duckdb"))
    con.execute("CREATE TABLE theirs (a INTEGER)")
    con.close()
    (folder / "text.duckdb").write_text("hello\n")
    (folder / "empty.duckdb").write_bytes(b"")
    for name, words in (
        ("foreign", "no warehouse of bench"),
        ("text", "not a warehouse"),
        ("empty", "empty file is no warehouse"),
    ):
        before = (folder / f"{name}.duckdb").read_bytes()
        for command in ("report", "runs", f"ingest {data / 'tables'}", "export -o out"):
            told(quick(folder, "--db", f"{name}.duckdb", *command.split()), 4, words, "--db PATH")
        assert (folder / f"{name}.duckdb").read_bytes() == before, "another's file is left alone"


def test_a_damaged_warehouse(swept: Path, folder: Path) -> None:
    whole = (swept / "bench.duckdb").read_bytes()
    (folder / "bench.duckdb").write_bytes(whole[: len(whole) // 3])
    shutil.copytree(swept / "data", folder / "data")
    for line in [*(r.format(tmp="out") for r in READING), "ingest data", "forget 001"]:
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
    assert "tables/004_tr3m-1B3.md: not read: Permission denied" in done.err
    assert "4 new" in done.err and "1 failed" in done.err
    told(kept, 2, "cannot be written", "Permission denied", "try: ")
    told(other, 2, "cannot be written", "Permission denied")
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
    ("{{ lipsum.__globals__['os'].system('id') }}", "unsafe", 1),
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


# Locks, interrupts and closed pipes.

HOLD = (
    "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(flush=True); time.sleep(60)"
)


def test_a_locked_warehouse_names_the_process(swept: Path, folder: Path) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    shutil.copytree(swept / "data", folder / "data")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "bench.duckdb")], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline()
        try:
            lines = [*(r.format(tmp="out") for r in READING), "ingest data", "forget 001"]
            for line in lines:
                done = quick(folder, *words(line), "--lock-timeout", "0.1")
                told(done, 4, "is locked", f"process {holder.pid} has it open", "--lock-timeout")
            began = time.monotonic()
            told(bench(folder, "--lock-timeout", "1.5", "report"), 4, str(holder.pid))
            assert 1.5 <= time.monotonic() - began < 12
            assert quick(folder, "report", "data/tables", "--model", "1.3B").code == 0
        finally:
            holder.kill()
    assert quick(folder, "report", "--model", "1.3B").code == 0


def test_a_lock_that_is_let_go_in_time(swept: Path, folder: Path) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    hold = HOLD.replace("60", "1")
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / "bench.duckdb")], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout and holder.stdout.readline()
        assert quick(folder, "runs", "--lock-timeout", "30").code == 0


LONG = "SELECT count(*) FROM range(10000000000) a, range(100000) b WHERE a.range = b.range + 1e9"


@pytest.mark.parametrize("doing", ["a query", "waiting for the lock"])
def test_interrupted(swept: Path, folder: Path, doing: str) -> None:
    shutil.copy(swept / "bench.duckdb", folder)
    line = ["sql", LONG] if doing == "a query" else ["report", "--lock-timeout", "60"]
    hold = [sys.executable, "-c", HOLD, str(folder / "bench.duckdb")]
    with subprocess.Popen(hold, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline()
        if doing == "a query":
            holder.kill()
            holder.wait()
        with subprocess.Popen(
            [sys.executable, "-m", "bench", *line], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        ) as program:  # fmt: skip
            time.sleep(3)
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=30)
        holder.kill()
    assert (program.returncode, out, err) == (130, b"", b"interrupted\n")
    assert quick(folder, "runs").code == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_quiet(swept: Path, unbuffered: str) -> None:
    query = "SELECT * FROM cells a, cells b LIMIT 30000"
    with subprocess.Popen(
        [sys.executable, "-m", "bench", "sql", query, "--format", "csv"], cwd=swept,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment({"PYTHONUNBUFFERED": unbuffered}),
    ) as program:  # fmt: skip
        assert program.stdout and program.stderr
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 141


def test_where_the_warehouse_is(swept: Path, folder: Path) -> None:
    db = str(swept / "bench.duckdb")
    count = "SELECT count(*) AS n FROM sources"
    wanted = '[\n  {"n": 9}\n]\n'
    line = ["sql", count, "--format", "json"]
    assert quick(folder, *line, "--db", db).out == wanted
    assert bench(folder, *line, env={"BENCH_DB": db}).out == wanted
    (folder / "bench.toml").write_text(f'db = "{db}"\n')
    assert bench(folder, *line).out == wanted
    (folder / "bench.toml").write_text("db = \n")
    told(bench(folder, *line), 2, "not valid TOML", "bench.toml:1")
