"""Regions: what stands between markers is kept true, and not a byte beside it is touched."""

from __future__ import annotations

import re
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench.reports.regions import Document, digest, read_document
from bench.schema.errors import BenchError
from tests.making import table
from tests.program import Outcome, bench, quick

ROOT = Path(__file__).resolve().parent.parent
ROW = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 100.5 | 0.86"
DAYS = "<!-- bench:begin report=days -->\n<!-- bench:end -->\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with one document to read."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sweep.md").write_text(
        table(ROW).replace("# Sweep", "# Sweep, sequence length=1024")
    )
    return tmp_path


def update(folder: Path, text: str, *more: str, name: str = "README.md") -> tuple[str, Outcome]:
    """The text after an update from sweep.md, byte for byte, and what was said."""
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    done = quick(folder, "report", "--update", name, "--from", "sweep.md", *more)
    return (folder / name).read_bytes().decode("utf-8", "surrogateescape"), done


def check(folder: Path, *names: str) -> Outcome:
    return quick(folder, "report", "--check", *(names or ("README.md",)), "--from", "sweep.md")


# What is written, and what is not.


@pytest.mark.parametrize("report", ["model", "days", "sweep", "runs"])
def test_any_report_stands_in_a_region(folder: Path, report: str) -> None:
    text, done = update(folder, f"a\n<!-- bench:begin report={report} -->\n<!-- bench:end -->\nb\n")
    assert done.code == 0, done.text
    assert text.startswith(f"a\n<!-- bench:begin report={report} -->\n")
    assert re.search(r"\n<!-- bench:end digest=[0-9a-f]{12} -->\nb\n$", text)
    assert text.count("bench:begin") == text.count("bench:end") == 1
    assert "100.5" in text and "| " in text
    assert check(folder).code == 0
    before = text
    text, done = update(folder, text)
    assert text == before and "1 region in 1 file up to date" in done.err


def test_options_of_a_marker(folder: Path) -> None:
    (folder / "sweep.md").write_text(
        table(ROW, ROW.replace("4 | 1 | 1 | 1024 | 100.5", "2 | 2 | 2 | 1024 | 90.25"))
        .replace("# Sweep", "# Sweep, sequence length=1024")
    )  # fmt: skip
    text, done = update(folder, DAYS.replace("days", 'days where="tp = 4" tokens=1e12'))
    assert done.code == 0 and "100.5" in text and "90.25" not in text and "1T tokens" in text
    text, _ = update(folder, DAYS.replace("days", "days where='mbs > 1' steps=1_000"))
    assert "90.25" in text and "100.5" not in text and "(`--steps`)" in text
    text, _ = update(folder, DAYS.replace("days", "days model=1.3B document=sweep all"))
    assert "90.25" in text and "100.5" in text
    text, _ = update(folder, DAYS.replace("report=days", "table=sweep.md:1"))
    assert "| Nodes | Size |" in text and "100.5" in text
    text, _ = update(folder, DAYS.replace("report=days", "report=runs from=sweep.md,sweep.md"))
    assert "2 runs." in text


def test_line_ends_blanks_and_the_last_line_stay(folder: Path) -> None:
    around = "\ufeff# T  \r\n\r\nx\t\r\n\n{}tail  \r\nno end"
    text, done = update(folder, around.format(DAYS.replace("\n", "\r\n")))
    assert done.code == 0
    inner = text.removeprefix("\ufeff# T  \r\n\r\nx\t\r\n\n").removesuffix("tail  \r\nno end")
    assert inner != text and inner.count("\r\n") == inner.count("\n") > 4
    assert check(folder).code == 0
    (folder / "README.md").write_bytes(text.replace("\r\n", "\n").encode())
    assert check(folder).code == 0, "a checkout with other line ends is no change"


def test_blank_lines_beside_markers_and_indentation_stay(folder: Path) -> None:
    text, _ = update(
        folder, "- a\n\n  <!-- bench:begin report=days -->\n\nx\n\n\n  <!-- bench:end -->\n"
    )
    assert text.startswith("- a\n\n  <!-- bench:begin report=days -->\n\n  | ")
    assert re.search(r"\n\n\n  <!-- bench:end digest=\w+ -->\n$", text)
    assert check(folder).code == 0


