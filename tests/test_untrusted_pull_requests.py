"""What a pull request of a stranger can do to who checks it: names of files, settings, comments."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.ci import sources
from bench.ci.comment import untrusted_comment
from bench.schema.warehouse import Warehouse
from tests.checkouts import git, yaml_of
from tests.hub import TOKEN, Hub
from tests.pages import MARKDOWN, inline
from tests.program import quick
from tests.reviewing import MARK, a_request, run

LIVE = (
    "<img src=https://e.example/x.png>", "![x](https://e.example/x.png)", "[x](https://e.example)",
    "[x][y]\n\n[y]: https://e.example", "![y]\n\n[y]: https://e.example",
    "https://e.example", "www.e.example",
    "`\n\n<img src=https://e.example>\n\n`", "`\\` <img src=x> `", "\\\\<img src=x>",
    "<details>", "<!-- bench:comment id=other -->", "/close", "> /close", "- /close",
    "\x1b]8;;x\x07", "a `b\n` <img src=x> `c", "<https://e.example>", "@org/team", "&#64;org/team",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Path:
    return a_request(tmp_path, hub, monkeypatch)


@pytest.mark.parametrize("text", LIVE)
def test_a_saved_comment_shows_and_commands_nothing(text: str) -> None:
    told = untrusted_comment(f"{MARK}\n{text}")
    assert told.startswith(MARK) and untrusted_comment(told) == told
    rest = told.removeprefix(MARK)
    shown = {one.type for one in inline(MARKDOWN.parse(told))}
    assert not shown & {"html_inline", "image", "link_open", "html_block"}, told
    # Each mark that would be live is behind an odd number of backslashes.
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", rest)
    assert not re.search(r"<[A-Za-z/!?]|\]\(|\]\[|https?://|www\.|@\w|&#|\x1b", plain), told
    assert not re.search(r"^[ >*+-]*/", rest, re.M)


def test_a_comment_of_ours_is_posted_as_it_is(
    folder: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    run(folder, "--save", "told.json")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    saved = json.loads((folder / "told.json").read_text())
    assert "|" in saved["body"] and untrusted_comment(saved["body"]) == saved["body"]
    evil = saved["body"] + "\n<img src=https://e.example/x.png>\n\n/close\n"
    (folder / "told.json").write_text(json.dumps(saved | {"body": evil}))
    assert run(folder, "--post", "told.json").code == 0
    assert "\n\\<img src=https\\://e" in hub.comments[0]["body"]
    assert "\n\\/close" in hub.comments[0]["body"]


@pytest.mark.parametrize(
    "hook", yaml_of(".pre-commit-hooks.yaml"), ids=lambda hook: str(hook["id"])
)
def test_a_name_of_a_file_is_no_option_of_a_hook(folder: Path, hook: dict[str, Any]) -> None:
    """pre-commit puts names behind the words of a hook, as git has them."""
    if hook.get("pass_filenames") is False:
        return
    name = f"-o{folder.parent}/written.md"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes((folder / "sweep.md").read_bytes())
    quick(folder, *hook["entry"].split()[1:], *hook.get("args", []), name)
    assert not (folder.parent / "written.md").exists()


def test_a_name_of_a_page_is_no_other_command(folder: Path, hub: Hub) -> None:
    for name in ("-ox.md", "a;id;b.md"):
        (folder / name).write_text("<!-- bench:begin report=runs -->\n<!-- bench:end -->\n")
    git(folder, "add", "-A")
    said = quick(folder, "report", "--check").err
    told = run(folder).out
    assert "--update ./-ox.md README.md 'a;id;b.md'\n" in said, said
    assert "--update ./-ox.md\n" in told and "--update 'a;id;b.md'\n" in told, told
    assert "`bench report --update ./-ox.md README.md 'a;id;b.md'`" in hub.comments[0]["body"]


SLOW = {
    "aliases": "[aliases]\n" + "".join(f'"a{n}" = "b{n}"\n' for n in range(20_000)),
    "unknown": "".join(f"a{n} = 1\n" for n in range(20_000)),
    "stars": 'pages = ["' + "**/" * 12 + '*.md"]\n',
    "stars apart": 'pages = ["' + "**/d/" * 12 + '*.md"]\n',
    "large": "#" * (2 << 20),
}


@pytest.mark.parametrize("what", SLOW)
def test_settings_are_read_soon(folder: Path, what: str) -> None:
    (folder / ("d/" * 30)).mkdir(parents=True)
    (folder / "bench.toml").write_text(SLOW[what])
    began = time.process_time()
    done = quick(folder, "ci", "config")
    assert (done.code == 0) == (what == "aliases"), done.text
    assert time.process_time() - began < 5


@pytest.mark.parametrize("source", ["eve/r", "o/r"])
def test_no_command_of_a_job_renders_templates_of_a_fork(folder: Path, source: str) -> None:
    (folder / "mine").mkdir()
    (folder / "mine/runs.md.j2").write_text("rendered\n")
    (folder / "bench.toml").write_text('sources = ["sweep.md"]\ntemplates = "mine"\n')
    (folder / "README.md").write_text("<!-- bench:begin report=runs -->\n<!-- bench:end -->\n")
    request = {"number": 7, "head": {"repo": {"full_name": source}},
               "base": {"repo": {"full_name": "o/r"}}}  # fmt: skip
    event = folder.parent / f"{folder.name}.event.json"
    event.write_text(json.dumps({"pull_request": request}))
    checked = quick(folder, "report", "--check")
    done = quick(folder, "report", "--update")
    assert ("rendered" in (folder / "README.md").read_text()) == (source == "o/r"), done.text
    assert ("1 region not checked" in done.err) == (source == "eve/r"), done.text
    assert (checked.code == 1) == (source == "o/r"), checked.text


def test_a_page_keeps_few_warehouses_open(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is a source of itself, and settles."""
    monkeypatch.setattr(sources, "MOST_OPEN", 1)
    marker = "<!-- bench:begin report=runs from={} -->\n<!-- bench:end -->\n"
    (folder / "README.md").write_text(
        "".join(map(marker.format, ("sweep.md,README.md", "sweep.md", "sweep.md,sweep.md")))
    )
    opened: list[int] = []
    read = sources.Sources._read

    def counted(one: sources.Sources, paths: Sequence[Path], folder: Path | None) -> Warehouse:
        opened.append(len(one._open))
        return read(one, paths, folder)

    monkeypatch.setattr(sources.Sources, "_read", counted)
    assert quick(folder, "report", "--update", "README.md").code == 0
    assert quick(folder, "report", "--check", "README.md").code == 0
    assert len(opened) >= 4 and max(opened) == 0
