"""What an audit says it could test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.audit.finding import Finding, Place
from bench.audit.output import as_lines
from tests.program import quick

TABLE = "| GPUs | {} |\n|--|--|--|--|--|\n"


def told(folder: Path, text: str, form: str = "md") -> list[str]:
    (folder / "x.md").write_text(text)
    out = quick(folder, "audit", "x.md", "--format", form, "--fail-on", "never").out
    lines = [line.removeprefix("- ") for line in out.splitlines()]
    return [line for line in lines if line.startswith(("checked: ", "not checked: "))]


@pytest.mark.parametrize(
    ("columns", "rows", "missing"),
    [("MBS | GBS | Sec/it", ("64 | 1 | 512 | 12.3",), "a time and no rate: 1"),
     ("MBS | GBS | TFLOPs", ("64 | 1 | 512 | 123", "64 | 2 | 512 | 131"), "no time: 2"),
     ("MBS | Sec/it | TFLOPs", ("64 | 1 | 12.3 | 123",), "no GBS: 1"),
     ("GBS | Sec/it | TFLOPs", ("64 | 512 | 12.3 | 123",), "no sequence length: 1")],
)  # fmt: skip
def test_what_is_missing(tmp_path: Path, columns: str, rows: tuple[str, ...], missing: str) -> None:
    text = TABLE.format(columns).replace("|--|--|--|--|--|", "|--|--|--|--|")
    checked, unchecked = told(tmp_path, text + "".join(f"| {row} |\n" for row in rows))
    assert checked.startswith(f"checked: {len(rows)} row") and "0 by TFLOPs and time" in checked
    assert missing in unchecked, unchecked
    assert ("no device" in unchecked) == ("TFLOPs" in columns)


def test_findings_that_say_the_same_are_listed_once() -> None:
    rule, words = ("R1j",), ("rates contradict the length", "4096, but 8192")
    of = [Finding(rule, "error", "high", *words, (Place("a.md", line),)) for line in (3, 5, 9)]
    other = Finding(rule, "error", "high", *words, (Place("b.md", 3),))
    head, *_, last, said = as_lines([*of, other], 80).splitlines()
    assert head == "error R1j length-of-rates a.md:3,5,9 (3 findings)"
    assert last == "error R1j length-of-rates b.md:3" and said.startswith("  rates contradict")


def test_everything_is_tested(tmp_path: Path, root: Path) -> None:
    text = (root / "data" / "tables" / "003_check_tcmalloc.md").read_text("utf-8")
    [checked, unchecked] = told(tmp_path, text)
    assert "14 by TFLOPs and time" in checked and "14 by topology" in checked
    assert "speed" not in unchecked


@pytest.mark.parametrize(("columns", "tested"), [("DP | GPUs", 0), ("DP | MBS", 2)])
def test_a_batch_above_the_table_tests_no_row(tmp_path: Path, columns: str, tested: int) -> None:
    text = (
        f"# Training\n\nMicro-batch size 3, global batch size 96.\n\n| {columns} | TP | Sec/it |\n"
    )
    second = (8, 16) if "GPUs" in columns else (3, 3)
    rows = [f"| {dp} | {n} | 1 | 9.1 |\n" for dp, n in zip((8, 16), second, strict=True)]
    checked, *_ = told(tmp_path, text + "|--|--|--|--|\n" + "".join(rows))
    assert f" {tested} by batch" in checked


def test_where_it_stands(tmp_path: Path) -> None:
    text = TABLE.format("DP | TP | MBS | Sec/it")
    text += "| 64 | 8 | 8 | 1 | 12.3 |\n"
    assert told(tmp_path, text, "table") == told(tmp_path, text, "md")
    for form in ("json", "csv", "tsv", "github"):
        assert told(tmp_path, text, form) == [], "each line or object of these is a finding"
    out = quick(tmp_path, "audit", "x.md", "--format", "sarif").out
    [call] = json.loads(out)["runs"][0]["invocations"]
    said = [one["message"]["text"] for one in call["toolExecutionNotifications"]]
    assert said == told(tmp_path, text)


def test_logs_are_counted(tmp_path: Path, root: Path) -> None:
    source = root / "data" / "logs" / "megatron_lm_dp2.log"
    (tmp_path / "x.log").write_bytes(source.read_bytes())
    out = quick(tmp_path, "audit", "x.log", "--format", "md", "--fail-on", "never").out
    assert "logged run" in out and "step" in out


@pytest.mark.parametrize("columns", [40, 60, 99])
def test_a_narrow_terminal_has_whole_findings(
    root: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    words = ("audit", "data/tables/001_1.3b_benchmarking.md", "--format", "table")
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = quick(root, *words, "--fail-on", "never").out.splitlines()
    at = (
        next(
            n
            for n, line in enumerate(lines)
            if line.startswith("error R2 topology data/tables/001")
        )
        + 1
    )
    finding = [line for line in lines[at : at + 8] if line.startswith("  ")]
    assert all(len(line) <= columns for line in finding), finding
    assert "suggestion: TP=8" in " ".join(line.strip() for line in finding)
    monkeypatch.setenv("COLUMNS", "200")
    first, _, heads, *rows = quick(root, *words, "--fail-on", "never").out.splitlines()
    assert first.startswith("3 rows contradict ") and heads.startswith("severity  rule")
    grades = [row.split()[0] for row in rows if row and row.split()[0] in ("error", "warning")]
    assert grades == sorted(grades) and set(grades) == {"error", "warning"}, "errors come first"
