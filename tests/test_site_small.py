"""The pages of one small document: every statement behind them runs on this line of DuckDB."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from bench.decide.rows import CONFIGURATION
from bench.site.distinct_names import curves_apart
from bench.site.dot_charts import DotRow, dot_rows
from bench.site.findings import alike_once, spans
from bench.site.svg import Mark
from bench.site.table import Cell, Column, Table
from tests.making import iteration, log
from tests.program import quick
from tests.site_pages import TABLE


def _data(file: Path) -> dict[str, Any]:
    """The content of a data file."""
    made: dict[str, Any] = json.loads(file.read_text("utf-8").partition(", ")[2].rpartition(")")[0])
    return made


def test_every_kind_of_page_is_written(folder: Path) -> None:
    (folder / "sweep.md").write_text(TABLE)
    done = quick(folder, "site", "sweep.md", "-o", "public")
    assert done.code == 0, done.text
    pages = {path.name for path in (folder / "public").rglob("*.html")}
    assert {"index.html", "compare.html", "findings.html", "failures.html", "sweep.html"} <= pages
    runs = [path.read_text("utf-8") for path in (folder / "public" / "runs").rglob("*.html")]
    assert len(runs) == 2 and all("TP" in text for text in runs)
    made = [_data(path) for path in (folder / "public" / "data" / "runs").rglob("*.js")]
    [printed] = [
        one for of in made for one in of["derived"] if one[0] == "step_time_s" and one[3] == 4.1
    ]
    assert printed[4:6] == ["sources/sweep.html#L5", "sweep:5"]
    overview = (folder / "public" / "index.html").read_text("utf-8")
    assert '<a href="#models">models</a>' in overview and 'id="models"' in overview
    entries = _data(folder / "public" / "data" / "search.js")["entries"]
    assert ["oom · no message stated · 1", "failure", "failures.html#causes"] in entries
    every = "".join(runs)
    assert "Step time <b>4.1</b>" in every and 'Processes <b class="computed">8</b>' in every
    facts = [one for of in made for one in of["facts"] if len(one) > 2]
    assert all(one[5] for one in facts), "each fact says where it is from"
    origins = {one[5] for one in facts if one[0] == "world_size"}
    assert origins == {"computed: one process a device"}
    assert '<a href="../sources/sweep.html#L5">line 5</a>' in every


def test_curves_that_differ_in_a_flag_are_named_by_it() -> None:
    first = ("device_count", "size", "model", "system", "dtype", "seq_len")
    row: dict[str, Any] = {**dict.fromkeys((*first, *CONFIGURATION)), "env": {}, "others": {}}
    rows = [row, {**row, "env": {"LD_PRELOAD": "libtcmalloc.so"}}]
    assert curves_apart(rows, str) == ["no LD_PRELOAD", "LD_PRELOAD=libtcmalloc.so"]


def test_rows_of_dots_keep_their_labels_and_lie_in_shares_of_the_width() -> None:
    long = "DP8 TP4 PP12 MBS 2 GBS 2048 R&D heads"
    rows = [DotRow("tp"), DotRow(long, Mark(2.0, 0, "n", low=1.5, high=3.0), "2x")]
    made = str(dot_rows("a", rows, "t", "", ideal=1.0, log=True))
    shown = re.sub(r'<tspan class="near">.*?</tspan>|<title>.*?</title>', "", made)
    assert long in unescape(re.sub(r"<[^>]+>", "", shown))
    assert "viewBox" not in made and 'class="whisker"' in made
    # Of labels that begin alike the end is seen too, also on a phone.
    alike = [DotRow(f"{long} {layers} layers", rows[1].mark) for layers in (78, 84)]
    made = re.sub(r'<tspan class="far">.*?</tspan>', "", str(dot_rows("a", alike, "t", "")))
    assert "78 layers</text>" in made and "84 layers</text>" in made
    shares = [float(one) for one in re.findall(r' x1?="(-?[\d.]+)%"', made)]
    assert shares and all(-100 <= one <= 100 for one in shares)


def test_findings_that_say_the_same_are_one_row_with_all_lines() -> None:
    def finding(line: int, evidence: str) -> dict[str, object]:
        named = dict.fromkeys(("rule", "severity", "title", "suggestion", "closed"))
        return {**named, "uri": "a.md", "evidence": evidence, "lines": [line]}

    made = alike_once([finding(7, "x"), finding(9, "y"), finding(8, "x"), finding(11, "x")])
    assert [(one["count"], spans(one["lines"])) for one in made] == [
        (3, "7\u20138, 11"),
        (1, "9"),
    ]


def test_runs_without_a_model_are_listed_but_not_ranked(folder: Path) -> None:
    table = "| GPUs | TP | Tokens/s/GPU |\n|--|--|--|\n| 8 | 1 | 4000 |\n| 8 | 2 | 3900 |\n"
    (folder / "named.md").write_text(f"# 7B on H100\n\n{table}")
    (folder / "other.md").write_text(f"# Throughput on A100\n\n{table.replace('000', '001')}")
    assert quick(folder, "site", "named.md", "other.md", "-o", "public").code == 0
    overview = (folder / "public" / "index.html").read_text("utf-8")
    best = overview.partition('id="best"')[2].partition("</table>")[0]
    assert "7B" in best and "A100" not in best
    compare = (folder / "public" / "compare.html").read_text("utf-8")
    assert compare.count('data-run="') == 4 and "4,001" in compare
    [page] = (folder / "public" / "models").glob("model-not-stated*.html")
    text = page.read_text("utf-8")
    assert "none is the fastest of them" in text and "<strong>" not in text.partition("Charts")[0]


def test_a_curve_of_memory_has_one_unit(folder: Path) -> None:
    """DeepSpeed prints GB for 2^30 bytes, Megatron MB for 2^20, in the same log."""
    lines = "".join(
        f" iteration {at:8d}/ 30 | consumed samples: {at * 256} | elapsed time per iteration (ms): "
        f"1500.0 | global batch size:   256 | lm loss: 9.0E+00 | loss scale: 1.0 |\n"
        f"[2022-10-29 01:41:{at},753] [INFO] [timer.py:198:stop] 0/{at}, RunningAvgSamplesPerSec="
        f"366.4, CurrSamplesPerSec=368.8, MemAllocated=1.64GB, MaxMemAllocated=5.53GB\n"
        + (
            "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1674.31005859375 | max "
            "allocated: 5663.76025390625 | reserved: 6098.0 | max reserved: 6098.0\n"
            if at == 10
            else ""
        )
        for at in (10, 20, 30)
    )
    (folder / "run.log").write_text(f"using world size: 8, data-parallel-size: 8\n{lines}")
    assert quick(folder, "site", "run.log", "-o", "public").code == 0
    [file] = (folder / "public" / "data" / "runs").rglob("series.js")
    curves = {one["key"]: one for one in _data(file)["series"]}
    allocated = curves["memory:allocated"]
    assert allocated["unit"] == "GiB"
    assert all(1.6 < value < 1.7 for value in (*allocated["lo"], *allocated["hi"]))


def test_a_job_without_a_log_leads_to_its_line_of_the_accounting(folder: Path) -> None:
    (folder / "sweep.md").write_text(TABLE)
    (folder / "sacct.txt").write_text(
        "JobID|JobName|State|ExitCode|Start|End|NNodes|User\n"
        "12|t.sh|FAILED|3:0|2026-11-20T08:45:18|2026-11-20T08:46:36|1|aliceb\n"
    )
    assert quick(folder, "site", "sweep.md", "sacct.txt", "-o", "public").code == 0
    text = (folder / "public" / "failures.html").read_text("utf-8")
    causes, _, rows = text.partition('id="all"')
    assert 'href="sources/sacct.html#L2"' in causes and 'href="sources/sacct.html#L2"' in rows
    assert "Jobs without a log, which other pages do not count: 1 of these." in causes
    assert 'id="L2"' in (folder / "public" / "sources" / "sacct.html").read_text("utf-8")
    scrubbed = ("--scrub", "users", "-o", "scrubbed")
    assert quick(folder, "site", "sweep.md", "sacct.txt", *scrubbed).code == 0
    every = [
        path.read_text("utf-8") for path in (folder / "scrubbed").rglob("*.*") if path.is_file()
    ]
    assert not any("aliceb" in text for text in every)


def test_processes_that_end_are_one_event(folder: Path) -> None:
    ends = "".join(f"Process {7001 + at} exits successfully.\n" for at in range(9))
    (folder / "a.log").write_text(log(20, 100.0) + ends)
    assert quick(folder, "site", "a.log", "-o", "public").code == 0
    [page] = [path.read_text("utf-8") for path in (folder / "public" / "runs").glob("*.html")]
    assert page.count("exits successfully") == 1
    assert "9 lines, the last is 29" in page


def test_search_finds_each_finding(folder: Path) -> None:
    (folder / "x.md").write_text(
        "# 7B on H100\n\n| GPUs | DP | TP | GBS | Step time (s) |\n|---|---|---|---|---|\n"
        "| 8 | 4 | 4 | 64 | 4.1 |\n| 8 | 2 | 4 | 64 | 4.1 |\n"
    )
    assert quick(folder, "site", "x.md", "-o", "public").code == 0
    entries = _data(folder / "public" / "data" / "search.js")["entries"]
    titles = {title: href for title, kind, href, *_ in entries if kind == "finding"}
    [one] = [title for title in titles if title.startswith("x:5 · R2 · ")]
    assert titles[one] == "findings.html#findings.q=x%3A5"


def _values(folder: Path) -> list[list[str]]:
    """The entries of variables in the search index of a site, whose links lead somewhere."""
    assert quick(folder, "site", "x.md", "-o", "public").code == 0
    entries = _data(folder / "public" / "data" / "search.js")["entries"]
    for title, kind, href, *_ in entries:
        file, _, anchor = href.partition("#")
        page = (folder / "public" / file).read_text("utf-8")
        assert anchor == "" or kind == "finding" or f'id="{anchor}"' in page, (title, href)
    return [entry for entry in entries if entry[1] == "environment"]


def test_search_finds_values_of_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of many runs first; without a page of the run, its line."""
    head = "| GPUs | TP | Step time (s) | HOST_NAME | NCCL_ALGO |\n|---|---|---|---|---|\n"
    rows = "".join(f"| 8 | {2**n} | 4.{n} | node{n} | Tree |\n" for n in range(3))
    (folder / "x.md").write_text(f"# 7B on H100\n\n{head}{rows}")
    monkeypatch.setattr("bench.site.search._MOST", 2)
    titles = [title for title, *_ in _values(folder)]
    assert titles == ["NCCL_ALGO=Tree · 3 runs", "HOST_NAME=node0 · 1 run"]
    monkeypatch.setattr("bench.site.load.ROWS_WITH_PAGES", 2)
    assert [href for _, _, href, *_ in _values(folder)] == ["sources/x.html#L5"] * 2


