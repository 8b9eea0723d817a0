"""Every listing and page in every format, on a pipe and on a terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.program import environment, quick, words


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
        assert len(parsed(form, done.out)) > 40 and done.out.startswith("<!doctype html>")
    else:
        assert "# 1.3B: measured speed" in done.out


def test_a_terminal_gets_a_table_and_a_pipe_markdown(swept: Path) -> None:
    assert quick(swept, "runs").out.startswith("| where")
    for columns in (40, 80, 200):
        shown = on_a_terminal(swept, columns, "runs", "--model", "1.3B")
        lines = [x for x in shown.splitlines() if x and not x.startswith("also:")][:-1]
        assert lines[0] == "All rows: size 1.3B." and shown.count("1.3B") == 1
        assert all(len(line) <= columns for line in lines), (columns, lines)
    assert "also: " in on_a_terminal(swept, 80, "runs", "--model", "1.3B")


def test_the_largest_model_is_listed_first_by_its_size(swept: Path) -> None:
    rows = json.loads(quick(swept, "runs", "--format", "json").out)
    sizes = list(dict.fromkeys(row["size"] for row in rows if row["size"]))
    unit = {"M": 1e6, "B": 1e9}
    params = [float(size[:-1]) * unit[size[-1]] for size in sizes]
    assert len(sizes) > 3 and params == sorted(params, reverse=True)
    lines = on_a_terminal(swept, 120, "runs").splitlines()
    [heads] = [line for line in lines if line.startswith("where ")]
    assert " size " in heads and lines.index(heads) < 3


def test_runs_are_listed_the_fastest_first(swept: Path) -> None:
    rows = json.loads(quick(swept, "runs", "--model", "1.3B", "--format", "json").out)
    rates = [row["tokens_per_s_per_device"] for row in rows if row["tokens_per_s_per_device"]]
    assert len(rates) > 10 and rates == sorted(rates, reverse=True)


def test_the_next_command_can_be_typed(swept: Path) -> None:
    shown = on_a_terminal(swept, 120, "runs", "--model", "1.3B")
    command = shown.split("next: bench ")[1].split()
    assert quick(swept, *command).code == 0


def test_a_run_is_shown_with_its_source_named_once(swept: Path) -> None:
    lines = on_a_terminal(swept, 80, "show", "001:28").splitlines()
    file = "data/tables/001_1.3b_benchmarking.md"
    assert lines[0].startswith("stated_at: lines of ") and lines[0].endswith(f"{file[12:]}.")
    assert max(map(len, lines)) <= 80 and sum(file[12:] in line for line in lines) == 1
    assert any(line.split()[:2] == ["cell", "Sec/it"] and line.endswith(":28") for line in lines)


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


@pytest.mark.parametrize("report", ["best", "days"])
def test_on_a_narrow_terminal_a_ranking_keeps_what_tells_its_rows_apart(
    folder: Path, report: str
) -> None:
    row = "| 48 | 181B | {} | 8 | {} | 4 | {} | 2048 | {} | {} | 133.{} |\n"
    head = "| Nodes | Size | DP | TP | PP | MBS | GBS | Seq len | Heads | Sec/it | TFLOPs |\n"
    told = [(8, 6, 2048, 64), (8, 6, 2048, 16), (8, 6, 2048, 128), (4, 12, 1568, 64)]
    rows = [row.format(dp, pp, gbs, heads, f"12{at}.5{at}", at)
            for at, (dp, pp, gbs, heads) in enumerate(told)]  # fmt: skip
    (folder / "t.md").write_text(f"# A sweep on A100\n\n{head}{'|--:' * 11}|\n{''.join(rows)}")
    shown = on_a_terminal(folder, 56, report, "t.md")
    above, _, also = shown.partition("also: ")
    assert " Heads" in above and " GBS" in above
    assert "Tokens/s/device" in also and "[1]" not in above
    wide = on_a_terminal(folder, 200, report, "t.md")
    assert all(name in wide for name in ("MFU", "Tokens/s/device", "Sec/it"))


def test_on_a_narrow_terminal_each_run_shows_the_result_that_it_has(folder: Path) -> None:
    head = "| GPUs | Size | TP | GBS | Seq len | Sec/it | TFLOPs | MFU | Notes |\n"
    rows = (
        "| 8 | 7B | 1 | 64 | 2048 | | | 41.5% | |\n| 8 | 7B | 1 | 64 | 2048 | | | 43.5% | |\n"
        "| 8 | 7B | 2 | 64 | 2048 | | 98.87 | | |\n| 8 | 7B | 4 | 64 | 2048 | | | | OOM |\n"
        "| 8 | 7B | 8 | 64 | 2048 | 9.5 | | | |\n"
    )
    (folder / "t.md").write_text(f"# A sweep on A100\n\n{head}{'|---' * 9}|\n{rows}")
    shown = on_a_terminal(folder, 60, "runs", "--all", "t.md")
    lines = {line.split()[0]: line for line in shown.splitlines() if line.startswith("t:")}
    assert "41.5% MFU" in lines["t:5"] and "98.87 TFLOPs" in lines["t:7"]
    assert "oom" in lines["t:8"] and "9.5" in lines["t:9"] and "MFU" not in lines["t:9"]
    both = json.loads(quick(folder, "runs", "t.md", "--all", "--format", "json").out)
    assert [row["mfu"] for row in both][:2] == pytest.approx([0.415, 0.435])


def test_runs_without_a_rate_are_listed_by_their_mfu(folder: Path) -> None:
    rows = "".join(f"| {n} | 7B | {mfu}% |\n" for n, mfu in ((8, 41.5), (16, 43.5), (32, 42.5)))
    (folder / "t.md").write_text(f"# A sweep on A100\n\n| GPUs | Size | MFU |\n|--|--|--|\n{rows}")
    listed = json.loads(quick(folder, "runs", "t.md", "--format", "json").out)
    assert [row["mfu"] for row in listed] == pytest.approx([0.435, 0.425, 0.415])
