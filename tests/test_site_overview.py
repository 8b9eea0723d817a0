"""The overview of a site: the best, failures, and what changed since the last build."""

import re
from pathlib import Path

from tests.program import quick
from tests.site_pages import TABLE


def test_a_new_run_that_is_the_fastest_is_named_since_the_last_build(folder: Path) -> None:
    head = TABLE.replace("GPUs\n", "GPUs, sequence length 2048\n", 1)
    (folder / "a.md").write_text(head)
    assert quick(folder, "site", "a.md", "-o", "public").code == 0
    overview = folder / "public" / "index.html"
    first = overview.read_text("utf-8")
    assert "Since the last build" not in first and "no run has changed" in first
    for name, seconds in (("slow", 4.4), ("fast", 3.8)):
        (folder / f"{name}.md").write_text(head.replace("4.1", f"{seconds}").replace("4.9", "5"))
        assert quick(folder, "site", "a.md", f"{name}.md", "-o", "public").code == 0
        text = overview.read_text("utf-8").partition("Since the last build")[2]
        leads = "fast:5</a>, now the fastest of 7B on H100" in text
        assert leads == (name == "fast")
        assert f'{name}:6</a> <span class="badge oom">oom</span>' in text


def test_a_run_that_changed_is_not_called_the_fastest_only_now(folder: Path) -> None:
    head = TABLE.replace("GPUs\n", "GPUs, sequence length 2048\n", 1)
    (folder / "a.md").write_text(head)
    for stated in ((), ("--set", "pp=1")):
        assert quick(folder, "-q", "site", "a.md", *stated, "-o", "public").code == 0
    text = (folder / "public" / "index.html").read_text("utf-8")
    told = text.partition('<h2 id="changes">')[2].partition("<h2")[0]
    assert "a:5</a>, the fastest of 7B" in told and "now the fastest" not in told


def test_what_a_build_says_of_the_last_one_stays_until_something_changes(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(TABLE.replace("4.1", str(len(name) + ord(name))))
        assert quick(folder, "-q", "ingest", f"{name}.md").code == 0
        assert quick(folder, "-q", "site", "-o", "public").code == 0
    again = quick(folder, "site", "-o", "public")
    assert ", 0 written" in again.text
    assert "Since the last build" in (folder / "public" / "index.html").read_text("utf-8")


def test_every_run_of_a_cause_is_named(folder: Path) -> None:
    rows = "".join(f"| 7B | 8 | 2 | {mbs} | 64 | OOM | |\n" for mbs in range(1, 8))
    (folder / "a.md").write_text(TABLE + rows)
    assert quick(folder, "site", "a.md", "-o", "public").code == 0
    public = folder / "public"
    causes = (public / "failures.html").read_text("utf-8").partition('<h2 id="all">')[0]
    assert {f">a:{line}</a>" in causes for line in range(7, 14)} == {True}
    overview = (public / "index.html").read_text("utf-8")
    assert re.search(r'and <a href="failures.html#causes">\d more</a>', overview)


def test_the_best_of_many_models_are_folded_until_asked_for(folder: Path) -> None:
    rows = "".join(f"| {size}B | 8 | 2 | 1 | 64 | {size}.5 | |\n" for size in range(10, 26))
    (folder / "a.md").write_text(TABLE.replace("GPUs\n", "GPUs, sequence length 2048\n", 1) + rows)
    assert quick(folder, "site", "a.md", "-o", "public").code == 0
    overview = (folder / "public" / "index.html").read_text("utf-8")
    assert '<input type="checkbox"> All 17 rows' in overview
    best = overview.partition('id="best"')[2].partition("</table>")[0]
    assert best.count("<tr data-run") == 17, "all are there, and on paper"


def test_devices_that_no_source_counts_are_not_shown(folder: Path) -> None:
    """One a node is a guess: an MFU of it would be eight times that of nodes with eight."""
    head = "# 7B on H100\n\n| Nodes |{} MBS | Tokens/s/GPU |\n|---|{}---|---|\n"
    (folder / "n.md").write_text(head.format("", "").replace("/GPU", "") + "| 1 | 1 | 10000 |\n")
    (folder / "d.md").write_text(head.format(" GPUs |", "---|") + "| 1 | 8 | 1 | 1000 |\n")
    shown = {}
    for name in ("n", "d"):
        assert quick(folder, "site", f"{name}.md", "-o", f"of_{name}").code == 0
        text = (folder / f"of_{name}" / "index.html").read_text("utf-8")
        shown[name] = text.partition('id="best"')[2].partition("</table>")[0]
    for heading in ("MFU", "Tokens/s/device", "Devices"):
        assert f">{heading}<" in shown["d"] and f">{heading}<" not in shown["n"]
