"""What tables of scaling and of several models must not be called, and what they still are."""

import json
from pathlib import Path

import pytest

from tests.auditing import found_in
from tests.program import quick

ROWS = {
    # The batch above is that of the smallest run: the others had more.
    "weak scaling": (
        "Global batch size 64, micro-batch size 4.\n\n| GPUs | TP | Sec/it |\n|--|--|--|\n"
        "| 16 | 1 | 9.1 |\n| 32 | 1 | 9.2 |\n| 64 | 1 | 9.3 |\n",
        None,
    ),
    # The batch is that of a node, or of something else: no row divides.
    "counted otherwise": (
        "| GPUs | TP | MBS | GBS | Sec/it |\n|--|--|--|--|--|\n"
        "| 16 | 1 | 4 | 24 | 9.1 |\n| 32 | 1 | 4 | 24 | 9.2 |\n| 64 | 1 | 4 | 24 | 9.3 |\n",
        None,
    ),
    "an uneven last micro-batch": (
        "| GPUs | DP | TP | MBS | GA | GBS | Sec/it |\n|--|--|--|--|--|--|--|\n"
        "| 8 | 8 | 1 | 11 | 5 | 384 | 9.1 |\n| 8 | 8 | 1 | 8 | 6 | 384 | 9.2 |\n",
        None,
    ),
    "several models of one size": (
        "| Model | GPUs | Sec/it | Mem (GB) |\n|--|--|--|--|\n"
        "| qwen-7b | 8 | 9.1 | 40 |\n| openbuddy-zephyr-7b | 8 | 12.2 | 60 |\n",
        None,
    ),
    "names in a column that is not read": (
        "| Case | GPUs | MBS | Sec/it | Mem (GB) |\n|--|--|--|--|--|\n"
        "| DP_1x8 | 8 | 1 | 9.1 | 40 |\n| DP_8x1 | 8 | 1 | 12.2 | 60 |\n",
        None,
    ),
    "a comparison in a number's place": (
        "| GPUs | MBS | tok/s | Mem (GB) |\n|--|--|--|--|\n"
        "| 8 | 1 | 9100 | 40 |\n| 8 | 2 | ~1% faster | 60 |\n",
        None,
    ),
    "one batch of three": (
        "| GPUs | TP | MBS | GBS | Sec/it |\n|--|--|--|--|--|\n"
        "| 16 | 1 | 4 | 128 | 9.1 |\n| 32 | 1 | 4 | 250 | 9.2 |\n| 64 | 1 | 4 | 512 | 9.3 |\n",
        "R2b",
    ),
    "the same set-up twice": (
        "| Model | GPUs | MBS | Sec/it | Mem (GB) |\n|--|--|--|--|--|\n"
        "| 7B | 8 | 1 | 9.1 | 40 |\n| 7B | 8 | 1 | 12.2 | 60 |\n",
        "R6b",
    ),
    "the same set-up twice, with the number of a run": (
        "| Run id | GPUs | MBS | Sec/it |\n|--|--|--|--|\n"
        "| 4711 | 8 | 1 | 1.00 |\n| 4712 | 8 | 1 | 3.00 |\n",
        "R6b",
    ),
    "a power that is not read": (
        "| GPUs | MBS | Sec/it | Wall power |\n|--|--|--|--|\n"
        "| 8 | 1 | 1.00 | 410 |\n| 8 | 1 | 3.00 | 411 |\n",
        "R6b",
    ),
    "numbered rows": (
        "| # | GPUs | MBS | Sec/it |\n|--|--|--|--|\n"
        "| 1 | 8 | 1 | 1.00 |\n| 2 | 8 | 1 | 3.00 |\n| 3 | 8 | 2 | 4.00 |\n",
        "R6b",
    ),
    "a setting that is not read": (
        "| GPUs | MBS | Sec/it | Chunks |\n|--|--|--|--|\n"
        "| 8 | 1 | 1.00 | 4 |\n| 8 | 1 | 3.00 | 16 |\n",
        None,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_is_told_of_a_table(name: str, tmp_path: Path) -> None:
    text, rule = ROWS[name]
    (tmp_path / "a.md").write_text(f"# Training throughput\n\n{text}", "utf-8")
    told = {
        one.rule
        for one in found_in(tmp_path)
        if one.severity == "error" or (one.rule == "R6b" and one.severity == "warning")
    }
    assert told == ({rule} if rule else set())


def test_rows_without_devices_have_no_speed_to_compare(folder: Path) -> None:
    """Replicas tell the length of a step in micro-batches; how many devices ran is not known."""
    rows = "".join(f"| 4 | 1 | {gbs} | {time} |\n" for gbs, time in ((32, 10.0), (64, 90.0)))
    (folder / "x.md").write_text(
        f"# Training\n\n| DP | MBS | GBS | Sec/it |\n|--|--|--|--|\n{rows}"
    )
    done = quick(folder, "audit", "x.md", "--fail-on", "never")
    assert done.code == 0 and "R7" in done.out, done.text


@pytest.mark.parametrize(("cells", "grade"), [("6 6 10", "warning"), ("6 6 6", "error")])
def test_memory_may_fall_by_what_an_unknown_column_holds(
    cells: str, grade: str, folder: Path
) -> None:
    zorp = cells.split()
    mem = zip((2, 4, 1), zorp, (54, 56, 80), strict=True)
    rows = "".join(f"| 1 | 8 | {mbs} | 512 | {one} | {gb}GB | 5.0 |\n" for mbs, one, gb in mem)
    head = "| Nodes | TP | MBS | GBS | Zorp | Mem | Sec/it |\n|--|--|--|--|--|--|--|\n"
    (folder / "x.md").write_text(f"# Training\n\n{head}{rows}")
    done = quick(folder, "audit", "x.md", "--format", "json", "--fail-on", "never")
    found = [one["severity"] for one in json.loads(done.out) if one["rule"] == "R5"]
    assert found == [grade], done.out