def test_bytes_that_are_no_text_stay(folder: Path) -> None:
    text, done = update(folder, "\udcff\udcfe\n" + DAYS + "\udc80")
    assert done.code == 0 and text.startswith("\udcff\udcfe\n") and text.endswith("\n\udc80")


def test_markers_shown_as_code_are_examples(folder: Path) -> None:
    shown = (
        "```\n<!-- bench:begin nonsense\n```\n\n    <!-- bench:end -->\n\n`<!-- bench:x -->`\n\n"
    )
    text, done = update(folder, shown + DAYS)
    assert done.code == 0, done.text
    assert text.startswith(shown) and "100.5" in text


def test_a_region_without_a_digest_is_accepted(folder: Path) -> None:
    text, _ = update(folder, DAYS)
    bare = re.sub(r" digest=\w+", "", text)
    (folder / "README.md").write_text(bare)
    assert check(folder).code == 0
    sealed, done = update(folder, bare)
    assert sealed == text and "README.md:8: digest written" in done.err
    assert update(folder, text)[0] == text, "nothing changed, so nothing is written"


def test_the_digest_tells_an_edit_by_hand(folder: Path) -> None:
    text, _ = update(folder, DAYS)
    (folder / "README.md").write_text(text.replace("100.5", "99.5"))
    done = check(folder)
    assert done.code == 1 and "days is stale (changed by hand)" in done.err
    again, done = update(folder, text.replace("100.5", "99.5"))
    assert again == text and "what was changed by hand in it is replaced" in done.err


# Check.


def test_check_changes_nothing_and_tells_the_difference(folder: Path) -> None:
    text, _ = update(folder, "# R\n\n" + DAYS)
    (folder / "sweep.md").write_text((folder / "sweep.md").read_text().replace("100.5", "1250.5"))
    done = check(folder)
    assert done.code == 1 and (folder / "README.md").read_text() == text
    assert "README.md:3: days is stale" in done.err
    assert "try: bench report --update README.md" in done.err
    lines = done.out.splitlines()
    assert lines[:2] == ["--- README.md as it is", "+++ README.md as it should be"]
    changed = [line for line in lines[2:] if line[0] in "+-"]
    assert [line[0] for line in changed] == ["-", "+", "-", "+"], "padding is no difference"
    assert "100.5" in changed[0] and "1,250.5" in changed[1] and "digest" in changed[2]
    assert not [path for path in folder.iterdir() if path.name.startswith(".README")]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a\n<!-- bench:begin report=days -->\n", 2, "has no end"),
        ("<!-- bench:end -->\n", 1, "has not begun"),
        (DAYS[:33] + DAYS, 2, "begins within another"),
        ("<!-- bench:start report=days -->\n", 1, "unknown marker 'bench:start'"),
        ("<!-- bench:begin report=days\n-->\n", 1, "not closed on its line"),
        ("<!-- bench:begin report=days --> x\n", 1, "not alone on its line"),
        (DAYS.replace("report=days", ""), 1, "names no report"),
        (DAYS.replace("days", "days table=x.md"), 1, "both a report and a table"),
        (DAYS.replace("days", "day"), 1, "did you mean 'days'"),
        (DAYS.replace("days", "days modle=1.3B"), 1, "did you mean 'model'"),
        (DAYS.replace("days", "days model"), 1, "'model' of a marker is wrong"),
        (DAYS.replace("days", "days all=1"), 1, "'all' of a marker is wrong"),
        (DAYS.replace("days", "days model=a model=b"), 1, "stands twice"),
        (DAYS.replace("days", "days where='tp = 4"), 1, "cannot be read"),
        (DAYS.replace("days", "days where='tpp = 4'"), 1, "unknown column 'tpp'"),
        (DAYS.replace("days", "days where='tp = 99'"), 1, "no runs to report on"),
        (DAYS.replace("days", "days model=7B"), 1, "no runs of model '7B'"),
        (DAYS.replace("days", "days tokens=many"), 1, "no whole number"),
        (DAYS.replace("days", "days from=../.."), 1, "lies outside of"),
        (DAYS.replace("days", "days charts=/tmp/x"), 1, "lies outside of"),
        (DAYS.replace("days", "days template=../../../etc/passwd"), 1, "lies outside of"),
        (DAYS.replace("days", "days template=gone.md.j2"), 1, "no template"),
        (DAYS.replace("report=days", "table=sweep.md:9"), 1, "has no table 9"),
        (DAYS.replace("report=days", "table=gone.md"), 1, "no source is called"),
        (DAYS.replace("end", "end digest=zz"), 2, "end marker cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    folder: Path, text: str, line: int, words: str
) -> None:
    good = "<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
    (folder / "good.md").write_text(good)
    (folder / "README.md").write_text(text)
    for mode in ("--check", "--update"):
        done = quick(folder, "report", mode, "good.md", "README.md", "--from", "sweep.md")
        assert done.code == 2 and done.out == "", done.text
        assert words in done.err and f"where: README.md:{line}" in done.err, done.err
        assert (folder / "README.md").read_text() == text
        assert (folder / "good.md").read_text() == good, "all or nothing"


