"""The wheel holds the package and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bench.vocabulary.release import VERSION

MODULES = {"__init__.py", "__main__.py", "cli.py"}
NOT_SHIPPED = {"benchmarks", "build", "data", "dist", "docs", "examples", "out", "tests", "typings"}
LEFT_BEHIND = (".*", "build", "dist", "out", "typings", "*.egg-info", "*.duckdb*", "__pycache__")


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def shipped(root: Path) -> set[str]:
    """The files that belong into the wheel, as paths below bench/: whatever lies in a room."""
    rooms = [p for p in root.iterdir() if p.is_dir() and p.name not in NOT_SHIPPED]
    rooms = [p for p in rooms if not p.name.startswith(".") and p.suffix != ".egg-info"]
    files = {p for room in rooms for p in room.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    return {p.relative_to(root).as_posix() for p in files} | MODULES | {"py.typed"}


def test_every_room_is_listed(root: Path, project: dict[str, Any]) -> None:
    rooms = {Path(name).parent for name in shipped(root)}
    named = {".".join(("bench", *room.parts)) for room in rooms}
    assert named == set(project["tool"]["setuptools"]["packages"])


def test_the_version_is_that_of_the_package(project: dict[str, Any]) -> None:
    assert project["project"]["version"] == VERSION


def test_no_loose_modules_at_the_root(root: Path) -> None:
    assert {p.name for p in root.glob("*.py")} == MODULES


def test_files_that_are_about_lakes_run_where_there_is_ducklake(root: Path) -> None:
    recipe = (root / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"OLD_TESTS := (.+\n.+)", recipe)
    makes = re.compile(r"\bmade\(\"(?:sqlite|duckdb)\"|fixture\(params=.*\"sqlite\"")
    needing = {
        file.stem.removeprefix("test_")
        for file in (root / "tests").glob("test_*.py")
        if makes.search(file.read_text(encoding="utf-8"))
    }
    assert needing >= {"shared", "untrusted_lakes"} and listed
    assert needing <= set(re.findall(r"\w+", listed[1]))


def test_the_tools_are_listed_alike_for_pip_with_and_without_groups(
    project: dict[str, Any],
) -> None:
    assert project["dependency-groups"]["dev"] == project["project"]["optional-dependencies"]["dev"]


def run(*words: str | Path, cwd: Path, **env: str) -> str:
    """What the command says; its own words in the failure if it fails."""
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, env=os.environ | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built through the sdist from a copy, so that no stale build/ gets in."""
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("NOT TESTED: setuptools is older than 77, `make test` installs a newer one")
    tree, dist = tmp_path_factory.mktemp("tree") / "any-name", tmp_path_factory.mktemp("dist")
    shutil.copytree(root, tree, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, cwd=tree)
    return next(dist.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(root: Path, wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {n for n in names if ".dist-info/" not in n}
    assert package == {f"bench/{name}" for name in shipped(root)}
    assert any(n.endswith("/licenses/LICENSE") for n in names)


@pytest.mark.slow
def test_the_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, "--target", target, wheel, cwd=tmp_path)
    where = (sys.executable, "-c", "import bench; print(bench.__file__)")
    assert Path(run(*where, cwd=tmp_path, PYTHONPATH=str(target)).strip()).parent.parent == target
    shown = run(sys.executable, "-m", "bench", "--help", cwd=tmp_path, PYTHONPATH=str(target))
    assert "ingest" in shown
