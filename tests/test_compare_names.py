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


def test_what_can_be_compared_by_is_listed(folder: Path) -> None:
    (folder / "a.md").write_text(
        "# Sweep on A100\n\n| Nodes | Size | DP | TP | PP | MBS | GBS | Sec/it |\n"
        + "|---" * 8
        + "|\n"
        "| 1 | 1.3B | 8 | 1 | 1 | 1 | 64 | 2.5 |\n| 1 | 1.3B | 4 | 2 | 1 | 1 | 64 | 3.1 |\n"
    )
    for words in (("a.md", "--by"), ("--by", "--model", "1.3B", "a.md")):
        done = quick(folder, "compare", *words)
        assert done.code == 2 and "--by needs the name of a column" in done.err
        assert "tp (1, 2)" in done.err and "dp (4, 8)" in done.err and "mbs" not in done.err
    assert "tp (1, 2)" in quick(folder, "compare", "a.md", "--by", "speed").err
