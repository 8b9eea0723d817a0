"""One training over several files: a run that goes on from a checkpoint of another is linked."""

from __future__ import annotations

import json
from pathlib import Path

from tests.making import iteration
from tests.program import quick

ARGUMENTS = """------------------------ arguments ------------------------
  num_layers ...................................... {layers}
  train_iters ..................................... 500000
-------------------- end of arguments ---------------------
"""
LOAD = "  successfully loaded checkpoint from /ckpt [ t 1/2, p 1/2 ] at iteration {}\n"
SAVE = "  successfully saved checkpoint from iteration {} to /ckpt\n"


def steps(first: int, last: int, layers: int = 4, load: int | None = None, save: int = 0) -> str:
    head = ARGUMENTS.format(layers=layers) + (LOAD.format(load) if load else "")
    below = "".join(iteration(n, 100.0) + (SAVE.format(n) if n == save else "")
                    for n in range(first, last + 1))  # fmt: skip
    return head + below


def linked(folder: Path) -> list[tuple[str, str, int, int]]:
    quick(folder, "ingest", "-q", ".")
    query = """SELECT b.uri || ':' || b.line AS run, a.uri || ':' || a.line AS before,
                   iteration, repeated
               FROM continuations c JOIN runs b ON b.run_id = c.run_id
               JOIN runs a ON a.run_id = c.continues ORDER BY ALL"""
    found = json.loads(quick(folder, "sql", query, "--format", "json").out)
    return [(row["run"], row["before"], row["iteration"], row["repeated"]) for row in found]


def test_a_run_over_several_files(tmp_path: Path) -> None:
    (tmp_path / "slurm-1.out").write_text(steps(1, 30, save=20))
    (tmp_path / "slurm-2.out").write_text(steps(21, 40, load=20, save=40))
    (tmp_path / "slurm-3.out").write_text(steps(41, 45, load=40))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "slurm-4.out").write_text(steps(21, 25, load=20) + "\n")
    (tmp_path / "slurm-5.out").write_text(steps(21, 26, layers=8, load=20))
    assert linked(tmp_path) == [
        ("slurm-2.out:1", "slurm-1.out:1", 21, 10),
        ("slurm-3.out:1", "slurm-2.out:1", 41, 0),
    ]
    shown = quick(tmp_path, "show", "slurm-2.out:1").out
    assert "continues" in shown and "slurm-1.out:1" in shown
    assert "goes on in" in shown and "slurm-3.out:1" in shown


def test_starts_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(1, 30, save=20) + steps(21, 40, load=20))
    ((_, before, first, repeated),) = linked(tmp_path)
    assert (before, first, repeated) == ("a.log:1", 21, 10)


def test_of_repeats_that_print_no_date_and_no_save_none_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(steps(1, 30))
    (tmp_path / "b.log").write_text(steps(1, 31))
    (tmp_path / "c.log").write_text(steps(21, 40, load=20))
    assert linked(tmp_path) == []
    (tmp_path / "b.log").write_text(steps(1, 31, save=20))
    assert [before for _, before, _, _ in linked(tmp_path)] == ["b.log:1"]
