"""What a repository of somebody else names is read within it, and nothing beside it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from bench.project.short_names import ShortNames
from bench.reports import sandbox
from bench.reports.templating import OwnTemplate, rendered
from bench.schema.errors import BenchError
from tests.program import quick

SECRET = "TOKEN-OF-THE-JOB"
PAGE = "# Page\n\n<!-- bench:begin report=days {options} -->\n<!-- bench:end -->\n"


@pytest.fixture
def cloned(folder: Path, data: Path) -> Path:
    """A repository in its folder, a secret beside it and one among git's own files."""
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    for secret in (folder / "secret", work / ".git/config", work / ".git/days.md.j2"):
        secret.write_text(f"{SECRET}\n")
    (work / "sweep.md").write_bytes((data / "tables/004_tr3m-1B3.md").read_bytes())
    (work / "mine").mkdir()
    (work / "page.md").write_text(PAGE.format(options="from=sweep.md"))
    return work


INCLUDES = (
    "secret.j2",
    "away.j2",
    "config.j2",
    "../secret",
    "../.git/config",
    "own.txt",
    "large.j2",
)


@pytest.mark.parametrize("included", INCLUDES)
@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_a_template_shows_no_other_file(cloned: Path, included: str, how: str) -> None:
    mine = cloned / "mine"
    (mine / "secret.j2").symlink_to(cloned.parent / "secret")
    (cloned.parent / "away.j2").write_text(f"{SECRET}\n")
    (mine / "away.j2").symlink_to(cloned.parent / "away.j2")
    (mine / "config.j2").symlink_to(cloned / ".git/config")
    (mine / "own.txt").write_text(SECRET)
    (mine / "large.j2").write_text(SECRET + " " * (1 << 20))
    text = f"{{% set x %}}{{% include '{included}' %}}{{% endset %}}{{{{ x | reverse }}}}"
    (mine / "days.md.j2").write_text(text)
    if how == "bench.toml":
        (cloned / "bench.toml").write_text('templates = "mine"\n')
    else:
        marker = PAGE.format(options="from=sweep.md template=mine/days.md.j2")
        (cloned / "page.md").write_text(marker)
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and "there is no template" in done.err, done.text
    assert not {SECRET, SECRET[::-1]} & {
        *done.text.split(),
        *(cloned / "page.md").read_text().split(),
    }


@pytest.mark.parametrize(
    "setting",
    [
        'templates = "/"', 'templates = "../"', 'templates = ".git"', 'templates = "away"',
        'sources = ["/etc"]', 'sources = [".git/config"]', 'sources = ["away"]', 'facts = "away"',
        'formats = "/tmp"',
    ],
)  # fmt: skip
def test_a_setting_stays_within_the_repository(cloned: Path, setting: str) -> None:
    (cloned / "away").symlink_to(cloned.parent)
    (cloned / "bench.toml").write_text(setting + "\n")
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and "is outside" in done.err, done.text


