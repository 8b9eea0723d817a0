"""Pages: gold, facts computed here by other means, and the same bytes.

`pytest tests/test_reports.py --accept-gold` writes tests/gold/ anew: look at the pages' diff.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench.reports.computed import PAGE, REGION, report, reports
from bench.reports.page import report_names, statements
from tests.pages import MARKDOWN, PAGES, page, split, table, tables, value
from tests.program import quick

GOLD = Path(__file__).parent / "gold"
TOKENS = 362_000 * 1024 * 1024


# Gold pages, and what a page is.


@pytest.mark.parametrize("name", PAGES)
def test_gold(swept: Path, name: str, request: pytest.FixtureRequest) -> None:
    text = quick(swept, *PAGES[name].split()).out
    file = GOLD / f"{name}.md"
    if request.config.getoption("--accept-gold"):
        GOLD.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), "look at it, then pytest --accept-gold"


def test_every_query_has_its_template_and_back(root: Path) -> None:
    queries = {path.name.removesuffix(".sql") for path in (root / "reports/queries").glob("*.sql")}
    templates = {
        path.name.removesuffix(".md.j2") for path in (root / "reports/templates").glob("[!_]*.j2")
    }
    assert queries == templates == set(report_names())
    for name in queries:
        assert statements(name)


def test_every_computed_report_has_its_columns_and_its_sentences(root: Path) -> None:
    folder = root / "reports/computed"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "sentences"}
    templates = {path.name for path in folder.glob("[!_]*.j2")}
    assert {f"{name}.md.j2" for name in modules} == templates
    assert modules == set(reports())
    for name in modules:
        of = report(name)
        assert set(of.PLACES) <= {PAGE, REGION} and of.__doc__
        assert {head for _, head in of.SHOWN} and len(set(of.COLUMNS)) == len(of.COLUMNS)


@pytest.mark.parametrize(
    "args",
    [*(line.removeprefix("report ") for line in PAGES.values()), "", "--all", "--document 004"],
)
def test_a_page_is_good_markdown(swept: Path, args: str) -> None:
    text = page(swept, *args.split())
    assert text.startswith("# ") and text.endswith("\n") and not text.endswith("\n\n")
    tokens = MARKDOWN.parse(text)
    lines = text.splitlines()
    seen = 0
    for token in tokens:
        if token.type == "table_open" and token.map:
            rows = lines[token.map[0] : token.map[1]]
            assert len({len(split(row)) for row in rows}) == 1, rows[0]
            assert len({len(row) for row in rows if row.isascii()}) <= 1, "padded to one width"
            seen += len(rows)
    assert seen == sum(line.startswith("|") for line in lines), "every pipe line is in a table"
    assert not [token for token in tokens if token.type in ("html_block", "code_block", "fence")]
    headings = [lines[t.map[0]] for t in tokens if t.type == "heading_open" and t.map]
    assert [line for line in lines if line.startswith("#")] == headings
    assert "None" not in text and "nan" not in re.sub(r"\bnan\w", "", text).split()


def test_answers_come_first(swept: Path) -> None:
    text = page(swept, "--model", "1.3B")
    parts = [
        "# 1.3B", "**Answers**", "## Model and budget", "## Days to train", "## Sweep, 001",
        "Not shown: table 3 of 000", "## Excluded", "## Sources",
    ]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert places[1] < 700
    assert "![" not in text, "charts are for -o FOLDER"


# Facts of the 1.3B page.


def test_days_of_the_fastest(swept: Path) -> None:
    days = 23 / (512 * 2048) * 100e9 / 86_400
    low, high = (days / 23 * time for time in (22.5, 23.5))
    first = table(page(swept, "--model", "1.3B"), "Device-days")[0]
    assert first["Days per 100B tokens"] == f"*{days:.1f}*" == "*25.4*"
    assert first["Range"] == f"*{low:.1f}-{high:.1f}*" == "*24.8-25.9*"
    assert first["Sec/it"] == "23" and first["System"] == "V100-32GB"
    assert value(first["Tokens/s/device"]) == round(512 * 2048 / 23 / 8)
    assert value(first["Device-days"]) == round(days * 8)
    text = page(swept, "--model", "1.3B")
    assert "Fastest, V100-32GB: **45,590 tokens/s** on 8 devices, 25.4 days per 100B tokens" in text
    assert "MFU 35.6%" in text
    assert "assuming 16 bits: 23 s/it, DP8 x TP1 x PP1" in text
    assert "the same speed: DP4 x TP1 x PP2, MBS 1, 004:45)" in text
    assert first["Source"] == "004:44, :45" and first["DP/TP/PP"] == "8/1/1, 4/1/2"


def test_what_a_repaired_row_would_change(swept: Path) -> None:
    """001:29 prints its cells one column to the right: 14.5 s/it would be 61 days."""
    text = page(swept, "--model", "1.3B")
    assert round(14.5 / (1024 * 1024) * TOKENS / 86_400, 1) == 60.8
    [line] = [line for line in text.splitlines() if line.startswith("- 001:29 is not ranked: R9")]
    assert "Sec/it 14.5" in line and "Nodes=1024" in line
    assert "the fastest of its system, at 16.0 days per 100B tokens (60.8 days for its" in line


def test_repeats_are_one_row_and_effects_and_scaling_are_answers(swept: Path) -> None:
    text = page(swept, "--model", "1.3B")
    every = table(page(swept, "--model", "1.3B", "--all"), "Device-days")
    [repeated] = [row for row in every if row["Jobs"] == "2"]
    assert "001:27 +1" not in text.partition("## Sweep")[0], "8 years; the best: half a year"
    assert repeated["Source"] == "001:27 +1" and repeated["Range"] == "*7.7-8.6 years*"
    assert value(repeated["Sec/it"]) == pytest.approx((2533.0 + 2857.8) / 2, abs=1)
    assert (
        "- No recompute is 1.26x to 1.36x faster than full recompute (4 of 4 pairs, geometric"
        in text
    )
    assert "- 103.7% strong-scaling efficiency on 64 nodes against 4: 1.3B" in text
    assert "(001:27). Above 100% on 64 nodes: noise" in text
    by_tflops = next(row for rows in tables(text) for row in rows if row.get("Line") == "42")
    assert by_tflops["Sec/it"] == "*9,850^*", "what 1.18^ TFLOPs tell"


def test_days_that_a_document_prints_stand_beside_what_its_budget_gives(swept: Path) -> None:
    text = page(swept, "--model", "1.3B")
    times = (0.5, 1, 2, 3, 10)
    given = [f"*{362_000 * time / 86_400:.2f}*" for time in times]
    assert given == ["*2.09*", "*4.19*", "*8.38*", "*12.57*", "*41.90*"]
    assert (
        f"At 1 s/it: {given[1]} days. Printed days: 2.09 at 0.5 s/it (line 10),"
        f" 4.18 at 1 s/it (line 11 ⚠, computed {given[1]}),"
        f" 8.36 at 2 s/it (line 12 ⚠, computed {given[2]}),"
        f" 12.54 at 3 s/it (line 13 ⚠, computed {given[3]}),"
        f" 41.8 at 10 s/it (line 14 ⚠, computed {given[4]})."
    ) in text


def test_tables_of_one_layout_are_one(swept: Path) -> None:
    text = page(swept, "--model", "1.3B")
    assert "Table 1 (line 25): Sequence Length=1024 w\\o" in text or "Table 1 (line 25)" in text
    rows = table(text, "Line")
    assert [row["Table"] for row in rows].count("2") == 6 and rows[-1]["Line"] == "51"
    assert not {row["Line"].strip(" ⚠") for row in rows} & {"29", "45"}, "they are Excluded"
    assert text.count("layers 24 (line 5)") == 1, "what all state is said once"
    assert len(text.splitlines()) < 92


def test_the_ranking_is_by_tokens_a_second(swept: Path) -> None:
    rows = table(page(swept, "--model", "1.3B", "--all"), "Device-days")
    text = page(swept, "--model", "1.3B")
    copies = re.findall(r"same configuration and digits", text)
    doubted = {row["Where"] for row in table(text, "Why")}
    assert "000:34" in doubted, "the one of the 34 rows whose time and TFLOPs cannot both be right"
    # Rows that are alike but for their split are one line, which lists their sources.
    sources = [place for row in rows for place in row["Source"].split(", ")]
    repeats = sum(int(place.partition(" +")[2] or 0) for place in sources)
    assert len(sources) + repeats == 34 - len(copies) - 1, "34 rows have a time and fit"
    speeds = []
    for row in rows:
        tokens = 512 * 2048 if row["Source"].startswith("004") else 1024 * 1024
        assert int(row["GBS"]) in (512, 1024)
        speeds.append(tokens / value(row["Sec/it"]))
    assert speeds == sorted(speeds, reverse=True)
    short = table(text, "Device-days")
    times = {
        place.lstrip("04"): row["Sec/it"] for row in rows for place in row["Source"].split(", ")
    }
    shown = [(place, row) for row in short for place in row["Source"].split(", ")]
    assert all(times[place.lstrip("04")] == row["Sec/it"] for place, row in shown)
    counted = Counter(row["System"] for _, row in shown)
    assert counted == {"V100-32GB": 5, "V100-16GB": 5, "001 (device not stated)": 2}
    assert all(value(row["Sec/it"]) < 10 * 162.5 for row in short), "the best of 001 takes 162.5"
    assert f"{len(sources) - len(shown)} more timed: `--all`" in text


def test_batch_sizes_compare(swept: Path) -> None:
    """A step of GBS 2048 in 110.48 s is more than one of GBS 1568 in 92.75 s."""
    rows = table(page(swept, "--model", "181B", "--all"), "Device-days")
    sources = [row["Source"] for row in rows]
    assert sources[0] == "002:428" and rows[0]["Sec/it"] == "110.48"
    assert 2048 / 110.48 > 1568 / 92.75
    assert sources.index("002:428") < sources.index("002:404")
    speeds = [int(row["GBS"]) / value(row["Sec/it"]) for row in rows]
    assert speeds == sorted(speeds, reverse=True)


def test_what_is_left_out_and_why(swept: Path) -> None:
    text = page(swept, "--model", "1.3B")
    rows = table(text, "Why")
    assert [row["Where"] for row in rows] == [
        "000:34", "000:36, :37, :38, :39", "001:29", "001:34",
    ], "each once, and alike ones together"  # fmt: skip
    assert all(re.match(r"R\d+: ", row["Why"]) for row in rows)
    whys = " ".join(row["Why"] for row in rows)
    assert "20033.7 MiB: MiB under Sec/it" in whys
    assert "DP x TP x PP = 4096, but 8192 processes" in whys
    [copies] = [line for line in text.splitlines() if line.startswith("Copies, which count once")]
    assert "001:45 (same configuration and digits as 001:44)" in copies
    ranked = {row["Source"] for row in table(page(swept, "--model", "1.3B", "--all"), "Range")}
    assert not ranked & {row["Where"] for row in rows}
    # A row that is left out has no computed cell, and says so.
    sweeps = [row for rows in tables(text) for row in rows if "Model TFLOP/s/process" in row]
    for row in sweeps:
        if "⚠" in row["Line"]:
            assert not [cell for cell in row.values() if cell.startswith("*")]


def test_the_sweep_tables_are_those_of_the_documents(swept: Path, data: Path) -> None:
    """Every cell of the tables on the page stands in the document's line that it names."""
    text = page(swept, "--model", "1.3B", "--all")
    seen = 0
    for part in re.split(r"\n## ", text):
        if not part.startswith("Sweep, "):
            continue
        [file] = (data / "tables").glob(f"{part[7:10]}*.md")
        lines = file.read_text().splitlines()
        for row in [row for rows in tables(part) for row in rows]:
            original = split(lines[int(row.pop("Line").strip(" ⚠")) - 1])
            for name, cell in row.items():
                computed = re.fullmatch(r"\*[\d.,e+-]+\^?\*", cell)
                assert computed or not cell or cell.strip(" ⚠") in original, (name, cell)
            seen += 1
    assert seen == 37 + 8, "with the plans"


