"""The documentation is under test: it names everything, and its examples run."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.reports.page import report_names
from bench.terminal.options import SHARED
from tests.program import commands, quick

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = commands()
HIDDEN = ("--help",)


def sections(text: str) -> dict[str, str]:
    """The parts of a page by their heading of the second level."""
    _, *parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(scope="module")
def manual() -> dict[str, str]:
    """docs/cli.md by heading."""
    return sections((ROOT / "docs" / "cli.md").read_text("utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_manual(manual: dict[str, str], name: str) -> None:
    [section] = [text for heading, text in manual.items() if heading.split()[:2] == ["bench", name]]
    assert f"$ bench {name}" in section, "an example"
    options = section[section.index("Options:") :]
    below = getattr(COMMANDS[name], "commands", {}).values()  # of a group: bench db check
    parameters = [one for command in (COMMANDS[name], *below) for one in command.params]
    for parameter in parameters:
        names = [word for word in parameter.opts if word.startswith("-")]
        if names and not set(names) & set(HIDDEN):
            assert any(f"`{word}" in options for word in names), f"{name} {names}"
    for word in re.findall(r"`(--?[\w-]+)", options):
        known = {opt for parameter in parameters for opt in parameter.opts}
        assert word in known, f"{name} has no {word}"


def test_every_shared_option_is_in_the_manual(manual: dict[str, str]) -> None:
    shared = manual["Shared options"]
    for option in SHARED.values():
        assert all(f"`{name}" in shared for name in option.names), option.names
    for word in ("--version", "--install-completion", "--show-completion", "NO_COLOR", "BENCH_DB"):
        assert word in shared


def test_every_report_is_named(manual: dict[str, str]) -> None:
    text = next(text for heading, text in manual.items() if heading.startswith("bench report"))
    assert all(f"`{name}`" in text for name in report_names())


def test_every_exit_code_is_named(manual: dict[str, str]) -> None:
    codes = re.findall(r"^\| (\d+) \|", manual["Exit codes"], re.M)
    assert codes == ["0", "1", "2", "3", "4", "5", "130"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_heading_stands_apart_from_the_text_before(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    assert re.findall(r"[^\n]\n(## .+)", text) == []


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@dataclass
class Example:
    """A `bench` command line of a page, and the lines that are shown below it."""

    words: list[str]
    shown: list[str]


def examples(page: Path) -> list[Example]:
    """What a page's console blocks run, in their order."""
    found: list[Example] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.S):
        below: Example | None = None
        for line in block.splitlines():
            if line.startswith("$ "):
                words = shlex.split(line[2:], comments=True)
                below = Example(words[1:], []) if words[:1] == ["bench"] else None
                found += [below] if below else []
            elif line.strip() and below:
                below.shown.append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=str)
def test_every_example_runs_and_prints_what_is_shown(
    swept: Path, tmp_path: Path, page: Path
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(swept, folder)
    shutil.copytree(folder / "data" / "logs", folder / "logs")  # what readers call theirs
    shutil.copy(ROOT / "README.md", folder)
    for example in examples(page):
        done = quick(folder, *example.words)
        command = shlex.join(example.words)
        assert done.code == 0, f"{command}\n{done.text}"
        came = (done.out + done.err).splitlines()
        assert [line for line in example.shown if line not in came] == [], f"{command}\n{done.text}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_python_examples_run(swept: Path, page: Path) -> None:
    with chdir(swept):
        names: dict[str, object] = {}
        for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
            exec(compile(block, str(page), "exec"), names)
