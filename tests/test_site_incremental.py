"""`bench site` again: only what changed is made, and nothing else is touched."""

from __future__ import annotations

import json
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from bench.decide.query import Query
from bench.schema.opening import open_read
from bench.site.build import Options, build
from bench.site.folder import MANIFEST
from bench.site.load import Content
from bench.site.models import model_page
from tests.program import quick
from tests.site_pages import contents, log

pytestmark = pytest.mark.slow


def test_the_same_warehouse_gives_the_same_bytes(site: Path, tmp_path: Path) -> None:
    root = site.parent / "results"
    assert quick(root, "-q", "site", "-o", str(tmp_path / "again")).code == 0
    assert contents(tmp_path / "again") == contents(site)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*.html")}
    assert quick(root, "-q", "site", "-o", str(site)).code == 0
    assert contents(tmp_path / "again") == contents(site)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*.html")} == before


def test_a_new_log_changes_its_own_pages_alone(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = tmp_path / "results", tmp_path / "site"
    shutil.copytree(site.parent / "results", root)
    shutil.copytree(site, out)
    (root / "new.log").write_text(log(slower=1.2))
    assert quick(root, "-q", "ingest", "new.log").code == 0
    before = contents(out)
    made: list[str] = []

    def noted(content: Content, name: str, *more: Any) -> Any:
        made.append(name)
        return model_page(content, name, *more)

    monkeypatch.setattr("bench.site.build.model_page", noted)
    assert quick(root, "-q", "site", "-o", str(out)).code == 0
    after = contents(out)
    assert len(made) == 1 < len(list((out / "models").iterdir())), made
    assert [*before.keys() - after.keys()] == []
    changed = {name for name in after if after[name] != before.get(name)}
    runs = [name for name in changed if name.startswith("runs/")]
    assert len(runs) <= 3, runs
    assert not [name for name in changed if name.startswith("sources/") and "new" not in name]
    assert "<p>1 new: <a href=" in unescape((out / "index.html").read_text())


def test_what_another_version_reads_differently_is_not_called_changed(tmp_path: Path) -> None:
    out, state = tmp_path / "out", tmp_path / "out" / MANIFEST
    (tmp_path / "a.log").write_text(log())
    assert quick(tmp_path, "-q", "ingest", "a.log").code == 0
    assert quick(tmp_path, "-q", "site", "-o", str(out)).code == 0
    told = []
    for code in (None, "an earlier one"):  # the digest of a run, as if it had been another one
        kept = json.loads(state.read_text())
        kept["runs"] = dict.fromkeys(kept["runs"], "00000000")
        state.write_text(json.dumps({**kept, "code": code or kept["code"]}))
        assert quick(tmp_path, "-q", "site", "-o", str(out)).code == 0
        told.append(unescape((out / "index.html").read_text()))
    assert "<p>1 changed: <a" in told[0]
    assert "<p>1 changed, or read differently by another version of bench: <a" in told[1]


def test_what_has_not_changed_is_not_audited_or_made_again(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, root = tmp_path / "site", site.parent / "results"
    shutil.copytree(site, out)
    made: list[object] = []

    def noted(*of: object, **more: object) -> list[object]:
        made.append((of, more))
        return []

    monkeypatch.setattr("bench.audit.run.audit", noted)
    monkeypatch.setattr("bench.site.layout.Layout.page", noted)
    with open_read(root / "bench.duckdb") as warehouse:
        built = build(warehouse, root, out, Query(), Options())
    assert (made, built.written) == ([], 0)
    assert contents(out) == contents(site)
    manifest = json.loads((out / MANIFEST).read_text())
    assert len(manifest["clean"]) == 2, "train.log and again.log"


def test_a_log_that_says_something_else_is_audited_again(site: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "results", tmp_path / "site"
    shutil.copytree(site.parent / "results", root)
    shutil.copytree(site, out)
    assert quick(root, "-q", "ingest", "--set", "seq_len=1024", "again.log").code == 0
    assert quick(root, "-q", "site", "-o", str(out)).code == 0
    assert quick(root, "-q", "site", "-o", str(tmp_path / "anew")).code == 0
    before, after = (json.loads((of / MANIFEST).read_text())["clean"] for of in (site, out))
    assert before != after
    of_runs = [{k: v for k, v in contents(of).items() if k.startswith(("runs/", "models/"))}
               for of in (out, tmp_path / "anew")]  # fmt: skip
    assert of_runs[0] == of_runs[1]


def test_a_source_that_is_called_otherwise_is_so_everywhere(site: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "results", tmp_path / "site"
    shutil.copytree(site.parent / "results", root)
    shutil.copytree(site, out)
    (root / "bench.toml").write_text('[aliases]\n"again.log" = "steady"\n')
    for to in (out, tmp_path / "anew"):
        assert quick(root, "-q", "site", "-o", str(to)).code == 0
    kept, anew = (
        {name: one for name, one in contents(of).items() if name.endswith(("html", "search.js"))}
        for of in (out, tmp_path / "anew")
    )
    assert "sources/steady.html" in kept
    assert {name for name in anew if kept.get(name) != anew[name]} <= {"index.html"}, "its changes"


def test_what_is_gone_leaves_no_page_behind(site: Path, tmp_path: Path) -> None:
    root, out = site.parent / "results", tmp_path / "out"
    assert quick(root, "-q", "site", "-o", str(out), "--document", "004_tr3m-1B3.md").code == 0
    (out / "mine.txt").write_text("kept")
    few = {*contents(out)}
    assert (
        quick(root, "-q", "site", "-o", str(out), "--document", "001_1.3b_benchmarking.md").code
        == 0
    )
    left = {*contents(out)}
    assert "sources/004.html" in few and "sources/004.html" not in left
    assert (out / "mine.txt").read_text() == "kept"


def test_pages_of_others_are_not_overwritten(site: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    done = quick(site.parent / "results", "site", "-o", str(tmp_path))
    assert done.code == 2 and "bench site did not make" in done.text
    assert (tmp_path / "index.html").read_text() == "mine"
