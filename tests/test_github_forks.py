"""`bench ci github` of forks, of odd names and sources, against the same small server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.ci.comment import cut, marker
from tests.checkouts import ROWS, git
from tests.hub import TOKEN, Hub
from tests.making import table
from tests.program import quick
from tests.reviewing import MARK, a_request, run


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    return a_request(tmp_path, hub, monkeypatch)


def test_save_and_post(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    assert run(folder, "--save", "told.json").code == 1
    saved = json.loads((folder / "told.json").read_text())
    assert saved["pull_request"] == 7 and saved["body"].startswith(MARK)
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    event = folder.parent / "run.json"
    event.write_text(json.dumps({"workflow_run": {"head_sha": "abc"}}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    evil = saved["body"] + "@everyone &#64;all &#x40;all &commat;all"
    (folder / "told.json").write_text(json.dumps(saved | {"body": evil}))
    assert run(folder, "--post", "told.json").code == 0
    [comment] = hub.comments
    assert "@everyone" not in comment["body"] and "@\u200beveryone" in comment["body"]
    assert not re.search("&(#|commat)", comment["body"])
    hub.head = "another"
    done = run(folder, "--post", "told.json")
    assert done.code == 2 and "does not belong to pull request 7" in done.err
    for wrong in ({"pull_request": "7"}, {"body": "spam"}, {"body": 1}, {"is_news": 1},
                  {"comment": "x"}, {"comment_id": "x y"}):  # fmt: skip
        (folder / "told.json").write_text(json.dumps(saved | wrong))
        assert run(folder, "--post", "told.json").code == 2
    (folder / "told.json").write_text("[]")
    assert run(folder, "--post", "told.json").code == 2


def test_the_settings_travel_with_what_is_saved(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The job that posts checks nothing out, so it has no bench.toml."""
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / ".git").mkdir()
    event = folder.parent / "run.json"
    for setting, code, comments in (('comment-id = "speed"', 0, 1), ('comment = "never"', 0, 1)):
        (folder / "bench.toml").write_text(f'sources = ["sweep.md"]\n[github]\n{setting}\n')
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        run(folder, "--save", str(bare / "told.json"))
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        before = json.loads(Path(folder.parent / f"{folder.name}.event.json").read_text())
        event.write_text(json.dumps({"workflow_run": {"head_sha": "abc"}}))
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
        assert run(bare, "--post", "told.json").code == code
        event.write_text(json.dumps(before))
        assert len(hub.comments) == comments
    assert hub.comments[0]["body"].startswith(marker("speed"))


def test_names_are_no_commands(folder: Path, hub: Hub) -> None:
    """A file may have a line end in its name, and a host may obey a line that begins with /."""
    page = folder / "a\n" / "close\n@all`x.md"
    page.parent.mkdir()
    page.write_text("<!-- bench:begin report=nope -->\n<!-- bench:end -->\n")
    git(folder, "add", "-A")
    done = run(folder)
    body = hub.comments[0]["body"]
    assert done.code == 1 and "unknown report 'nope'" in body, done.text
    assert not [line for line in body.splitlines() if line.startswith("/")]
    assert "@all" not in body and "@\u200ball" in body


def test_a_stale_chart_is_told(folder: Path, hub: Hub) -> None:
    text = "a\n<!-- bench:begin report=model model=1.3B charts=img -->\n<!-- bench:end -->\n"
    sweep = (folder / "sweep.md").read_text().replace("# Sweep", "# Sweep, sequence length=1024")
    (folder / "sweep.md").write_text(sweep)
    (folder / "charts.md").write_text(text)
    git(folder, "add", "-A")
    assert quick(folder, "report", "--update").code == 0
    for chart in (folder / "img").iterdir():
        chart.write_text("<svg/>")
    git(folder, "add", "-A")
    done = run(folder)
    assert done.code == 1 and "line=2,title=stale chart::img/1.3B" in done.out, done.text
    body = hub.comments[0]["body"]
    assert "charts are stale:**" in body and "`bench report --update charts.md`" in body
    assert "up to date" not in body


def test_sources_without_a_run_do_not_end_the_review(folder: Path, hub: Hub) -> None:
    (folder / "empty.md").write_text("# nothing\n")
    (folder / "bench.toml").write_text('sources = ["empty.md"]\n')
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "empty")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    (folder / "README.md").write_text("<!-- bench:begin report=runz -->\n<!-- bench:end -->\n")
    done = run(folder)
    assert done.code == 1 and "title=broken region" in done.out, done.text
    assert "Rows not compared: neither side has a measured run." in hub.comments[0]["body"]


def test_without_sources_those_of_the_regions_are_compared(folder: Path, hub: Hub) -> None:
    (folder / "bench.toml").unlink()
    text = "<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
    (folder / "README.md").write_text(text)
    assert "nor a region (from=) names files" in run(folder).err
    (folder / "README.md").write_text(text.replace("runs", "runs from=sweep.md"))
    run(folder)
    assert "**1 changed, 2 unchanged** (rows by configuration)" in hub.comments[-1]["body"]


def test_files_are_named_from_the_top_of_the_checkout(folder: Path) -> None:
    (folder / "perf").mkdir()
    for name in ("bench.toml", "sweep.md", "README.md"):
        git(folder, "mv", name, f"perf/{name}")
    (folder / "perf" / "sweep.md").write_text(table(*ROWS[:2]).replace("100.5", "99.5"))
    done = run(folder / "perf")
    files = re.findall(r"file=([^,]+),", done.out)
    assert set(files) == {"perf/README.md", "perf/sweep.md"}, done.text