@pytest.mark.parametrize(("target", "said"), [
    ("/proc/self/environ", "a file of the system"),
    ("../../secret.log", "'logs/env.log' is outside"),
])  # fmt: skip
@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_a_folder_of_sources_links_to_nothing_outside(
    cloned: Path, how: str, target: str, said: str
) -> None:
    (cloned.parent / "secret.log").write_text("TOKEN=1\n")
    (cloned / "logs").mkdir()
    (cloned / "logs/env.log").symlink_to(target)
    (cloned / "logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    if how == "bench.toml":
        (cloned / "bench.toml").write_text('sources = ["logs"]\n')
    (cloned / "page.md").write_text(PAGE.format(options="" if how == "bench.toml" else "from=logs"))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and said in done.err, done.text


@pytest.mark.parametrize("named", [
    "logs", "records", "stated/logs", "logs/*", "logs/*/secret.md", "logs/[a]way", "**/secret.md",
    "x/**/../../secret.md", "file://{}/secret.md", "file:{}/secret.md", "-",
    "ftp://127.0.0.1:9/secret.md",
])  # fmt: skip
@pytest.mark.parametrize("how", ["bench.toml", "marker"])
def test_a_source_is_a_file_or_folder_of_the_repository(cloned: Path, how: str, named: str) -> None:
    """No folder, record or facts.toml that is a link, and none of the further words that a command
    line takes."""
    outside = cloned.parent / "outside"
    outside.mkdir()
    for folder in (outside, cloned.parent):
        (folder / "secret.md").write_bytes((cloned / "sweep.md").read_bytes())
    for name in ("logs", "x/y", "records", "stated/logs"):
        (cloned / name).mkdir(parents=True)
    assert quick(cloned, "export", "--records", str(outside), "sweep.md").code == 0
    (cloned / "records/records.records").touch()
    record = next(outside.glob("sweep.md/*.json"))
    (cloned / "records" / record.name).symlink_to(f"../../outside/sweep.md/{record.name}")
    (outside / "facts.toml").write_text(SECRET)
    (cloned / "stated/facts.toml").symlink_to("../../outside/facts.toml")
    (cloned / "stated/logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    (cloned / "logs/away").symlink_to("../../outside")
    (cloned / "logs/sweep.md").write_bytes((cloned / "sweep.md").read_bytes())
    named = named.format(cloned.parent)
    if how == "bench.toml":
        (cloned / "bench.toml").write_text(f'sources = ["{named}"]\n')
    options = "" if how == "bench.toml" else f"from={named}"
    (cloned / "page.md").write_text(before := PAGE.format(options=options))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and re.search("is outside|no such file", done.err), done.text
    assert SECRET not in done.text and (cloned / "page.md").read_text() == before


def test_a_source_may_be_named_like_standard_input(cloned: Path) -> None:
    (cloned / "-").mkdir()
    (cloned / "sweep.md").rename(cloned / "-/sweep.md")
    (cloned / "page.md").write_text(PAGE.format(options="from=-"))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 0 and "V100" in (cloned / "page.md").read_text(), done.text


def test_links_within_a_repository_are_followed(cloned: Path) -> None:
    (cloned / "logs").mkdir()
    (cloned / "logs/sweep.md").symlink_to("../sweep.md")
    (cloned / "logs/facts.toml").symlink_to("../mine/facts.toml")
    (cloned / "mine/facts.toml").touch()
    (cloned / "mine/base.j2").write_text("own words\n")
    (cloned / "mine/days.md.j2").symlink_to("base.j2")
    (cloned / "bench.toml").write_text('sources = ["logs"]\ntemplates = "mine"\n')
    (cloned / "page.md").write_text(PAGE.format(options=""))
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 0 and "own words" in (cloned / "page.md").read_text(), done.text


def test_facts_beside_a_repository_are_the_users_own(cloned: Path) -> None:
    """They are read where a command runs in a folder above."""
    (cloned.parent / "own.toml").touch()
    (cloned.parent / "facts.toml").symlink_to("own.toml")
    done = quick(cloned.parent, "report", "--update", "work/page.md")
    assert done.code == 0 and "V100" in (cloned / "page.md").read_text(), done.text


ENDLESS = {
    "time": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "memory": "{% for a in range(9999) %}{{ 'b' * 9999999 }}{% endfor %}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "text": "{% for a in range(9999) %}{{ 'a' * 9999 }}{% endfor %}",
    "compiled": "{{ (" + "(" * 9999 + "1" + ")" * 9999 + ") }}",
    "itself": "{% include 'days.md.j2' %}",
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_template_takes_little(cloned: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TIME_S", 2)
    (cloned / "mine/days.md.j2").write_text(ENDLESS[what])
    (cloned / "bench.toml").write_text('templates = "mine"\n')
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and "the template of 'days'" in done.err, done.text
    assert (cloned / "page.md").read_text() == PAGE.format(options="from=sweep.md")
    assert "processor time" in done.err or what not in ("time", "power"), done.text


ESCAPES = (
    "{{ ''.__class__ }}", "{{ ''|attr('__class__') }}", "{{ '{0.__class__}'.format(42) }}",
    "{{ '{x.__class__}'.format_map({'x': 1}) }}", "{{ names.__class__ }}", "{{ names|tojson }}",
    "{{ names.path.__globals__ }}", "{{ names._short }}", "{{ self.__init__.__globals__ }}",
    "{{ cycler.__init__ }}", "{{ joiner.__init__ }}", "{{ namespace.__init__ }}", "{{ lipsum }}",
    "{{ range.__self__ }}", "{{ dict.__base__ }}", "{{ range(10**9)|list }}",
    "{% import '/etc/passwd' as x %}", "{% include '../days.md.j2' %}", "{% extends '/x.j2' %}",
    "{{ short.__globals__ }}", "{{ [].append.__self__ }}", "{{ days_table.__wrapped__ }}",
    "{% for a in [''].__iter__ %}{% endfor %}", "{{ ''.join.__self__.__class__.mro() }}",
    "{{ (1).__reduce_ex__(2) }}", "{{ [''.format]|map(attribute='__globals__')|first|list }}",
)  # fmt: skip


@pytest.mark.parametrize("text", ESCAPES)
def test_a_template_stays_in_its_sandbox(text: str) -> None:
    with pytest.raises(BenchError, match="failed"):
        rendered("days", ShortNames([]), {}, {"days.md.j2": OwnTemplate(text, "")})


def test_templates_take_little_together(cloned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "TIME_S", 2)
    monkeypatch.setattr(sandbox, "MOST_S", 1)
    monkeypatch.setattr(sandbox, "_taken", deque())
    (cloned / "mine/days.md.j2").write_text(ENDLESS["time"])
    (cloned / "bench.toml").write_text('templates = "mine"\n')
    (cloned / "page.md").write_text(PAGE.format(options="from=sweep.md") * 3)
    done = quick(cloned, "report", "--update", "page.md")
    assert done.err.count("with those before it") == 2, done.text


def test_what_a_template_takes_counts_from_its_first_second(
    cloned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_taken", taken := deque[tuple[float, float]]())
    loop = "{% for a in range(99999) %}{% endfor %}"
    (cloned / "mine/days.md.j2").write_text(loop)
    (cloned / "bench.toml").write_text('templates = "mine"\n')
    (cloned / "page.md").write_text(PAGE.format(options="from=sweep.md"))
    assert quick(cloned, "report", "--update", "page.md").code == 0
    [(_, seconds)] = taken
    assert 0 < seconds < sandbox.TIME_S


def test_templates_are_short_together(cloned: Path) -> None:
    for n in range(9):
        (cloned / f"mine/{n}.j2").write_text(" " * (1 << 20))
    (cloned / "bench.toml").write_text('templates = "mine"\n')
    done = quick(cloned, "report", "--update", "page.md")
    assert done.code == 2 and "the templates are too large" in done.err, done.text


@pytest.mark.parametrize("target", ["../../secret", "../.git/config", "/proc/self/environ"])
def test_a_format_is_no_link_that_leads_out(cloned: Path, target: str) -> None:
    (cloned / "formats").mkdir()
    (cloned / "formats/mine.toml").symlink_to(target)
    (cloned / "bench.toml").write_text('formats = "formats"\n')
    done = quick(cloned, "ingest", "sweep.md")
    assert done.code == 2 and "'formats/mine.toml' is outside" in done.err, done.text
    assert SECRET not in done.text


@pytest.mark.parametrize("line", ["runs sweep.md", "audit sweep.md", "best sweep.md"])
def test_an_output_is_no_link_that_leads_out(cloned: Path, line: str) -> None:
    for target in (cloned.parent / "secret", cloned / ".git/config"):
        (cloned / "out.md").unlink(missing_ok=True)
        (cloned / "out.md").symlink_to(target)
        done = quick(cloned, *line.split(), "-o", "out.md")
        assert target.read_text() == f"{SECRET}\n", done.text
        assert done.code == 2 and "the link leads to" in done.err, done.text


def test_who_renders_has_no_token_and_opens_nothing(
    cloned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What gets out of the sandbox finds nothing: the code below stands for such a template."""
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    code = f"""
import os, socket, sys
from bench.reports import sandbox
from bench.reports.templating import OwnTemplate

def escaped(*_):
    found = [repr(dict(os.environ))]
    for tried in (lambda: open("/proc/self/environ").read(), lambda: os.listdir("/"),
                  lambda: socket.socket(), lambda: open({str(cloned / "secret")!r}, "w"), os.pipe):
        try:
            found.append(repr(tried()))
        except OSError as error:
            found.append(type(error).__name__)
    return " ".join(found)

sandbox.rendered = escaped
sandbox._main()
"""
    given = pickle.dumps((9, "days", ShortNames([]), {}, {"days.md.j2": OwnTemplate("", "")}))
    environment = {name: os.environ[name] for name in sandbox.KEPT if name in os.environ}
    done = subprocess.run([sys.executable, "-P", "-c", code], input=given, env=environment,
                          capture_output=True, check=True)  # fmt: skip
    text = json.loads(done.stdout)["text"]
    assert SECRET not in text and text.split()[-5:] == ["OSError"] * 5, text


def test_a_template_is_rendered_without_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = tmp_path / "noted"
    note = f"import os\nopen({str(noted)!r}, 'w').write(repr(dict(os.environ)))\n"
    (tmp_path / "sitecustomize.py").write_text(note)
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert sandbox.render("days", ShortNames([]), {}, {"days.md.j2": OwnTemplate("a\n", "")})
    assert "PYTHONPATH" in noted.read_text() and SECRET not in noted.read_text()


def _index(repository: Path, *names: str) -> None:
    """git's index with these names, as git itself would not write it."""
    body = b"DIRC" + struct.pack(">II", 2, len(names))
    for name in map(str.encode, sorted(names)):
        facts = (0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0)
        entry = struct.pack(">10I20sH", *facts, b"\1" * 20, len(name)) + name
        body += entry + bytes(8 - len(entry) % 8)
    (repository / ".git/index").write_bytes(body + hashlib.sha1(body).digest())


@pytest.mark.parametrize("found_by", ["link", "pattern", "parent", "absolute"])
def test_a_page_outside_the_repository_is_not_written(cloned: Path, found_by: str) -> None:
    page = cloned.parent / "other.md"
    page.write_text(PAGE.format(options=""))
    shutil.rmtree(cloned / ".git")
    subprocess.run(["git", "init", "-q"], cwd=cloned, check=True)
    (cloned / "away").symlink_to("..")
    pages = '\npages = ["away/*.md"]' if found_by == "pattern" else ""
    (cloned / "bench.toml").write_text(f'sources = ["sweep.md"]{pages}\n')
    names = {"link": "away/other.md", "parent": "../other.md", "absolute": str(page)}
    _index(cloned, "page.md", names.get(found_by, "page.md"))
    before = page.read_bytes()
    done = quick(cloned, "report", "--update")
    assert page.read_bytes() == before
    assert ("outside work" in done.err) == (found_by in ("link", "pattern")), done.text
