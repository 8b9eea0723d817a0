"""`bench ci github` against a small server that speaks the part of GitHub's API it needs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.ci.comment import COMMENT_LIMIT, cut, marker
from tests.hub import TOKEN, Hub
from tests.making import table
from tests.program import Outcome, quick
from tests.test_rowdiff import ROWS, git

MARK = marker("bench")


def a_branch(folder: Path) -> None:
    """A checkout whose branch changes a row of sweep.md; README.md shows the old one."""
    git(folder, "init", "-q", "-b", "main")
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\n')
    (folder / "sweep.md").write_text(table(*ROWS))
    (folder / "README.md").write_text(
        "# R\n\n<!-- bench:begin report=runs -->\n<!-- bench:end -->\n"
    )
    assert quick(folder, "report", "--update", "README.md").code == 0
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "base")
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(folder, "checkout", "-qb", "faster")
    (folder / "sweep.md").write_text(table(*ROWS).replace("51.0", "45.9"))
    git(folder, "commit", "-qam", "faster")


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch that changes a result, its README not yet written anew; the job's environment."""
    a_branch(tmp_path)
    event = tmp_path.parent / f"{tmp_path.name}.event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    for name, value in {
        "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "o/r", "GITHUB_API_URL": hub.url,
        "GITHUB_BASE_REF": "main", "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(tmp_path.parent / f"{tmp_path.name}.summary.md"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path


def run(folder: Path, *more: str) -> Outcome:
    done = quick(folder, "ci", "github", *more)
    assert TOKEN not in done.text and "Traceback" not in done.err
    return done


def test_the_first_comment(folder: Path, hub: Hub) -> None:
    done = run(folder)
    assert done.code == 1, "a region is stale"
    [comment] = hub.comments
    assert comment["body"].startswith(f"{MARK}\n### Benchmarks\n")
    assert "**1 changed, 2 unchanged** (rows by configuration)" in comment["body"]
    assert "51 → 45.9 (-10.0%)" in comment["body"]
    assert "**1 region is stale:**" in comment["body"] and "README.md:3" in comment["body"]
    assert f"comment: written {hub.url}/c/1" in done.err
    lines = done.out.splitlines()
    assert lines == [
        "::error file=README.md,line=3,title=runs is stale::try: bench report --update README.md",
        "::notice file=sweep.md,line=6,title=row changed::" + lines[1].split("::")[2],
    ]
    assert "Sec/it: 51 → 45.9 (-10.0%25)" in lines[1]
    summary = (folder.parent / f"{folder.name}.summary.md").read_text()
    assert summary.strip() == comment["body"].strip()


def test_it_is_updated_in_place_and_only_on_change(folder: Path, hub: Hub) -> None:
    hub.comments += [
        {"id": n, "body": "hi", "user": {"type": "User"}, "html_url": ""} for n in range(1, 131)
    ]
    run(folder)
    assert len(hub.comments) == 131, "looked for on every page of comments"
    hub.comments[-1]["body"] = hub.comments[-1]["body"].replace("\n", "\r\n")
    assert "comment: unchanged" in run(folder).err and len(hub.bodies) == 1
    assert quick(folder, "report", "--update").code == 0
    done = run(folder)
    assert done.code == 0 and "comment: updated" in done.err
    assert len(hub.comments) == 131 and "1 region up to date" in hub.comments[-1]["body"]


def test_without_news_there_is_no_comment(folder: Path, hub: Hub) -> None:
    git(folder, "checkout", "-q", "main")
    done = run(folder)
    assert done.code == 0 and "comment: not needed" in done.err and not hub.comments
    with (folder / "bench.toml").open("a") as stream:
        stream.write('[github]\ncomment = "always"\ncomment-id = "speed"\n')
    assert run(folder).code == 0
    assert hub.comments[0]["body"].startswith(marker("speed"))
    (folder / "bench.toml").write_text('sources=["sweep.md"]\n[github]\ncomment = "never"\n')
    run(folder)
    assert len(hub.bodies) == 1


def test_a_marker_that_somebody_copied(folder: Path, hub: Hub) -> None:
    """Even one that the token may change; and by a person's token, what a bot has written."""
    users = {"type": "User", "login": "eve"}, {"type": "Bot", "login": "other[bot]"}
    for hub.me, user in zip(("", "ann"), users, strict=True):
        hub.comments[:] = [{"id": 1, "body": f"{MARK}\nevil", "user": user}]
        run(folder)
        assert "comment: unchanged" in run(folder).err, "our own is found again"
        assert hub.comments[0]["body"] == f"{MARK}\nevil" and len(hub.comments) == 2