def test_a_source_taken_out_is_told(folder: Path) -> None:
    """What the base named as sources is what it had."""
    (folder / "more.md").write_text(table("64 | 1.3B | 16 | 4 | 1 | 1 | 1024 | 7.5 | 0.8"))
    settings = '[github]\nfail-on = ["changed"]\n'
    (folder / "bench.toml").write_text(f'sources = ["sweep.md", "more.md"]\n{settings}')
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "more")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(folder, "rm", "-q", "more.md")
    git(folder, "mv", "sweep.md", "results.md")
    (folder / "bench.toml").write_text(f'sources = ["results.md"]\n{settings}')
    git(folder, "commit", "-qam", "less")
    assert quick(folder, "report", "--update").code == 0
    done = run(folder)
    assert (
        done.code == 1
        and "1 removed, 3 unchanged"
        in Path(folder.parent / f"{folder.name}.summary.md").read_text()
    ), done.text
    done = quick(folder, "diff", "--base", "origin/main", "results.md")
    assert done.out.startswith("**3 unchanged**"), "a renamed file is the same file"


def test_a_url_that_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "foo")
    done = run(folder)
    assert done.code == 1 and "::warning title=bench::comment not written" in done.out


@pytest.mark.parametrize("earlier", ['pages = ["README.md"]\n', 'source = ["sweep.md"]\n', None])
def test_the_request_that_brings_or_mends_the_settings(folder: Path, earlier: str | None) -> None:
    """A base without sources, with a bench.toml that is wrong, and without any."""
    git(folder, "checkout", "-q", "main")
    if earlier is None:
        git(folder, "rm", "-q", "bench.toml")
    else:
        (folder / "bench.toml").write_text(earlier)
    git(folder, "commit", "-qam", "as it was")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    (folder / "bench.toml").write_text('sources = ["."]\npages = ["README.md"]\n')
    git(folder, "add", "bench.toml")
    git(folder, "commit", "-qam", "settings")
    assert quick(folder, "report", "--update").code == 0
    done = run(folder)
    summary = Path(folder.parent / f"{folder.name}.summary.md").read_text()
    assert done.code == 0 and "**3 unchanged**" in summary, done.text


def test_a_source_that_is_a_link(folder: Path) -> None:
    (folder / "real").mkdir()
    git(folder, "mv", "sweep.md", "real/sweep.md")
    (folder / "results").symlink_to("real")
    (folder / "bench.toml").write_text('sources = ["results"]\n')
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "linked")
    assert quick(folder, "diff", "--base", "HEAD").out.startswith("**3 unchanged**")
    git(folder, "mv", "real", "elsewhere")
    done = quick(folder, "diff", "--base", "HEAD", "elsewhere")
    assert done.out.startswith("**3 unchanged**"), "a folder that was renamed"


def test_a_summary_is_cut_by_bytes() -> None:
    text = "head\n" + "\n".join(f"| {'表' * 50} |" for _ in range(10_000))
    assert len(cut(text, 900_000, "rest").encode()) <= 900_000


def test_the_command_to_copy_is_as_it_is(folder: Path, hub: Hub) -> None:
    (folder / "README.md").rename(folder / "a@b c.md")
    git(folder, "add", "-A")
    run(folder)
    assert "`bench report --update 'a@b c.md'` writes them anew." in hub.comments[0]["body"]


def test_who_renders_has_no_token_and_who_posts_reads_one_file(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The two steps of the action, which share a file."""
    saved = tmp_path / "bench-comment.json"
    monkeypatch.delenv("GITHUB_TOKEN")
    assert run(folder, "--save", str(saved)).code == 1 and not hub.asked
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    assert run(folder, "--save", str(saved)).code == 1 and not hub.asked, "a token changes nothing"
    bare = tmp_path / "bare"
    bare.mkdir()
    done = run(bare, "--post", str(saved))
    assert done.code == 0 and len(hub.comments) == 1, done.text
    hub.fail = [500] * 3
    assert run(bare, "--post", str(saved)).code == 0, "a failing API fails no job"
    text = json.loads(saved.read_text())
    saved.write_text(json.dumps(text | {"pull_request": 8}))
    assert run(bare, "--post", str(saved)).code == 2, "of another pull request"


@pytest.mark.parametrize("how", ["bench.toml", "marker"])
@pytest.mark.parametrize("source", ["fork", "gone", "own"])
def test_templates_of_a_fork_are_not_rendered(folder: Path, how: str, source: str) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/runs.md.j2").write_text("rendered\n")
    option = "" if how == "bench.toml" else " template=mine/runs.md.j2"
    if how == "bench.toml":
        (folder / "bench.toml").write_text('sources = ["sweep.md"]\ntemplates = "mine"\n')
    marker = f"<!-- bench:begin report=runs{option} -->\n<!-- bench:end -->\n"
    (folder / "README.md").write_text(marker)
    event = folder.parent / f"{folder.name}.event.json"
    head = {"fork": {"full_name": "eve/r"}, "gone": None, "own": {"full_name": "o/r"}}[source]
    request = {"number": 7, "head": {"repo": head}, "base": {"repo": {"full_name": "o/r"}}}
    event.write_text(json.dumps({"pull_request": request}))
    done = run(folder)
    summary = Path(folder.parent / f"{folder.name}.summary.md").read_text()
    assert ("1 region not checked: templates of a fork" in summary) == (source != "own"), summary
    assert ("title=runs not checked" in done.out) == (source != "own")
    assert ("runs is stale" in done.out) == (source == "own")
    if source == "fork":
        assert "runs is stale" in run(folder, "--fork-templates").out
