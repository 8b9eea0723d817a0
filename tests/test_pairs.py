"""What one setting changes: pairs of configurations that differ in nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.making import iteration
from tests.program import quick

HEAD = 'bench launch begins {{"plan": "p", "case": "{case}", "dp": 1, "device": "TestBox"}}\n'


def launched(folder: Path, library: str, times: Sequence[float]) -> None:
    """A log of a launched run for each time of a step, in ms."""
    for number, time in enumerate(times):
        env = f"LD_PRELOAD={library} " if library else ""
        head = HEAD.format(case=library or "none") + f"bench launch command {env}python t.py -u\n"
        steps = "".join(iteration(n, time, of=4) for n in range(1, 5))
        (folder / f"run-{library or 'none'}-{number}.log").write_text(head + steps)


def cells(page: str) -> list[list[str]]:
    """The rows of the page's tables."""
    rows = [line for line in page.splitlines() if line.startswith("| ") and "| :--" not in line]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_published_pairs_are_found(data: Path, folder: Path) -> None:
    page = quick(folder, "report", "settings", str(data / "tables" / "003_check_tcmalloc.md"))
    head, *rows = cells(page.out)
    assert [row[3] for row in rows] == [f"{2**n}/1/1" for n in range(7)]
    first = dict(zip(head, rows[0], strict=True))
    assert (first["From"], first["To"]) == ("not set", "libtcmalloc.so")
    assert first["Change"] == f"{100 * (1020.3 / 1321.5 - 1):.1f}%"
    assert {row[-3] for row in rows} == {"one run: no spread"}


@pytest.mark.parametrize(
    ("without", "with_", "told"),
    [
        ((100, 104, 108), (90, 92, 94), "every run faster; by chance 1 in 10"),
        ((100, 104, 108), (110, 112, 120), "every run slower; by chance 1 in 10"),
        ((100, 104, 108), (97, 99, 101), "within the spread"),
        ((100,), (90, 91), "one run: no spread"),
    ],
)
def test_what_runs_tell(
    folder: Path, without: Sequence[float], with_: Sequence[float], told: str
) -> None:
    launched(folder, "", without)
    launched(folder, "libtcmalloc_minimal.so.4", with_)
    page = quick(folder, "report", "settings", ".")
    assert page.code == 0, page.text
    [_, row] = cells(page.out)
    assert row[6] == "not set" and row[10] == "libtcmalloc_minimal.so.4"
    assert row[-3] == told
    assert re.search(rf"n = {len(with_)}\)", row[11])


def test_other_settings_make_no_pair(folder: Path) -> None:
    launched(folder, "", (100, 101))
    text = (folder / "run-none-0.log").read_text()
    (folder / "run-none-0.log").write_text(text.replace('"dp": 1', '"dp": 2'))
    page = quick(folder, "report", "settings", ".")
    assert "No two measured configurations differ only in one setting (an env" in page.out
    assert "`bench compare --by COLUMN`" in page.out, "they do differ, in DP"