def test_what_makes_it_fail(folder: Path) -> None:
    assert quick(folder, "report", "--update").code == 0
    assert run(folder).code == 0, "a changed row alone is news, no failure"
    with (folder / "bench.toml").open("a") as stream:
        stream.write('[github]\nfail-on = ["changed"]\n')
    assert run(folder).code == 1
    (folder / "README.md").write_text("<!-- bench:begin report=runz -->\n<!-- bench:end -->\n")
    done = run(folder)
    assert done.code == 1
    assert done.out.startswith("::error file=README.md,line=1,title=broken region::no report")


def test_an_oversized_comment_is_cut_between_rows(folder: Path, hub: Hub) -> None:
    rows = [f"{n} | 1.3B | {n} | 1 | 1 | 1 | 1024 | {n}.5 | 0.86" for n in range(1, 1500)]
    (folder / "sweep.md").write_text(table(*rows))
    assert quick(folder, "report", "--update").code == 0
    assert run(folder).code == 0
    body = hub.comments[0]["body"]
    assert 50_000 < len(body) <= COMMENT_LIMIT and body.startswith(MARK)
    *_, last, _, note, _ = body.split("\n")
    assert last.startswith("| added") and last.endswith(" |") and "more lines" in note
    summary = (folder.parent / f"{folder.name}.summary.md").read_text()
    assert len(summary) > len(body) and "more lines" not in summary


@pytest.mark.parametrize("limit", range(80, 400, 7))
def test_no_table_is_torn(limit: int) -> None:
    text = "head\n\n| a | b |\n| - | - |\n" + "| 1 | 2 |\n" * 40 + "\nend\n"
    made = cut(text, limit, "rest")
    assert len(made) <= limit
    lines = [line for line in made.split("\n") if line.startswith("|")]
    assert len(lines) != 1 and len(lines) != 2 and all(line.endswith("|") for line in lines)
    assert cut(text, 10_000, "rest") == text


@pytest.mark.parametrize(
    ("status", "tries"), [(401, 1), (403, 1), (404, 1), (422, 1), (429, 3), (500, 3), (503, 3)]
)
def test_errors_of_the_api_never_fail_the_job(
    folder: Path, hub: Hub, status: int, tries: int
) -> None:
    assert quick(folder, "report", "--update").code == 0
    hub.fail = [status] * tries
    done = run(folder)
    assert done.code == 0 and len(hub.asked) == tries
    warning = done.out.splitlines()[-1]
    assert warning.startswith("::warning title=bench::comment not written: GET ")
    assert f"{status} told so%0A::error::x" in warning, "its words start no line of their own"
    assert ("forks" in warning) == (status == 403)


def test_a_server_that_stumbles_once(folder: Path, hub: Hub) -> None:
    hub.fail = [502, 503]
    run(folder)
    assert len(hub.comments) == 1


HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + b"\r\nnull",
        HEAD + b'\r\n{"message": "x"}',
        HEAD + b"\r\n[7]",
        HEAD + b"Content-Length: 99\r\n\r\n[",
        b"what is this\r\n\r\n",
    ],
)
def test_answers_that_make_no_sense_never_fail_the_job(folder: Path, hub: Hub, raw: bytes) -> None:
    assert quick(folder, "report", "--update").code == 0
    hub.raw = raw
    done = run(folder)
    assert done.code == 0, done.text
    assert done.out.splitlines()[-1].startswith("::warning title=bench::comment not written: GET ")


@pytest.mark.parametrize("event", ["null", "[]", '{"pull_request": "a"}'])
def test_an_event_that_makes_no_sense(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    path = folder / "event.json"
    path.write_text(event)
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    done = run(folder)
    assert "Traceback" not in done.err and not hub.asked
    assert "the event cannot be read" in done.err or "no pull request" in done.err


def test_a_server_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert "::warning title=bench::comment not written" in run(folder).out


@pytest.mark.parametrize("missing", ["GITHUB_TOKEN", "GITHUB_REPOSITORY"])
def test_a_missing_token(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delenv(missing)
    done = run(folder)
    assert done.code == 1 and f"{missing} is not set" in done.err and not hub.asked
    assert "::error file=README.md" in done.out, "all else is told"


def test_outside_of_a_pull_request(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_EVENT_PATH", "GITHUB_BASE_REF", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name)
    done = run(folder)
    assert done.code == 1 and "comment: no pull request" in done.err and not hub.asked
    done = run(folder, "--base", "main", "README.md")
    assert "::notice file=sweep.md,line=6" in done.out
    done = run(folder, "--base", "gone")
    assert done.code == 2 and "fetch-depth: 0" in done.err
    assert "::error file=README.md" in done.out, "what is known is told all the same"


# Pull requests from forks: one job without rights saves, another posts.


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
    assert done.code == 2 and "is not of pull request 7" in done.err
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
    assert done.code == 1 and "no report 'nope'" in body, done.text
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
    assert "Rows are not compared: neither side holds a measured run." in hub.comments[0]["body"]


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