def test_options_that_do_not_go_along(folder: Path) -> None:
    for args in ("--update --check R.md", "--from sweep.md", "--update README.md --model 1.3B"):
        done = quick(folder, "report", *args.split())
        assert done.code == 2 and "try: " in done.err, done.text
    (folder / "plain.md").write_text("# nothing\n")
    assert check(folder, "plain.md").code == 3
    assert check(folder, "gone.md").code == 2


# Charts and templates.


@pytest.mark.slow
def test_charts_lie_beside_the_file_and_are_checked(folder: Path) -> None:
    text, done = update(folder, DAYS.replace("days", 'days charts="my pics"'))
    assert done.code == 0, done.text
    links = re.findall(r"^!\[.+\]\((.+)\)$", text, re.M)
    assert links and all(link.startswith("my%20pics/") for link in links)
    drawn = sorted((folder / "my pics").iterdir())
    assert len(drawn) == len(links) and {path.suffix for path in drawn} == {".svg"}
    assert "wrote my pics/" in done.err and check(folder).code == 0
    before = drawn[0].read_bytes()
    drawn[0].write_bytes(b"<svg>" + before)  # drawn by another matplotlib: the data count
    assert check(folder).code == 0
    drawn[0].unlink()
    done = check(folder)
    assert done.code == 1 and "the chart is missing" in done.out
    assert update(folder, text)[0] == text and drawn[0].read_bytes() == before
    two = DAYS.replace("days", "days charts=p") + DAYS.replace("days", "days where='tp=4' charts=p")
    assert update(folder, two)[1].code == 0, "the same data may be drawn twice"
    (folder / "sweep.md").write_text(
        (folder / "sweep.md").read_text()
        + f"| {ROW.replace('1 | 4 | 1', '4 | 1 | 1').replace('100', '90')} |\n"
    )
    done = update(folder, two)[1]
    assert done.code == 2 and "two regions want p/" in done.err


def test_a_template_of_the_user(folder: Path) -> None:
    (folder / "mine").mkdir()
    template = folder / "mine" / "weekly.md.j2"
    template.write_text("Best: {{ ranked[0].step_time_s | seconds }} s, {{ name }} <b>\n")
    marker = DAYS.replace("days", "days template=mine/weekly.md.j2")
    assert "\nBest: 100.5 s, 1.3B <b>\n" in update(folder, marker)[0]
    template.write_text("{{ nothing }}\n")
    done = update(folder, marker)[1]
    assert done.code == 2 and "README.md:1" in done.err and "weekly.md.j2:1" in done.err
    (folder / "bench.toml").write_text('templates = "mine"\n')
    (folder / "mine" / "days.md.j2").write_text("Mine.\n")
    assert "\nMine.\n" in update(folder, DAYS)[0]


# Where the numbers come from.


def test_sources_of_bench_toml_and_pages(folder: Path) -> None:
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\npages = ["docs/*.md"]\n')
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text(DAYS)
    done = quick(folder, "report", "--update")
    assert done.code == 0 and "docs/a.md:1: days written anew" in done.err
    assert "sweep l.5" in (folder / "docs/a.md").read_text()
    (folder / "deep").mkdir()
    assert quick(folder / "deep", "report", "--check").code == 0, "from any folder the same"


def test_a_warehouse(folder: Path) -> None:
    assert quick(folder, "ingest", "sweep.md").code == 0
    (folder / "README.md").write_text(DAYS)
    assert quick(folder, "report", "--update", "README.md").code == 0
    assert "100.5" in (folder / "README.md").read_text()
    assert check(folder).code == 0, "the same from the file as from the warehouse"