def test_data_of_a_table_are_its_cells(folder: Path) -> None:
    """Places are written as stem and line, values where they change, rare texts by row."""
    runs = ["" if at % 3 else f"{at:012x}" for at in range(12)]
    names = [
        Cell(f"{'ab'[at % 2]}:{at + 1}", href=f"sources/{'ab'[at % 2]}.html#L{at + 1}")
        if at % 3
        else Cell(f"a:{at + 1}", href=f"runs/{runs[at]}.html")
        for at in range(12)
    ]
    numbers = [Cell(1.5, "1.50")] * 9 + [Cell(), Cell(2), Cell(2)]
    words = [Cell("x", href="models/x.html")] * 12
    looks = ["", "failed"] + [""] * 10
    columns = [Column("run", "Run", names), Column("n", "N", numbers, "number")]
    made = Table("t", "T", [*columns, Column("m", "M", words)], runs, looks, "t", 2).data()
    run, number, word = made["columns"]
    shown = [
        f"{run['stems'][s]}:{line}" for s, line in zip(run["values"], run["lines"], strict=True)
    ]
    assert shown == [cell.shown for cell in names]
    files = [run["files"][at] for at in run["values"]]
    assert files[1] == "sources/b.html" and files[0] == "", "a run's page follows from its id"
    assert (number["from"], number["values"]) == ([0, 9, 10], [1.5, None, 2])
    assert len(number["texts"]) == 12, "most rows have one"
    assert (word["dictionary"], word["hrefs"]) == (["x"], ["models/x.html"])
    assert made["looks"] == {1: "failed"} and run["classes"] is None


