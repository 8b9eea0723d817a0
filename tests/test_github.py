"""`bench ci github` against a small server that speaks the part of GitHub's API it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.ci.comment import COMMENT_LIMIT, cut, marker
from tests.checkouts import git
from tests.hub import Hub
from tests.making import table
from tests.program import quick
from tests.reviewing import MARK, a_request, run, write_anew


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    return a_request(tmp_path, hub, monkeypatch)


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
    assert done.out.startswith("::error file=README.md,line=1,title=broken region::unknown report")


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
    write_anew(folder)
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
    write_anew(folder)
    hub.raw = raw
    done = run(folder)
    assert done.code == 0, done.text
    assert done.out.splitlines()[-1].startswith("::warning title=bench::comment not written: GET ")


@pytest.mark.parametrize("event", ["null", "[]", "[" * 100_000, '{"pull_request": "a"}'])
def test_an_event_that_makes_no_sense(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    path = folder / "event.json"
    path.write_text(event)
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    done = run(folder)
    assert "Traceback" not in done.err and not hub.asked
    assert "cannot read the event" in done.err or "not a pull request" in done.err


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
    assert done.code == 1 and "comment: skipped, not a pull request" in done.err and not hub.asked
    done = run(folder, "--base", "main", "README.md")
    assert "::notice file=sweep.md,line=6" in done.out
    done = run(folder, "--base", "gone")
    assert done.code == 2 and "fetch-depth: 0" in done.err
    assert "::error file=README.md" in done.out, "what is known is told all the same"
