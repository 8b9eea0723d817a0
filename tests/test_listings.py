"""A listing in every format, and the file or stream that it goes to."""

import csv
import io
import json
import math
import os
import stat
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.schema.errors import BenchError
from bench.terminal.tables import Format, choose_format, emit, render

COLUMNS = ["name", "tp", "TFLOPs", "when", "flags"]
ROWS: list[list[object]] = [
    ["a|b\x1b[2J", 4, 143.9612, datetime(2024, 3, 1, 10), ["x", "y"]],
    ["=1+1", 1048576, math.nan, date(2024, 3, 2), []],
    ["tab\tline\nend", None, None, None, None],
]


def test_table() -> None:
    assert render(COLUMNS, ROWS, Format.TABLE, width=100).splitlines() == [
        "name                 tp  TFLOPs  when                 flags",
        "a|b\\x1b[2J            4   144.0  2024-03-01T10:00:00  x, y",
        "=1+1          1,048,576     nan  2024-03-02",
        "tab line end",
    ]


def test_a_narrow_table_wraps_text_and_cuts_nothing() -> None:
    row = ["logs/a/run_0001.log:123456", 123456789, "CUDA out of memory: tried to allocate 2 GiB"]
    for width in (22, 34, 60, 80, 240):
        shown = render(["where", "tokens", "why"], [row], Format.TABLE, width=width)
        assert max(map(len, shown.splitlines())) <= max(width, 28), shown
        assert "123,456,789" in shown and "0001.log:123456" in shown
        assert shown.split()[-1] == "GiB"
    assert "123,456,789" in render(["tokens"], [[123456789]], Format.TABLE, width=3)


def test_a_narrow_table_shows_what_identifies_its_rows() -> None:
    where = "llama3_h100_202412_torchtitan:"
    rows = [[f"{where}{n}", "Nemotron_3_5_Lightning", "device not stated", "64 (512)", "8/1/8",
             12345.6, 1234, "timeout", "Schedule=1F1B"] for n in (60, 169)]  # fmt: skip
    names = ["where", "size", "device", "nodes", "dp/tp/pp", "s/it", "tokens/s", "status", "more"]
    kept = ("size", "device", "dp/tp/pp", "s/it", "tokens/s", "status")
    wide, narrow = (
        render(names, rows, Format.TABLE, width=width, keep=kept).splitlines()
        for width in (160, 80)
    )
    assert wide[0].split() == names and f"{where}169" in wide[2]
    assert max(map(len, narrow)) <= 80
    heads = "\n".join(narrow[:3])
    assert all(name.split("/")[-1] in heads for name in kept) and "[1]" not in narrow
    assert any(line.split()[0].endswith(":169") for line in narrow), "a line number is never cut"
    assert narrow[-1] == "also: nodes, more (--columns, --format)"


def test_a_table_that_has_no_room_becomes_records() -> None:
    names = [f"column_{n}" for n in range(12)]
    rows = [[n * 10**6 for n in range(1, 13)]] * 2
    shown = render(names, rows, Format.TABLE, width=60, chosen=True)
    assert shown.startswith("[1]\ncolumn_0   1,000,000\n") and shown.count("12,000,000") == 2
    dropped = render(names, rows, Format.TABLE, width=60)
    assert dropped.splitlines()[-1].startswith("also: ") and "column_11" in dropped
    assert "also" not in render(names, rows, Format.TABLE, width=200)


def test_what_all_rows_share_is_said_once() -> None:
    rows = [["a:1", "ok", 4, None], ["a:2", "ok", 5, None]]
    shown = render(["where", "status", "s/it", "why"], rows, Format.TABLE, width=80, common=True)
    assert shown.splitlines()[0] == "All rows: status ok."
    assert shown.splitlines()[2:] == ["where  s/it", "a:1       4", "a:2       5"]
    alone = render(["where", "status"], rows[:1], Format.TABLE, width=80, common=True)
    assert "All rows" not in alone


