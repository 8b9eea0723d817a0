"""Where the numbers of regions come from, what may stand in them, and the format of the file."""

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
from tests.program import bench, quick
from tests.updating import DAYS, ROOT, ROW, a_checkout, check, update


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_checkout(tmp_path)


def test_sources_of_bench_toml_and_pages(folder: Path) -> None:
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\npages = ["docs/*.md"]\n')
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text(DAYS)
    done = quick(folder, "report", "--update")
    assert done.code == 0 and "docs/a.md:1: days updated" in done.err
    assert "sweep:5" in (folder / "docs/a.md").read_text()
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
    assert f"sweep:{line}" in text
    assert quick(folder, "report", "--check", "sweep.md", "--from", "sweep.md").code == 0
    (folder / "sweep.md").write_text(own.replace("days", "model"))
    done = quick(folder, "report", "--update", "sweep.md", "--from", "sweep.md")
    assert done.code == 2 and "never converges" in done.err


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
    assert "would break the region's markers" in done.err


def test_a_template_may_not_swallow_the_end(folder: Path) -> None:
    (folder / "open.md.j2").write_text("```\nan open fence\n")
    text = DAYS.replace("report=days", "report=days template=open.md.j2")
    after, done = update(folder, text)
    assert done.code == 2 and after == text and "close the code fence" in done.err, done.text


def test_a_section_by_name(folder: Path) -> None:
    whole, _ = update(folder, DAYS.replace("days", "model"))
    sections = {
        "answers": "Fastest, ",
        "'model and'": "Days are per 100B tokens",
        "'Days to'": "Days per 100B tokens | Range",
        "sources": "sweep.md",
    }
    for name, words in sections.items():
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
    assert done.code == 2 and after == text and "is outside" in done.err, done.text
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
    assert done.code == 2 and after == text and "does not apply to report=" in done.err, done.text


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
    assert done.code == 2 and "never converges" in done.err, done.text
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_sections_of_the_sweep(folder: Path) -> None:
    text, done = update(folder, DAYS.replace("report=days", "report=sweep section=sweep"))
    assert done.code == 0 and "100.5" in text, done.text


def test_code_behind_lone_carriage_returns(folder: Path) -> None:
    text = f"a\rb\rc\rd\re\n\n```\n{DAYS}```\n"
    assert read_document(text, "x.md").regions == ()


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
        ("/etc/*.md", "outside of"),
        ("../*.md", "outside of"),
        ("READMEE.md", "does not exist"),
    ],
)
def test_pages_that_bench_toml_cannot_mean(folder: Path, pattern: str, told: str) -> None:
    (folder / "bench.toml").write_text(f'pages = ["{pattern}"]\n')
    for command in (["report", "--check"], ["ci", "config"]):
        done = quick(folder, *command)
        assert done.code == 2 and told in done.err and "Traceback" not in done.err