def test_computed_cells(swept: Path) -> None:
    """Est. Aggr. PetaFLOPs where the document leaves it open: TFLOPs x nodes / 1024."""
    text = page(swept, "--document", "001")
    rows = [row for rows in tables(text) for row in rows if "Est. Aggr. PetaFLOPs" in row]
    computed = [row for row in rows if row["Est. Aggr. PetaFLOPs"].startswith("*")]
    assert len(computed) == 5
    for row in computed:
        wanted = value(row["TFLOPs"]) * value(row["Nodes"]) / 1024
        assert value(row["Est. Aggr. PetaFLOPs"]) == pytest.approx(wanted, rel=5e-3)
    # F7: 6 FLOPs a parameter of the matrices and token, and attention, of 1024 x 1024 tokens.
    layers, hidden, length, vocab = 24, 2048, 1024, 50_688
    flops = 6 * 1024 * length * (12 * layers * hidden**2 + layers * length * hidden * 2)
    flops += 6 * 1024 * length * hidden * vocab
    row = next(row for row in rows if row["Line"] == "28")
    wanted = flops / 162.5 / 64 / 1e12
    assert value(row["Model TFLOP/s/process"]) == pytest.approx(wanted, rel=0.03)


def test_budgets(swept: Path) -> None:
    def first(*args: str) -> float:
        return value(table(page(swept, "--model", "1.3B", *args), "Device-days")[0]["Days"])

    a_day = 512 * 2048 / 23 * 86_400
    assert first("--tokens", "300B") == pytest.approx(300e9 / a_day, abs=0.05)
    assert first("--tokens", "1e12") == pytest.approx(1e12 / a_day, abs=0.05)
    assert first("--steps", "100_000") == pytest.approx(100_000 * 2**20 / a_day, abs=0.05)
    told = page(swept, "--model", "1.3B", "--tokens", "300B")
    assert told.startswith("# 1.3B: measured speed, and days to train 300B tokens")
    assert "Budget: 300B tokens (`--tokens`)" in told
    both = quick(swept, "report", "--model", "1.3B", "--steps", "5", "--tokens", "300B")
    assert both.code == 2 and "--tokens and --steps are two budgets" in both.err
    assert "stated in 001:9" in page(swept, "--document", "001")
    assert "Days are per 100B tokens (no source" in page(swept, "--model", "181B")