def test_md() -> None:
    assert render(["name", "tp"], [["a|b", 4], [None, 16]], Format.MD).splitlines() == [
        "| name |  tp |",
        "| ---- | --: |",
        "| a\\|b |   4 |",
        "|      |  16 |",
    ]


def test_csv() -> None:
    text = render(COLUMNS, ROWS, Format.CSV)
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[0] == COLUMNS
    assert read[1][1:] == ["4", "143.9612", "2024-03-01T10:00:00", '["x", "y"]']
    assert read[2][:3] == ["'=1+1", "1048576", "nan"]
    assert read[3] == ["tab\tline\nend", "", "", "", ""]
    assert "\r" not in text


def test_tsv_is_one_line_a_row() -> None:
    lines = render(COLUMNS, ROWS, Format.TSV).splitlines()
    assert len(lines) == 4 and {line.count("\t") for line in lines} == {4}
    assert lines[3].startswith("tab\\tline\\nend\t")


def test_json() -> None:
    text = render(COLUMNS, ROWS, Format.JSON)
    read = json.loads(text)
    assert text.endswith("]\n")
    assert read[0] == {
        "name": "a|b\x1b[2J", "tp": 4, "TFLOPs": 143.9612, "when": "2024-03-01T10:00:00",
        "flags": ["x", "y"],
    }  # fmt: skip
    assert read[1]["TFLOPs"] is None and read[2]["tp"] is None
    assert "é" in render(["n"], [["é"]], Format.JSON)
    inner = [[{"a": [math.inf, Decimal("1.50")]}]]
    assert json.loads(render(["n"], inner, Format.JSON)) == [{"n": {"a": [None, 1.5]}}]
    assert render(["n"], [], Format.JSON) == "[]\n"


def test_html() -> None:
    text = render(["<b>", "tp"], [["<script>", 4], ["&", None]], Format.HTML)
    assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
    body = text[text.index("<main") : text.index("</main>")]
    assert "<script>" not in body and "<b>" not in body and "&lt;script&gt;" in body
    assert '<td class="number" data-value="4.0">4</td>' in body and "style=" not in body


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(-(10**9), 10**9, places=3),
    st.text(),
    st.dates(),
    st.lists(st.text(), max_size=2),
    st.binary(max_size=3),
)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4), width=st.integers(1, 80))
def test_any_values_in_any_format(rows: list[tuple[object, ...]], width: int) -> None:
    for format in Format:
        text = render(["a", "b", "c"], rows, format, width=width)
        assert text.endswith("\n")
        text.encode("utf-8")
        if format is Format.JSON:
            assert len(json.loads(text)) == len(rows)
        if format is Format.CSV:
            assert len(list(csv.reader(io.StringIO(text, newline="")))) == len(rows) + 1
        if format in (Format.TSV, Format.MD):
            assert text.count("\n") == len(rows) + (1 if format is Format.TSV else 2)


def test_the_format_follows_the_file() -> None:
    assert choose_format(None, Path("x.csv")) is Format.CSV
    assert choose_format(None, Path("x.txt")) is Format.MD
    assert choose_format(Format.JSON, Path("x.csv")) is Format.JSON


def test_emit_writes_whole_files(tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    emit("é\n", file)
    assert file.read_bytes() == "é\n".encode()
    file.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(file)
    emit("second\n", link)
    assert link.is_symlink() and file.read_text() == "second\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    emit("x\n", tmp_path, name="runs.md")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.md", "out.md", "runs.md"]
    emit("x\n", Path(os.devnull))


def test_emit_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="does not exist"):
        emit("x", tmp_path / "no" / "out.md")
    with pytest.raises(BenchError, match="is a directory"):
        emit("x", tmp_path)


def test_emit_to_stdout_is_utf8(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    emit("é\ud800\n")
    assert capfdbinary.readouterr().out == "é\\ud800\n".encode()
