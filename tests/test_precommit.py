"""The hooks, run by pre-commit on a scratch repository; and the files that others' CI reads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bench.project.configuration import json_schema
from tests.checkouts import GIT, ROWS, git, yaml_of
from tests.making import table
from tests.program import environment, quick

ROOT = Path(__file__).resolve().parent.parent
yaml = pytest.importorskip("yaml", reason="NOT TESTED: no PyYAML, which comes with pre-commit")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a source, a page with a true region, and our hooks configured."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-qm", "hooks")
    revision = git(hooks, "rev-parse", "HEAD").strip()
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "bench.toml").write_text('sources = ["sweep.md"]\n')
    (work / "sweep.md").write_text(table(*ROWS))
    (work / "README.md").write_text("<!-- bench:begin report=runs -->\n<!-- bench:end -->\n")
    assert quick(work, "report", "--update", "README.md").code == 0
    # `bench` of this environment: a wheel and its dependencies would be fetched otherwise.
    (work / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n"
        "  - {id: bench-report, language: system}\n"
        "  - {id: bench-validate-config, language: system}\n"
    )
    git(work, "add", ".")
    return work


def pre_commit(folder: Path, *words: str) -> tuple[int, str]:
    env = environment(GIT) | {"PRE_COMMIT_HOME": str(folder.parent / "cache")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", *words], cwd=folder, env=env, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_the_hooks_in_a_repository(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="NOT TESTED: no pre-commit")
    code, text = pre_commit(folder, "run", "--all-files")
    assert code == 0 and text.count("Passed") == 2, text
    (folder / "sweep.md").write_text(table(*ROWS).replace("51.0", "45.9"))
    git(folder, "add", "sweep.md")
    code, text = pre_commit(folder, "run")
    assert code == 1 and "README.md:1: runs is stale" in text, text
    assert quick(folder, "report", "--update").code == 0
    git(folder, "add", "README.md")
    assert pre_commit(folder, "run")[0] == 0
    (folder / "bench.toml").write_text('source = ["sweep.md"]\n')
    git(folder, "add", "bench.toml")
    code, text = pre_commit(folder, "run", "bench-validate-config")
    assert code == 1 and "did you mean 'sources'" in text and "bench.toml:1" in text, text


@pytest.mark.slow
def test_a_table_that_contradicts_itself_is_not_committed(folder: Path) -> None:
    pytest.importorskip("pre_commit", reason="NOT TESTED: no pre-commit")
    config = folder / ".pre-commit-config.yaml"
    config.write_text(config.read_text() + "  - {id: bench-audit-md, language: system}\n")
    git(folder, "add", config.name)
    shutil.copy(ROOT / "data" / "tables" / "001_1.3b_benchmarking.md", folder / "tables.md")
    git(folder, "add", "tables.md")
    code, text = pre_commit(folder, "run", "bench-audit-md")
    assert code == 1 and "tables.md:29" in text, text
    (folder / "facts.toml").write_text(
        "".join(
            f'[[fact]]\nmatch = {{ file = "tables.md", line = {line} }}\nfield = "finding"\n'
            'value = "exception"\nreason = "x"\nauthor = "y"\ndate = 2026-01-01\n'
            for line in (29, 34, 44)
        )
    )
    assert pre_commit(folder, "run", "bench-audit-md")[0] == 0


def test_every_command_that_is_called_exists(folder: Path) -> None:
    for hook in yaml_of(".pre-commit-hooks.yaml"):
        done = quick(folder, *hook["entry"].split()[1:])
        assert done.code == 0, f"{hook['entry']}\n{done.text}"
    (folder / "bench.toml").write_text('sources = ["gone.md"]\n')
    done = quick(folder, "ci", "config")
    assert done.code == 2 and "gone.md does not exist" in done.err
    (folder / "bench.toml").unlink()
    assert quick(folder, "ci", "config").code == 2


def test_the_action_passes_its_inputs_by_the_environment() -> None:
    """An input within a script would be run as one: `${{ }}` stands in env only."""
    action = yaml_of("action.yml")
    assert action["runs"]["using"] == "composite"
    used = set()
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash" and "${{" not in step["run"]
        used |= set(re.findall(r"inputs\.([\w-]+)", f"{step.get('env')} {step.get('if')}"))
    assert used == set(action["inputs"])
    assert all(given["description"] for given in action["inputs"].values())
    scripts = "\n".join(step["run"] for step in action["runs"]["steps"])
    assert "bench ci github" in scripts and "bench report --update" in scripts
    for step in action["runs"]["steps"]:
        reads_their_files = re.search(r"report --update|ci github(?! --post)", step["run"])
        assert not (reads_their_files and "token" in str(step["env"]).lower()), step["name"]
        assert ("--post" in step["run"]) == ("GITHUB_TOKEN" in step["env"])


@pytest.mark.parametrize("mode", ["check", "update"])
def test_a_name_of_a_file_is_no_option_in_the_action(folder: Path, mode: str) -> None:
    """A workflow may pass the files that a pull request changes."""
    [script] = [s["run"] for s in yaml_of("action.yml")["runs"]["steps"] if "BENCH_FILES" in str(s)]
    env = environment(GIT) | {
        "RUNNER_TEMP": str(folder.parent), "BENCH_MODE": mode, "BENCH_BASE": "", "BENCH_SAVE": "",
        "BENCH_FORK_TEMPLATES": "", "BENCH_FILES": f"-o{folder.parent}/x --save={folder.parent}/y",
    }  # fmt: skip
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=env,
                          capture_output=True, check=False, text=True)  # fmt: skip
    assert done.returncode and "no such file: -o" in done.stderr, done.stderr
    assert not {"x", "y"} & {path.name for path in folder.parent.iterdir()}


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "ci").glob("*.yml")), ids=lambda p: p.stem)
def test_the_examples_of_workflows(path: Path) -> None:
    text = path.read_text("utf-8")
    found = yaml.safe_load(text)
    assert "pull_request_target" not in text
    if path.stem.endswith("gitlab"):
        return
    writes = found["permissions"].get("pull-requests") == "write"
    runs_their_code = "actions/checkout" in text
    assert path.stem == "pull_request" or not (writes and runs_their_code)
    scripts = [s["run"] for job in found["jobs"].values() for s in job["steps"] if "run" in s]
    assert not [script for script in scripts if "${{" in script]


def test_what_is_used_is_pinned(root: Path) -> None:
    """By commit or by hash: a tag may be moved, a version be replaced."""
    for path in (root / "docs" / "ci").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text("utf-8"))
        assert not [one for one in used if not re.fullmatch(r".+@([0-9a-f]{40}|COMMIT)", one)]
    install = yaml_of("action.yml")["runs"]["steps"][0]["run"]
    assert "--require-hashes" in install and "requirements.lock" in install


def test_the_lock_is_of_this_project(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    entries = re.split(r"\n(?=\S)", (root / "requirements.lock").read_text("utf-8"))[1:]
    assert not [entry for entry in entries if "--hash=sha256:" not in entry]
    locked = defaultdict(list)
    for entry in entries:
        name, version = re.split("==", entry.split()[0])
        locked[name].append(version)
    for text in project["project"]["dependencies"] + project["build-system"]["requires"]:
        wanted = Requirement(text)
        assert locked[wanted.name], f"{text}: make lock"
        assert all(version in wanted.specifier for version in locked[wanted.name]), text
    assert "://" not in (root / "requirements.lock").read_text("utf-8"), "no host of a registry"


SCHEMAS = {
    "action.yml": ["vendor.github-actions"],
    "docs/ci/pull_request.yml": ["vendor.github-workflows"],
    "docs/ci/fork_check.yml": ["vendor.github-workflows"],
    "docs/ci/fork_comment.yml": ["vendor.github-workflows"],
    "docs/ci/gitlab.yml": ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
    "docs/ci/site.yml": ["vendor.github-workflows"],
    "docs/ci/site.gitlab.yml": ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
}


def against_schema(path: Path, schema: list[str]) -> subprocess.CompletedProcess[str]:
    """A file against the schema that its site publishes, as check-jsonschema carries it."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *schema, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_their_schema_says(tmp_path: Path, name: str) -> None:
    done = against_schema(ROOT / name, SCHEMAS[name])
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / Path(name).name
    text = (ROOT / name).read_text("utf-8")
    wrong.write_text(re.sub(r"^(\s*)(steps|script):", r"\1stepz:", text, count=1, flags=re.M))
    assert wrong.read_text() != text
    assert against_schema(wrong, SCHEMAS[name]).returncode == 1


def test_every_example_has_a_schema() -> None:
    examples = {f"docs/ci/{path.name}" for path in (ROOT / "docs" / "ci").glob("*.yml")}
    assert {"action.yml", *examples} == set(SCHEMAS)


def test_the_published_schema_of_bench_toml() -> None:
    published = (ROOT / "docs" / "bench.schema.json").read_text("utf-8")
    assert published == json_schema(), "make generate"