def test_without_names_what_git_tracks(folder: Path) -> None:
    import subprocess

    shutil.rmtree(folder / ".git")
    (folder / "README.md").write_text(DAYS)
    (folder / "loose.md").write_text("<!-- bench:begin -->\n")
    for words in ("init -q", "add README.md sweep.md"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)
    done = quick(folder, "report", "--check", "--from", "sweep.md")
    assert done.code == 1 and "README.md:1: days is stale" in done.err


def test_a_page_that_is_its_own_source(folder: Path) -> None:
    """A region above the table that it is made from moves the lines that it tells."""
    own = DAYS + "\n" + (folder / "sweep.md").read_text()
    (folder / "sweep.md").write_text(own)
    done = quick(folder, "report", "--update", "sweep.md", "--from", "sweep.md")
    assert done.code == 0, done.text
    text = (folder / "sweep.md").read_text()
    line = next(n for n, row in enumerate(text.splitlines(), 1) if row.startswith("| 4 | 1.3B"))
    assert f"sweep l.{line}" in text
    assert quick(folder, "report", "--check", "sweep.md", "--from", "sweep.md").code == 0
    (folder / "sweep.md").write_text(own.replace("days", "model"))
    done = quick(folder, "report", "--update", "sweep.md", "--from", "sweep.md")
    assert done.code == 2 and "never comes to rest" in done.err


def test_hostile_text_stays_within_its_region(folder: Path) -> None:
    evil = "<!-- bench:end -->"
    rows = table(ROW).replace("# Sweep", f"# Sweep, sequence length=1024 {evil}")
    rows = rows.replace("| TFLOPs |", f"| TFLOPs | Notes {evil} |").replace("---|\n", "---|---|\n")
    (folder / "sweep.md").write_text(rows.replace("0.86 |", f"0.86 | {evil} ``` |"))
    for report in ("sweep", "runs", "days", "model"):
        text, done = update(folder, DAYS.replace("days", report) + "rest\n")
        assert done.code == 0, done.text
        assert len(read_document(text, "x").regions) == 1 and text.endswith("\nrest\n")
        assert check(folder).code == 0


@pytest.mark.parametrize(
    "line",
    [
        "<!-- Bench:begin report=days -->", "<!-- BENCH:END -->", "<!-- bench begin report=x -->",
        "> <!-- bench:begin report=days -->", "- <!-- bench:end -->", "see <!-- bench-begin -->",
    ],
)  # fmt: skip
def test_what_is_nearly_a_marker_is_told(folder: Path, line: str) -> None:
    (folder / "README.md").write_text(f"# x\n\n{line}\n")
    done = check(folder)
    assert done.code == 2 and "not written as one" in done.err and "README.md:3" in done.err
    (folder / "README.md").write_text(f"# x\n\nwrite `{line}`\n\n```\n{line}\n```\n")
    assert check(folder).code == 3, "an example is none"


@pytest.mark.parametrize("indent", ["      ", "\t"])
def test_a_region_that_would_be_lost_is_refused(folder: Path, indent: str) -> None:
    """Written, its end would be a line of code, and the next update would not find it."""
    text = f"text\n{indent}<!-- bench:begin report=days -->\n{indent}<!-- bench:end -->\n"
    after, done = update(folder, text)
    assert done.code == 2 and after == text and "README.md:2" in done.err, done.text
    assert "not be found again" in done.err


def test_a_template_may_not_swallow_the_end(folder: Path) -> None:
    (folder / "open.md.j2").write_text("```\nan open fence\n")
    text = DAYS.replace("report=days", "report=days template=open.md.j2")
    after, done = update(folder, text)
    assert done.code == 2 and after == text and "close the code fence" in done.err, done.text


def test_a_section_by_name(folder: Path) -> None:
    whole, _ = update(folder, DAYS.replace("days", "model"))
    for name, words in (("answers", "Shortest measured"), ("'model and'", "Budget:"),
                        ("'Days to'", "   Days | Range"), ("sources", "sweep.md")):  # fmt: skip
        text, done = update(folder, DAYS.replace("report=days", f"report=model section={name}"))
        assert done.code == 0, done.text
        body = text.split("-->\n", 1)[1].rsplit("<!--", 1)[0].strip()
        assert words in body and body in whole and body.count("\n## ") == 0
    text, done = update(folder, DAYS.replace("report=days", "report=model section=nope"))
    assert done.code == 2 and "'Sources'" in done.err and "README.md" in done.err