def test_a_wrong_place_of_an_output_is_said(folder: Path) -> None:
    (folder / "sweep.md").write_text(TABLE)
    done = quick(folder, "site", "sweep.md", "-o", "sweep.md")
    assert done.code == 2 and "why: it is a file" in done.text and "remove" not in done.text
    done = quick(folder, "report", "sweep.md", "-o", "x.pdf")
    assert done.code == 2 and "cannot write a table as .pdf" in done.text
    assert not (folder / "x.pdf").exists()
    done = quick(folder, "compare", "a", "b", "sweep.md")
    assert done.code == 2 and "nor a git revision, as this folder is in no git" in done.text


def test_a_copy_is_drawn_hollow_beside_the_run_that_counts(folder: Path) -> None:
    row = "| 7B | {} | 2 | 1 | 64 | {} | |\n"
    head = "# Training of a 7B model on H100 GPUs, sequence length 2048\n\n" + "".join(
        TABLE.splitlines(True)[2:4]
    )
    rows = head + row.format(8, 4.1) + row.format(16, 2.2)
    (folder / "sweep.md").write_text(rows)
    (folder / "again.md").write_text(rows + row.format(32, 1.2))
    assert quick(folder, "site", "sweep.md", "again.md", "-o", "public").code == 0
    [page] = (folder / "public" / "models").glob("*.html")
    text = page.read_text("utf-8")
    days = text.partition('id="front"')[2].partition("</figure>")[0]
    looks = re.findall(r'class="mark s\d ([a-z-]*)"', days)
    assert sorted(looks) == ["", "", "", "copied", "copied"]
    assert "hollow: a copy of another run" in days


