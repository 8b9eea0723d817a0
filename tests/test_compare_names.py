"""Sides of a comparison are called by the names of their files."""

from pathlib import Path

from tests.logs import header
from tests.making import iteration
from tests.program import quick


def test_files_are_named_without_their_folders(folder: Path) -> None:
    (folder / "logs").mkdir()
    for name, step_ms in (("plain", 100.0), ("with_recompute", 120.0)):
        steps = "".join(iteration(n, step_ms, of=4) for n in range(1, 5))
        (folder / "logs" / f"{name}.log").write_text(f"{header(4)}\n{steps}")
    done = quick(folder, "compare", "logs/plain.log", "logs/with_recompute.log")
    assert done.out.startswith("with_recompute.log is 1.20x slower than plain.log"), done.out