def test_nothing_outside_of_the_repository_is_written(folder: Path, tmp_path: Path) -> None:
    home = folder / "home"
    home.mkdir()
    (home / ".git").mkdir()
    shutil.copy(folder / "sweep.md", home)
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    text = "<!-- bench:begin report=model model=1.3B charts=img -->\n<!-- bench:end -->\n"
    (home / "img").mkdir()
    (home / "img" / "1.3B-days.svg").symlink_to(victim)
    after, done = update(home, text)
    assert done.code == 2 and after == text and "lies outside" in done.err, done.text
    (home / "img" / "1.3B-days.svg").unlink()
    page = tmp_path / "page.md"
    page.write_text(DAYS)
    (home / "link.md").symlink_to(page)
    done = quick(home, "report", "--update", "link.md", "--from", "sweep.md")
    assert done.code == 2 and page.read_text() == DAYS and victim.read_text() == "mine"


def test_pages_that_are_sources_of_each_other(folder: Path) -> None:
    """Written one by one, the first would tell lines that the second moves."""
    sweep = (folder / "sweep.md").read_text()
    (folder / "sweep.md").write_text(f"# S\n\n{DAYS}\n{sweep}")
    (folder / "README.md").write_text(DAYS)
    done = quick(folder, "report", "--update", "README.md", "sweep.md", "--from", "sweep.md")
    assert done.code == 0, done.text
    done = quick(folder, "report", "--check", "README.md", "sweep.md", "--from", "sweep.md")
    assert done.code == 0, done.text


def test_a_git_that_refuses_is_no_empty_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".git").rmdir()
    (folder / ".git").write_text("gitdir: /nowhere\n")
    done = quick(folder, "report", "--check", "--from", "sweep.md")
    assert done.code == 2 and "git failed" in done.err, done.text


def test_a_table_within_html_is_a_table(folder: Path) -> None:
    text = f"<details><summary>Runs</summary>\n{DAYS}</details>\n"
    after, done = update(folder, text)
    assert done.code == 0 and check(folder).code == 0
    tokens = MarkdownIt("commonmark").enable("table").parse(after)
    assert any(token.type == "table_open" for token in tokens), after
    assert update(folder, after)[0] == after


def test_charts_that_name_a_file(folder: Path) -> None:
    text = DAYS.replace("report=days", "report=days charts=sweep.md")
    after, done = update(folder, f"{DAYS}\n{text}")
    assert done.code == 2 and after == f"{DAYS}\n{text}" and "README.md:4" in done.err, done.text


@pytest.mark.parametrize(
    "options",
    ["report=best charts=img", "report=best template=x.md.j2", "report=days by=tp",
     "report=runs charts=img", "report=runs columns=tp", "report=model group=tp"],
)  # fmt: skip
def test_options_without_a_meaning_are_told(folder: Path, options: str) -> None:
    text = DAYS.replace("report=days", options)
    after, done = update(folder, text)
    assert done.code == 2 and after == text and "has no meaning for report=" in done.err, done.text


def test_columns_and_groups_of_an_answer(folder: Path) -> None:
    other = ROW.replace("4 | 1 | 1 | 1024 | 100.5", "4 | 1 | 2 | 1024 | 90.25")
    (folder / "sweep.md").write_text(
        table(ROW, other).replace("# Sweep", "# Sweep, sequence length=1024")
    )
    for report, heads in (
        ("best", "step_time_s | mbs"), ("days tokens=1e12", "days | mbs"),
        ("compare by=mbs", "level | speedup"),
    ):  # fmt: skip
        named = ",".join(heads.split(" | "))
        text, done = update(folder, DAYS.replace("days", f"{report} columns={named}"))
        assert done.code == 0 and f"| {heads} |" in " ".join(text.split()), done.text
        text, done = update(folder, DAYS.replace("days", f"{report} group=mbs"))
        assert done.code == 0, done.text
    text, done = update(folder, DAYS.replace("days", "best group=tp columns=tp,step_time_s"))
    assert done.code == 0 and "90.25" in text and "100.5" not in text
    _, done = update(folder, DAYS.replace("days", "scaling columns=nope"))
    assert done.code == 2 and "unknown column 'nope'" in done.err and "README.md:1" in done.err