def test_a_budget_is_of_the_documents_that_state_it(swept: Path) -> None:
    """The 362k steps of 001 are no plan for the V100 of 004, which has runs of that size too."""
    text = page(swept, "--model", "1.3B")
    assert "1,048,576 tokens = 379.6B tokens in 001:9" in text
    answers = text.partition("**Answers**")[2].partition("## ")[0]
    [of_001] = [line for line in answers.splitlines() if line.startswith("- 001 (device")]
    assert "179.4 days per 100B tokens (680.8 days for its 379.6B tokens)" in of_001
    assert "379.6B" not in "".join(line for line in answers.splitlines() if "V100" in line)


def test_one_document_and_a_filter(swept: Path) -> None:
    text = page(swept, "--model", "1.3B", "--document", "004_tr3m-1B3.md")
    assert {row["Source"][:3] for row in table(text, "Device-days")} == {"004"}
    assert [row["Name"] for row in table(text, "SHA-256")] == ["004"]
    text = page(swept, "--model", "1.3B", "--where", "tp = 2 and world_size == 8", "--all")
    rows = table(text, "Device-days")
    assert rows and {row["DP/TP/PP"].split("/")[1] for row in rows} == {"2"}


def test_a_log_page_says_its_window(swept: Path, data: Path) -> None:
    text = page(swept, "--document", "fugaku_dp2.log")
    row = table(text, "Sec/it, median")[0]
    times = [
        float(time) / 1000
        for time in re.findall(
            r"elapsed time per iteration \(ms\): ([\d.]+)",
            (data / "logs/fugaku_dp2.log").read_text(),
        )
    ]
    steady = sorted(times[1:])  # the first iteration warms up
    middle = len(steady) // 2
    median = steady[middle] if len(steady) % 2 else sum(steady[middle - 1 : middle + 1]) / 2
    assert value(row["Sec/it, median"]) == pytest.approx(median, rel=1e-3)
    assert row["Iterations"] == f"2-5, n = {len(steady)} in {len(steady)} lines"


def test_short_documents(folder: Path) -> None:
    head = "# T\n\n| Nodes | TP | MBS | Sec/it |\n|---|---|---|---|\n"
    (folder / "none.md").write_text(head)
    (folder / "one.md").write_text(head + "| 4 | 1 | 1 | 10.5 |\n")
    (folder / "empty.md").write_text("")
    text = page(folder, "one.md")
    assert "1 source, 1 table, 1 run: 1 with a time." in text
    assert "days to train are unknown" in text and "## Days to train" not in text
    assert quick(folder, "report", "empty.md").code == 3
    done = quick(folder, "report", "none.md")
    assert done.code == 2 and "no runs to report on" in done.err
    assert quick(folder, "ingest", ".").code == 0
    assert quick(folder, "report", "-o", "out").code == 0
    assert [path.name for path in (folder / "out").glob("*.md")] == ["all-models.md"]
    assert "![" not in (folder / "out/all-models.md").read_text(), "no data, no chart"
