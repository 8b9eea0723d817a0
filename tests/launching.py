"""What the tests of launches need: plans on disk, and libraries to preload."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

from bench.launch.cases import Expansion, expand
from bench.launch.reading import read_plan
from bench.launch.trainer import trainer


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
