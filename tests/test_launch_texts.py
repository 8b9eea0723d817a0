"""Free texts of a plan: what no script and no program can be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.launch.reading import read_plan
from bench.schema.errors import BenchError
from tests.program import quick


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("launcher = 'slurm'\n[job]\npartition = \"x\\n#SBATCH --wrap=id\"\n", "toml:3"),
        ('launcher = \'pbs\'\n[[matrix]]\njob = {queue = ["a", "b\\r"]}\n', "toml:3"),
        ("launcher = 'pjm'\n[job]\nrscgrp = \"x\\u2028y\"\n", "toml:3"),
        ("launcher = 'pjm'\n[job]\nfreq = 2000\nrscgrp = 'x\" --bulk \"'\n", "toml:4"),
        ("[settings]\nmodel = 'nano'\n[env]\nTF_X = \"a\\u0000b\"\n", "toml:4"),
        ('trainer = \'command\'\ncommand = "true {x}"\n[values]\nx = "\\u0000"\n', "toml:4"),
        ("trainer = 'command'\ncommand = \"true \\u0000\"\n", "toml:2"),
    ],
)
def test_no_value_writes_lines_of_its_own(tmp_path: Path, text: str, told: str) -> None:
    """Behind `#SBATCH` a line end begins a line of the script; no program takes a NUL."""
    plan = tmp_path / "sweep.toml"
    plan.write_text(text)
    with pytest.raises(BenchError, match="invalid value") as caught:
        read_plan(plan)
    assert caught.value.where.endswith(told)


def test_a_plan_of_missing_rows_can_be_read_whatever_the_table_is_called(
    root: Path, tmp_path: Path
) -> None:
    table = tmp_path / "my sweep, 50% (new).md"
    table.write_bytes((root / "data" / "tables" / "000_fugaku_sweep.md").read_bytes())
    done = quick(tmp_path, "launch", "--missing", f"{table}:1")
    assert done.code == 0, done.text
    plan = tmp_path / "plan.toml"
    plan.write_text(done.out)
    assert read_plan(plan).name == "missing-my-sweep-50-new"


def test_a_table_that_is_not_there_is_told_by_its_name(folder: Path) -> None:
    done = quick(folder, "launch", "--missing", "nope.md:2")
    assert done.code == 2 and "no such file\n  where: nope.md\n" in done.err
