"""The row diff: rows matched by configuration; what a reviewer reads instead of a text diff."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.reports.row_diff import KEY, compare
from bench.reports.row_diff_table import columns, markdown, plain
from bench.schema.warehouse import Row
from tests.checkouts import ROWS, git
from tests.making import OWN_FORMAT, log, table
from tests.program import quick


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout in which sweep.md has been changed since the last commit."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "sweep.md").write_text(table(*ROWS))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "old")
    (tmp_path / "old.md").write_text(table(*ROWS))
    changed = ROWS[1].replace("51.0", "45.9")
    added = "32 | 1.3B | 8 | 4 | 1 | 1 | 1024 | 13.5 | 0.8"
    (tmp_path / "sweep.md").write_text(table(added, changed, ROWS[0]))
    return tmp_path


@pytest.mark.parametrize("line", ["diff --base HEAD sweep.md", "diff old.md sweep.md"])
def test_what_a_reviewer_reads(folder: Path, line: str) -> None:
    done = quick(folder, *line.split())
    assert done.code == 0, done.text
    assert done.out.startswith("**1 changed, 1 added, 1 removed, 1 unchanged** (rows by")
    _, _, *rows = [row for row in done.out.splitlines() if row.startswith("|")]
    told = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in told] == ["changed", "added", "removed"]
    assert told[0][1].endswith("sweep.md:6") and "51 → 45.9 (-10.0%)" in told[0]
    assert "DP2" in told[0][2] and "TP4" not in told[0][2], "what all share is said once"
    assert "TP4" in done.out.split("All: ")[1].splitlines()[0] or "TP4" in told[0][2]
    assert "13.5" in told[1] and told[2][1].endswith(":7")


def test_formats_and_exit_codes(folder: Path) -> None:
    done = quick(folder, "diff", "old.md", "sweep.md", "--format", "json", "--check")
    assert done.code == 1
    found = json.loads(done.out)
    assert (found["changed"], found["added"], found["removed"], found["unchanged"]) == (1, 1, 1, 1)
    [changed] = [row for row in found["rows"] if row["change"] == "changed"]
    assert changed["percent"] == {"step_time_s": -10.0}
    assert (changed["old"]["step_time_s"], changed["new"]["step_time_s"]) == (51.0, 45.9)
    assert changed["configuration"]["nodes"] == 8
    assert "1 changed" in quick(folder, "diff", "old.md", "sweep.md", "--format", "table").err
    done = quick(folder, "diff", "sweep.md", "sweep.md", "--check")
    assert (done.code, done.out) == (0, "**3 unchanged** (rows by configuration)\n")
    done = quick(folder, "diff", "old.md", "sweep.md", "--where", "nodes = 4", "--check")
    assert done.code == 0 and "**1 unchanged**" in done.out
    (folder / "none.md").write_text("# nothing\n")
    assert quick(folder, "diff", "none.md", "none.md").code == 5
    done = quick(folder, "diff", "none.md", "sweep.md", "--check")
    assert done.code == 0 and "3 added, 0 unchanged" in done.out, "more is no failure"
    for args in ("diff", "diff sweep.md", "diff --base nope sweep.md", "diff --base HEAD /tmp",
                 "diff --base HEAD", "diff a.md b.md", "diff --base=-x old.md"):  # fmt: skip
        done = quick(folder, *args.split())
        assert done.code == 2 and "\n  try: " in done.err, done.text


def test_a_side_that_git_has_not(folder: Path) -> None:
    (folder / "new.md").write_text(table(*ROWS))
    done = quick(folder, "diff", "--base", "main", "new.md")
    assert done.code == 0 and "3 added, 0 unchanged" in done.out, done.text
    (folder / "sweep.md").unlink()
    done = quick(folder, "diff", "--base", "main", "sweep.md")
    assert done.code == 0 and "3 removed, 0 unchanged" in done.out, done.text


def test_sources_of_bench_toml_from_any_folder(folder: Path) -> None:
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\n')
    (folder / "deep").mkdir()
    done = quick(folder / "deep", "diff", "--base", "HEAD")
    assert done.code == 0 and "1 changed, 1 added, 1 removed" in done.out, done.text


def test_logs_and_their_records(folder: Path) -> None:
    for side, ms in (("a", 100), ("b", 110)):
        (folder / side).mkdir()
        (folder / side / "x.log").write_text(log(9, ms))
        assert quick(folder / side, "export", "--records", "../r-" + side, "x.log").code == 0
    for old, new in (("a", "b"), ("r-a", "r-b"), ("a", "r-b")):
        done = quick(folder, "diff", old, new, "--format", "json")
        assert done.code == 0, done.text
        [row] = json.loads(done.out)["rows"]
        assert row["change"] == "changed" and row["percent"]["step_time_s"] == pytest.approx(10)
    done = quick(folder, "diff", "a", "r-a")
    assert "**1 unchanged**" in done.out, "a record is the run that it is of"


def test_warehouses(folder: Path) -> None:
    assert quick(folder, "ingest", "-q", "old.md", "--db", "old.duckdb").code == 0
    done = quick(folder, "diff", "old.duckdb", "sweep.md")
    assert "1 changed, 1 added, 1 removed" in done.out, done.text


def test_a_row_that_breaks(folder: Path) -> None:
    (folder / "sweep.md").write_text(table(*ROWS).replace("51.0 | 0.85", "OOM | -"))
    done = quick(folder, "diff", "old.md", "sweep.md")
    assert "1 changed" in done.out and "ok → oom" in done.out and "51 → -" in done.out


def test_hostile_text(folder: Path) -> None:
    evil = "<img src=x> `|` </table> [a](http://b) @all"
    (folder / "sweep.md").write_text(table(*ROWS[:2]).replace("1.3B", f"1.3B {evil}"))
    done = quick(folder, "diff", "old.md", "sweep.md")
    assert done.code == 0 and "<img" not in done.out.replace("\\<img", "")


# The matching itself.


def row(key: int, time: float | None, line: int) -> Row:
    values: dict[str, object] = dict.fromkeys(KEY)
    return values | {
        "nodes": key, "step_time_s": time, "tflops": None, "memory": None, "memory_unit": None,
        "status": "ok", "left_out": "", "uri": "x.md", "line": line, "basis": "cell",
        "file": "x.md", "file_line": line, "others": {},
    }  # fmt: skip


SIDES = st.lists(st.tuples(st.integers(1, 3), st.sampled_from([1.0, 2.5, None])), max_size=8)


@given(SIDES, SIDES, st.randoms())
def test_every_row_is_told_once(
    old: list[tuple[int, float | None]], new: list[tuple[int, float | None]], any: random.Random
) -> None:
    before = [row(key, time, line) for line, (key, time) in enumerate(old, 1)]
    after = [row(key, time, line) for line, (key, time) in enumerate(new, 1)]
    found = compare(before, after)
    counts = found.counts
    assert found.unchanged + counts["changed"] + counts["removed"] == len(before)
    assert found.unchanged + counts["changed"] + counts["added"] == len(after)
    shuffled = any.sample(after, len(after))
    again = compare(before, shuffled)
    assert (again.unchanged, again.counts) == (found.unchanged, counts)
    assert compare(after, shuffled).changes == ()
    back = compare(after, before)
    assert (back.counts["added"], back.counts["removed"]) == (counts["removed"], counts["added"])
    assert markdown(found).count("\n| ") == len(found.changes) + 2 * bool(found.changes)
    assert len(plain(found)["rows"]) == len(found.changes) and columns(found)[0] == "Change"


def test_the_last_bits_of_a_mean_are_no_change() -> None:
    assert compare([row(1, 0.1 + 0.2, 1)], [row(1, 0.3, 1)]).unchanged == 1
    [change] = compare([row(1, 0.0, 1)], [row(1, 0.3, 1)]).changes
    assert change.kind == "changed" and plain(compare([row(1, 0.0, 1)], [row(1, 1, 1)]))["changed"]


def test_every_other_number_counts(folder: Path) -> None:
    """Whatever a row states is compared, not only its time, TFLOPs and memory."""
    text = "| Nodes | TP | Sec/it | samples/s |\n|--|--|--|--|\n| 4 | 2 | 10.5 | {} |\n"
    for name, rate in (("a", "97.5"), ("b", "99.45")):
        (folder / f"{name}.md").write_text(text.format(rate))
    done = quick(folder, "diff", "a.md", "b.md", "--check")
    assert done.code == 1 and "97.5 → 99.45 (+2.0%)" in done.out, done.text
    [row] = json.loads(quick(folder, "diff", "a.md", "b.md", "--format", "json").out)["rows"]
    assert list(row["old"]["others"].values()) == [97.5]


def test_the_base_has_what_archives_leave_out(folder: Path) -> None:
    """`export-ignore` is about releases: the base of a diff is what a checkout has."""
    (folder / ".gitattributes").write_text("*.md export-ignore\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "attributes")
    before = git(folder, "status", "--porcelain")
    done = quick(folder, "diff", "--base", "HEAD", "sweep.md")
    assert done.out.startswith("**3 unchanged**"), done.text
    assert git(folder, "status", "--porcelain") == before, "the index is left as it is"


def test_a_record_goes_by_the_place_in_its_source(folder: Path) -> None:
    """And names its own file, which is what a pull request can show."""
    assert quick(folder, "export", "--records", "r/old", "old.md").code == 0
    assert quick(folder, "export", "--records", "r/new", "sweep.md").code == 0
    done = quick(folder, "diff", "r/old", "r/new", "--format", "json")
    [changed] = [row for row in json.loads(done.out)["rows"] if row["change"] == "changed"]
    assert (changed["old"]["where"], changed["new"]["where"]) == ("old.md:6", "sweep.md:6")
    record = json.loads((folder / changed["new"]["file"]).read_bytes())
    assert record["run"]["line"] == 6 and 45.9 in [m["value"] for m in record["measurements"]]


def test_memory_in_another_unit_has_no_percent(folder: Path) -> None:
    text = "| Nodes | TP | Sec/it | Memory ({}) |\n|--|--|--|--|\n| 4 | 2 | 10.5 | {} |\n"
    (folder / "a.md").write_text(text.format("GB", "40"))
    (folder / "b.md").write_text(text.format("MB", "40000"))
    done = quick(folder, "diff", "a.md", "b.md")
    assert "40 GB → 40,000 MB" in done.out and "%" not in done.out, done.text


def test_formats_of_a_user_read_both_sides(folder: Path) -> None:
    """What is compared is the results, read in one way."""
    (folder / "own").mkdir()
    (folder / "own" / "ours.toml").write_text(OWN_FORMAT)
    (folder / "x.log").write_text("".join(f"st={n} took {240 + n}.5ms\n" for n in range(1, 9)))
    (folder / "bench.toml").write_text('formats = "own"\nsources = ["x.log"]\n')
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "own format")
    done = quick(folder, "diff", "--base", "HEAD")
    assert done.out.startswith("**1 unchanged**"), done.text


def test_a_comparison_across_a_boundary_is_labelled(tmp_path: Path) -> None:
    before, after = (table(ROWS[0].replace("100.5", time)) for time in ("100.5", "90.1"))
    line = "\nFrom here on TFLOPs are about 3% higher, since the formula was mended.\n\n"
    (tmp_path / "old.md").write_text(f"{before}{line}{table(ROWS[1])}")
    (tmp_path / "new.md").write_text(f"{table(ROWS[1])}{line}{after}")
    done = quick(tmp_path, "diff", "old.md", "new.md", "--format", "json")
    found = json.loads(done.out)
    [changed] = [one for one in found["rows"] if one["change"] == "changed"]
    assert re.match(r"before l\.\d+ → since l\.\d+: From here on TFLOPs", changed["across"])
    page = quick(tmp_path, "diff", "old.md", "new.md", "--format", "md").out
    assert "Across a boundary" in page and "→ since l." in page
    (tmp_path / "new.md").write_text(f"{after}\nmore\n{line}{table(ROWS[1])}")
    same = quick(tmp_path, "diff", "old.md", "new.md", "--format", "md").out
    assert "1 changed" in same and "Across a boundary" not in same