def test_nothing_is_left_of_an_update_that_fails(folder: Path) -> None:
    table = (folder / "sweep.md").read_text()
    charted = DAYS.replace("report=days", "report=model charts=img")
    (folder / "sweep.md").write_text(f"{table}\n{charted}")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = quick(folder, "report", "--update", "sweep.md", "--from", "sweep.md")
    assert done.code == 2 and "never comes to rest" in done.err, done.text
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_sections_of_the_sweep(folder: Path) -> None:
    text, done = update(folder, DAYS.replace("report=days", "report=sweep section=sweep"))
    assert done.code == 0 and "100.5" in text, done.text


def test_code_behind_lone_carriage_returns(folder: Path) -> None:
    text = f"a\rb\rc\rd\re\n\n```\n{DAYS}```\n"
    assert read_document(text, "x.md").regions == ()


# The file format itself.


LINES = st.sampled_from(["", "x", "| a | b |", "  y  ", "bench:begin", "```", "- <!-- a -->", "\t"])
ENDS = st.sampled_from(["\n", "\r\n"])


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a machine with other work
@given(
    st.lists(st.tuples(LINES, ENDS), max_size=6),
    st.lists(st.tuples(LINES.filter(lambda line: "`" not in line), ENDS), max_size=4),
    st.lists(st.tuples(LINES.filter(lambda line: "`" not in line), ENDS), max_size=6),
    st.lists(st.sampled_from(["", "new", "| 1 |"]), max_size=4),
    st.booleans(),
)
def test_nothing_outside_is_touched(
    before: list[tuple[str, str]], old: list[tuple[str, str]], after: list[tuple[str, str]],
    new: list[str], closed: bool,
) -> None:  # fmt: skip
    head = "".join(line + end for line, end in before if "`" not in line)
    inner = "".join(line + end for line, end in old)
    tail = "".join(line + end for line, end in after) + ("" if closed else "no end")
    text = f"{head}\n<!-- bench:begin report=days -->\n{inner}<!-- bench:end -->\r\n{tail}"
    document = read_document(text, "x.md")
    assert isinstance(document, Document) and "".join(document.lines) == text
    [region] = document.regions
    body = "\n".join(new)
    made = document.replaced({region: body})
    assert made.startswith(f"{head}\n<!-- bench:begin report=days -->\n") and made.endswith(tail)
    again = read_document(made, "x.md")
    assert again.body(again.regions[0]) == body.strip("\n")
    assert again.replaced({again.regions[0]: body}) == made, "the second time nothing changes"
    kept = document.replaced({region: document.body(region)})
    assert re.sub(r" digest=\w+", "", kept) == text and not document.is_stale(
        region, document.body(region)
    )
    assert len(digest(body)) == 12


def test_a_broken_marker_is_an_error_of_ours() -> None:
    with pytest.raises(BenchError):
        read_document("<!-- bench: -->\n", "x.md")


# We eat our own.


def test_the_table_of_the_readme_is_true() -> None:
    with chdir(ROOT):
        assert "<!-- bench:begin report=days" in Path("README.md").read_text("utf-8")
        done = quick(ROOT, "report", "--check", "README.md")
    assert done.code == 0, done.text


@pytest.mark.slow
def test_the_same_bytes_from_another_process(folder: Path) -> None:
    text, _ = update(folder, DAYS + DAYS.replace("days", "sweep"))
    (folder / "README.md").write_text(DAYS + DAYS.replace("days", "sweep"))
    done = bench(folder, "report", "--update", "README.md", "--from", "sweep.md")
    assert done.code == 0 and (folder / "README.md").read_text() == text


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("/etc/*.md", "leads out"),
        ("../*.md", "leads out"),
        ("READMEE.md", "does not exist"),
    ],
)
def test_pages_that_bench_toml_cannot_mean(folder: Path, pattern: str, told: str) -> None:
    (folder / "bench.toml").write_text(f'pages = ["{pattern}"]\n')
    for command in (["report", "--check"], ["ci", "config"]):
        done = quick(folder, *command)
        assert done.code == 2 and told in done.err and "Traceback" not in done.err
