"""Templates of somebody else: a sandbox, a process without anything, and bounds."""

from __future__ import annotations

import json
import os
import pickle
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
from tests.repositories import PAGE, SECRET

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
