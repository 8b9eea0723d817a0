"""The program as its users meet it: every command, and every option before and after it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from bench.terminal.command_group import BY_NAME
from tests.program import Outcome, bench, commands, quick, told, words

COMMANDS = commands()


# What there is.


def test_the_commands(root: Path) -> None:
    names = (
        "ingest forget report runs show explain days best compare chart sql export audit diff ci"
        " doctor launch watch db failures trend stragglers site history predict plan claim verify"
        " merge"
    )
    assert sorted(COMMANDS) == sorted(names.split())
    files = {file.stem for file in (root / "commands").glob("*.py")}
    assert files == {"__init__", *COMMANDS}, "a command is a file, and each file is listed"


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
    # Four alike are said once, with one example.
    assert first.err.count("13 cells under 12 headings") == 1
    assert "000_fugaku_sweep.md:36: 13 cells under 12 headings (and 3 more like this)" in first.err
    assert "all 17 warnings: bench sql 'FROM warnings'" in first.err
    assert "001_1.3b_benchmarking.md:29: '20033.7 MiB'" in first.err
    [after] = re.findall(r"^next: bench (.*)$", first.err, re.M)
    again = quick(folder, "ingest", "data", str(folder / "data" / "tables"))
    assert again.code == 0 and again.out == ""
    assert "0 new, 9 unchanged" in again.err
    assert quick(folder, *words(after)).code == 0


def test_quiet_says_nothing_but_errors(data: Path, folder: Path) -> None:
    done = bench(folder, "-q", "ingest", str(data / "tables"))
    assert (done.code, done.out, done.err) == (0, "", "")
    done = quick(folder, "ingest", "-q", str(data / "tables"))
    assert (done.code, done.out, done.err) == (0, "", "")
    told(quick(folder, "-q", "ingest", "nowhere"), 2, "nowhere")


def test_verbose_names_what_was_passed_by(data: Path, folder: Path) -> None:
    done = quick(folder, "ingest", "-v", str(data))
    assert "tables/SOURCE.md: skipped, not a log or benchmark table" in done.err


def test_paths_are_read_without_a_warehouse(data: Path, folder: Path) -> None:
    done = quick(folder, "report", str(data / "tables"), "--model", "124M")
    assert done.code == 0, done.text
    assert "# 124M: measured speed" in done.out
    assert list(folder.iterdir()) == [folder / ".git"]


@pytest.mark.parametrize("label", ["1.3B", "1B3", "1.3b", "1300M"])
def test_a_model_by_any_of_its_labels(swept: Path, label: str) -> None:
    assert "\n# 1.3B: measured speed" in quick(swept, "report", "--model", label).out


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
    "--tokens": "300B", "--set": "heads=",
}  # fmt: skip
LINES = {
    "ingest": "ingest data/logs", "report": "report", "runs": "runs", "show": "show 001:29",
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
    if name in ("--columns", "--group", "--format") and line == "ingest data/logs":
        given = ["--format", "csv"]
    before = quick(swept, *given, *words(line))
    after = quick(swept, *words(line), *given)
    assert timeless(before) == timeless(after)
    # A page has no columns; computed reports have.
    refused = "forget" in line or (line == "report" and name in ("--columns", "--group"))
    refused = refused or (name == "--set" and line != "ingest data/logs")
    refused = refused or (name == "--since" and line == "ingest data/logs")  # of --history
    assert before.code == (2 if refused else 0), before.text
