"""The words of charts: curves have the shortest names that tell them apart."""

from pathlib import Path

from bench.reports.charts.text import wrapped
from tests.logs import header
from tests.making import iteration
from tests.program import quick


def test_names_are_parted_at_their_signs() -> None:
    name = "meg_ds_zero_gpt2_perf_n16-1999616"
    lines = wrapped(name, 16, 230, 2)
    assert "".join(lines) == name and lines[0][-1] in "_-"


def test_curves_of_one_log_are_named_by_lines(folder: Path) -> None:
    text = header(4) + "\n" + "".join(iteration(n, of=4) for n in range(1, 5))
    (folder / "a_long_name_of_a_log.log").write_text(text + text)
    (folder / "b.log").write_text(text)
    quick(folder, "chart", "steps", "a_long_name_of_a_log.log", "-o", "one.svg")
    quick(folder, "chart", "steps", ".", "-o", "two.svg")
    one, two = ((folder / f"{name}.svg").read_text() for name in ("one", "two"))
    assert "line 1" in one
    # As comments beside the paths that draw them.
    assert "<!-- b -->" in two and "<!-- a_long_name_of_a_log:1 -->" in two
