"""`bench ci gitlab`, and the snippet of the docs, against a server that speaks GitLab's notes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.ci.comment import COMMENT_LIMIT, marker
from tests.checkouts import git
from tests.hub import TOKEN, Hub
from tests.making import table
from tests.program import Outcome, quick
from tests.reviewing import a_branch, write_anew

yaml = pytest.importorskip("yaml", reason="NOT TESTED: no PyYAML, which comes with pre-commit")
ROOT = Path(__file__).resolve().parent.parent
MARK = marker("bench")


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch that changes a result, its README not yet written anew; the job's environment."""
    a_branch(tmp_path)
    for name, value in {
        "BENCH_GITLAB_TOKEN": TOKEN, "CI_API_V4_URL": f"{hub.url}/api/v4", "CI_PROJECT_ID": "12",
        "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_URL": "https://lab/o/r",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(tmp_path, "rev-parse", "main").strip(),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path


def run(folder: Path, *more: str) -> Outcome:
    done = quick(folder, "ci", "gitlab", *more)
    assert TOKEN not in done.text and "Traceback" not in done.err
    return done


def test_the_note_and_the_marks(folder: Path, hub: Hub) -> None:
    done = run(folder, "--code-quality", "q.json")
    assert done.code == 1, "a region is stale"
    [note] = hub.comments
    assert note["body"].startswith(f"{MARK}\n### Benchmarks\n")
    assert "51 → 45.9 (-10.0%)" in note["body"] and "README.md:3" in note["body"]
    assert "comment: written https://lab/o/r/-/merge_requests/7#note_1" in done.err
    stale, row = json.loads((folder / "q.json").read_text())
    assert stale["location"] == {"path": "README.md", "lines": {"begin": 3}}
    assert (stale["severity"], row["severity"]) == ("major", "info")
    assert row["location"] == {"path": "sweep.md", "lines": {"begin": 6}}
    assert "51 → 45.9 (-10.0%)" in row["description"]
    assert len({stale["fingerprint"], row["fingerprint"]}) == 2
    assert "README.md:3: runs is stale: try: bench report --update README.md" in done.err


def test_updated_in_place_and_only_on_change(folder: Path, hub: Hub) -> None:
    hub.comments += [
        {"id": n, "body": "hi", "system": n % 2 == 0, "author": {"username": "x"}}
        for n in range(1, 231)
    ]
    hub.comments[4]["body"] = f"{MARK}\nevil"
    run(folder)
    assert len(hub.comments) == 231, "neither a copied marker nor a system note is ours"
    assert "comment: unchanged" in run(folder).err and len(hub.bodies) == 1
    assert quick(folder, "report", "--update").code == 0
    done = run(folder)
    assert done.code == 0 and "comment: updated" in done.err
    assert len(hub.comments) == 231 and "1 region up to date" in hub.comments[-1]["body"]
    assert hub.comments[4]["body"] == f"{MARK}\nevil"


def test_settings_of_their_own(folder: Path, hub: Hub) -> None:
    settings = 'sources = ["sweep.md"]\n[gitlab]\n'
    (folder / "bench.toml").write_text(settings + 'comment = "never"\nfail-on = []\n')
    done = run(folder)
    assert done.code == 0 and not hub.asked
    (folder / "bench.toml").write_text(settings + 'comment-id = "speed"\nfail-on = ["changed"]\n')
    assert run(folder).code == 1
    assert hub.comments[0]["body"].startswith(marker("speed"))
    (folder / "bench.toml").write_text(settings + 'coment = "never"\n')
    done = run(folder)
    assert done.code == 2 and "did you mean 'comment'" in done.err


def test_an_oversized_note_is_cut(folder: Path, hub: Hub) -> None:
    rows = [f"{n} | 1.3B | {n} | 1 | 1 | 1 | 1024 | {n}.5 | 0.86" for n in range(1, 1500)]
    (folder / "sweep.md").write_text(table(*rows))
    run(folder)
    body = hub.comments[0]["body"]
    assert 50_000 < len(body) <= COMMENT_LIMIT and "more lines" in body


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (403, 1), (404, 1), (429, 3), (500, 3)])
def test_errors_of_the_api_never_fail_the_job(
    folder: Path, hub: Hub, status: int, tries: int
) -> None:
    write_anew(folder)
    hub.fail = [status] * tries
    done = run(folder)
    assert done.code == 0 and len(hub.asked) == tries
    assert "warning: comment not written: GET projects/12/merge_requests/7/notes" in done.err
    assert f"{status} told so" in done.err and "\n::error" not in done.text


@pytest.mark.parametrize("missing", ["BENCH_GITLAB_TOKEN", "CI_API_V4_URL", "CI_PROJECT_ID"])
def test_what_is_missing_is_named(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delenv(missing)
    done = run(folder)
    assert done.code == 1 and f"{missing} is not set" in done.err and not hub.asked


def test_outside_of_a_merge_request(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI_MERGE_REQUEST_IID")
    monkeypatch.delenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")
    done = run(folder)
    assert done.code == 1 and "comment: skipped, not a merge request" in done.err and not hub.asked
    done = run(folder, "--base", "gone")
    assert done.code == 2 and "GIT_DEPTH" in done.err


def test_options_of_the_other_host(folder: Path) -> None:
    assert quick(folder, "ci", "gitlab", "--save", "x").code == 2
    done = quick(folder, "ci", "github", "--code-quality", "x")
    assert done.code == 2 and "--code-quality does not apply to bench ci github" in done.err


def test_the_snippet_of_the_docs(folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of its script, run by a shell in the job's environment."""
    job = yaml.safe_load((ROOT / "docs/ci/gitlab.yml").read_text("utf-8"))["bench"]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin")
    assert quick(folder, "report", "--update").code == 0
    for line in [*job["script"], *job["after_script"]]:
        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len(hub.comments) == 1 and "1 changed, 2 unchanged" in hub.comments[0]["body"]
    for path in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["codequality"]):
        assert (folder / path).stat().st_size > 100, path
