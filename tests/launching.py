"""What the tests of launches need: plans on disk, and libraries to preload."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from pathlib import Path

from bench.launch.cases import Expansion, expand
from bench.launch.folder import State
from bench.launch.reading import read_plan
from bench.launch.trainer import trainer
from bench.schema.opening import open_read

ACTING = Path(__file__).with_name("acting.py")


def preloadable(folder: Path, name: str) -> Path:
    """A library of such a name that the loader takes: a copy of the mathematical one."""
    assert math.pi  # its module has it mapped
    found = re.search(r"/\S+/libm[-.]\S*", Path("/proc/self/maps").read_text())
    assert found is not None
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(found[0], folder / name))


def write(folder: Path, text: str, name: str = "sweep.toml") -> Path:
    """A plan as a file."""
    (folder / name).write_text(text)
    return folder / name


def expanded(folder: Path, text: str) -> Expansion:
    """The cases of a plan."""
    plan = read_plan(write(folder, text))
    return expand(plan, trainer(plan))


def plan(folder: Path, *acts: str, more: str = "", limits: str = "time_s = 60") -> Path:
    """A plan whose program does each of these in turn."""
    file = folder / "acts.toml"
    file.write_text(
        f"""
        trainer = "command"
        command = "{sys.executable} {ACTING} {{act}}"
        {more}
        [values]
        act = {json.dumps(acts)}
        [limits]
        {limits}
        """
    )
    return file


def states(folder: Path) -> dict[str, State]:
    """How each run of the folder stands, by the act of its program."""
    found = [State(**json.loads(file.read_text())) for file in folder.rglob("*-r1/run.json")]
    return {state.label.removeprefix("act="): state for state in found}


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with open_read(folder / "bench.duckdb") as warehouse:
        return warehouse.rows(query)


def pairs(folder: Path, query: str) -> dict[str, str]:
    """The rows of a query of two columns."""
    return {str(name): str(value) for name, value in rows(folder, query)}
