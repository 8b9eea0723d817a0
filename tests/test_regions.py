"""Regions: what stands between markers is kept true, and not a byte beside it is touched."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.making import table
from tests.program import quick
from tests.updating import DAYS, ROW, a_checkout, check, update


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_checkout(tmp_path)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of such a checkout, for tests that do not ask how its document is read."""
    folder = a_checkout(tmp_path_factory.mktemp("ingested"))
    assert quick(folder, "ingest", "sweep.md").code == 0
    return folder / "bench.duckdb"


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
    assert done.code == 1 and "days is stale (edited by hand)" in done.err
    again, done = update(folder, text.replace("100.5", "99.5"))
    assert again == text and "manual edits are overwritten" in done.err


def test_check_changes_nothing_and_tells_the_difference(folder: Path) -> None:
    text, _ = update(folder, "# R\n\n" + DAYS)
    (folder / "sweep.md").write_text((folder / "sweep.md").read_text().replace("100.5", "1250.5"))
    done = check(folder)
    assert done.code == 1 and (folder / "README.md").read_text() == text
    assert "README.md:3: days is stale" in done.err
    assert "try: bench report --update README.md" in done.err
    lines = done.out.splitlines()
    assert lines[:2] == ["--- README.md (current)", "+++ README.md (expected)"]
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
        (DAYS.replace("days", "days tokens=many"), 1, "not a positive integer"),
        (DAYS.replace("days", "days from=../.."), 1, "is outside"),
        (DAYS.replace("days", "days charts=/tmp/x"), 1, "is outside"),
        (DAYS.replace("days", "days template=../../../etc/passwd"), 1, "is outside"),
        (DAYS.replace("days", "days template=gone.md.j2"), 1, "not found"),
        (DAYS.replace("report=days", "table=sweep.md:9"), 1, "has no table 9"),
        (DAYS.replace("report=days", "table=gone.md"), 1, "no source is called"),
        (DAYS.replace("end", "end digest=zz"), 2, "end marker cannot be read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    folder: Path, ingested: Path, text: str, line: int, words: str
) -> None:
    shutil.copy(ingested, folder)
    good = "<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
    (folder / "good.md").write_text(good)
    (folder / "README.md").write_text(text)
    for mode in ("--check", "--update"):
        done = quick(folder, "report", mode, "good.md", "README.md")
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
    assert done.code == 2 and "two regions write p/" in done.err


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