def test_of_steps_as_fast_as_each_other_one_is_cited(folder: Path) -> None:
    """Any of them would make another page each time: it is the one that the run's page lists."""
    times = {700: 90.0, 900: 90.0, 1500: 120.0, 1700: 120.0}
    text = "".join(iteration(at, times.get(at, 100.0)) for at in range(1, 3001))
    (folder / "run.log").write_text(text)
    assert quick(folder, "site", "run.log", "-o", "public").code == 0
    shown = "".join(
        page.read_text("utf-8") for page in (folder / "public" / "sources").glob("run*")
    )
    assert {at for at in times if f'<tr id="L{at}" class="cited"' in shown} == {700, 1700}
    [page] = (folder / "public" / "runs").glob("*.html")
    listed = page.read_text("utf-8")
    assert {at for at in times if f'#L{at}"' in listed} == {700, 1700}


def test_runs_of_one_size_are_dots_named_by_what_they_differ_in(folder: Path) -> None:
    rows = "".join(
        f"| {attention} | {kind} | {time} |\n"
        for attention, kind, time in (
            ("FA2", "SFT", 4.1), ("FA3", "SFT", 3.6), ("FA2", "RL", 4.4), ("FA3", "RL", 3.9),
        )
    )  # fmt: skip
    head = "| Attn | Type | Step time (s) |\n|---|---|---|\n"
    above = "# Training a 7B model on 8 H100 GPUs, sequence length 2048, GBS 64\n\n"
    (folder / "sweep.md").write_text(above + head + rows)
    assert quick(folder, "site", "sweep.md", "-o", "public").code == 0
    [page] = (folder / "public" / "models").glob("*.html")
    text = page.read_text("utf-8")
    days = text.partition('id="aggregate"')[2].partition("</figure>")[0]
    labels = re.findall(r'x="-10" [^>]* text-anchor="end">(.*?)</text>', days)
    assert [re.sub("<[^>]*>|…", "", one) for one in labels] == [
        "Attn=FA3, Type=SFT", "Attn=FA3, Type=RL", "Attn=FA2, Type=SFT", "Attn=FA2, Type=RL",
    ]  # fmt: skip


def test_numbers_of_a_source_keep_its_digits_and_lead_to_its_line(folder: Path) -> None:
    (folder / "rates.md").write_text("""# Training on 8 H100 GPUs

| Model | Setup | MFU | Tokens/s/GPU |
|---|---|---|---|
| 7B | 8 GPUs, BF16, SL=8192 | 38.55% | 123 |
""")
    assert quick(folder, "site", "rates.md", "-o", "public").code == 0
    pages = [folder / "public" / "index.html", *(folder / "public" / "models").glob("7b*.html")]
    for page in pages:
        text = page.read_text("utf-8")
        assert re.search(r'<td class="number"[^>]*>38\.55%?</td>', text), page
        assert re.search(r'<td class="number"[^>]*>123</td>', text), page
    [page] = (folder / "public" / "runs").glob("*.html")
    text = page.read_text("utf-8")
    assert "MFU <b>38.55%</b>" in text and "Tokens/s <b>123</b> of a device" in text
    assert "not recorded" not in text
