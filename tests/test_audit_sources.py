"""R12: one run in two documents, in a quoted log line and a table, in a log and a table."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from bench.audit.finding import Finding
from bench.audit.run import audit
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

HEADER = (
    "| Nodes | Size | DP | TP | PP | MBS | GBS | Mem | Sec/it | TFLOPs |\n"
    "|--|--|--|--|--|--|--|--|--|--|\n"
)
LOGGED = (
    "| GPUs | DP | TP | PP | MBS | GBS | Layers | Hidden | Sec/it |\n|--|--|--|--|--|--|--|--|--|\n"
)


def found(folder: Path) -> list[Finding]:
    with in_memory() as warehouse:
        ingest_into(warehouse, [folder], folder)
        return [one for one in audit(warehouse) if one.rule == "R12"]


def document(folder: Path, name: str, *rows: str) -> None:
    (folder / name).write_text(f"# {name}\n\n{HEADER}" + "".join(f"| {row} |\n" for row in rows))


def test_a_row_that_another_document_has_in_an_older_state(tmp_path: Path) -> None:
    same = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 18870.0 MiB"
    document(tmp_path, "a.md", f"{same} | 2533.0 | 0.86")
    document(tmp_path, "b.md", f"{same} | 2411.7 | 0.91")
    [one] = found(tmp_path)
    assert one.severity == "warning" and one.message == "two documents report one run differently"
    assert {(cell.uri, cell.name) for cell in one.cells} == {
        ("a.md", "step_time"), ("a.md", "tflops"), ("b.md", "step_time"), ("b.md", "tflops"),
    }  # fmt: skip


def test_a_row_that_stands_in_both_is_a_note(tmp_path: Path) -> None:
    row = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 18870.0 MiB | 2533.0 | 0.86"
    document(tmp_path, "a.md", row)
    document(tmp_path, "b.md", row, "8 | 1.3B | 2 | 4 | 1 | 1 | 1024 | 18502.5 MiB | 1266.0 | 0.86")
    [one] = found(tmp_path)
    assert (one.severity, one.uri, one.line) == ("note", "b.md", 5)


def test_rows_of_other_set_ups_have_nothing_in_common(tmp_path: Path) -> None:
    document(tmp_path, "a.md", "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 18870.0 MiB | 2533.0 | 0.86")
    document(tmp_path, "b.md", "8 | 1.3B | 2 | 4 | 1 | 1 | 1024 | 18870.0 MiB | 2411.7 | 0.91",
             "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 18.9 GB | 2411.7 | 0.91")  # fmt: skip
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ("0.5674", None),
        ("0.57", None),
        ("0.5364", "the table has the fastest step of a log"),
        ("0.3000", "table and log disagree on one configuration"),
        ("0.7000", None),
    ],
)
def test_a_table_beside_its_log(
    root: Path, tmp_path: Path, shown: str, message: str | None
) -> None:
    log = root / "data" / "logs" / "fugaku_tp2.log"
    (tmp_path / "run.log").write_bytes(log.read_bytes())
    (tmp_path / "README.md").write_text(
        f"# Sweep\n\nSequence length 64\n\n{LOGGED}| 2 | 1 | 2 | 1 | 1 | 8 | 4 | 128 | {shown} |\n"
    )
    told = found(tmp_path)
    assert [one.message for one in told] == ([message] if message else [])
    for one in told:
        assert one.cells[0].name == "step_time" and "median 0.5674 s of 4 lines" in one.evidence


def test_a_table_that_copies_a_quoted_line_wrongly(root: Path, tmp_path: Path) -> None:
    text = (root / "data" / "tables" / "002_chronicles-prequel.md").read_text("utf-8")
    (tmp_path / "whole.md").write_text(text)
    assert not [one for one in found(tmp_path) if one.severity != "note"]
    lines = text.splitlines()
    at = next(n for n, line in enumerate(lines) if "| 108.47 |" in line)
    lines[at] = lines[at].replace("108.47", "109.47")
    (tmp_path / "whole.md").write_text("\n".join(lines) + "\n")
    [one] = [one for one in found(tmp_path) if one.severity == "warning"]
    assert one.line == at + 1 and one.suggestion == "TFLOPs 108.47"


def test_numbers_that_repeats_share_by_chance(tmp_path: Path) -> None:
    rng = random.Random(3)
    set_up = "4 | 1.3B | 1 | 4 | 1 | 1 | 1024 | 18GB"
    for name in ("a.md", "b.md"):
        times = [round(rng.uniform(250, 252), 2) for _ in range(60)]
        rows = [f"{set_up} | {time} | {rng.uniform(80, 90):.2f}" for time in times]
        document(tmp_path, name, *rows)
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("shown", "messages"),
    [
        (("0.567", "1.135"), []),
        (("1.135", "0.567"), []),
        (("0.567",), []),  # the other log has no row
        (("0.567", "3.141"), ["table and log disagree on one configuration"]),
        (("3.141", "4.712"), []),  # nothing tells which is of which
    ],
)
def test_two_rows_beside_two_logs_of_one_set_up(
    root: Path, tmp_path: Path, shown: tuple[str, ...], messages: list[str]
) -> None:
    text = (root / "data" / "logs" / "fugaku_tp2.log").read_text("utf-8")
    (tmp_path / "fast.log").write_text(text)
    slow = re.sub(
        r"(elapsed time per iteration \(ms\): )([\d.]+)",
        lambda one: f"{one[1]}{2 * float(one[2]):.1f}",
        text,
    )
    # A line whose rate and time contradict each other would not count.
    slow = re.sub(
        r"(samples per second: )([\d.]+)", lambda one: f"{one[1]}{float(one[2]) / 2:.4f}", slow
    )
    (tmp_path / "slow.log").write_text(slow)
    rows = "".join(f"| 2 | 1 | 2 | 1 | 1 | 8 | 4 | 128 | {time} |\n" for time in shown)
    (tmp_path / "README.md").write_text(f"# Sweep\n\nSequence length 64\n\n{LOGGED}{rows}")
    told = found(tmp_path)
    assert [one.message for one in told] == messages
    assert all("slow.log" in one.evidence for one in told)
