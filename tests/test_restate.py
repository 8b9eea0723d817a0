"""TFLOP/s of different documents under one formula, and what printed the original."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.audit.restate import RestatedRun, restate
from bench.ingest.files.pipeline import ingest_into
from bench.schema.errors import BenchError
from bench.schema.materialized import OF_PAGES, materialize
from bench.schema.opening import in_memory, open_read
from bench.schema.warehouse import Warehouse
from tests.pages import table
from tests.program import quick, told


@pytest.fixture(scope="module")
def warehouse(swept: Path) -> Iterator[Warehouse]:
    with open_read(swept / "bench.duckdb") as opened:
        materialize(opened, *OF_PAGES)  # computed once, not by each query
        yield opened


def by_line(warehouse: Warehouse, wanted: str, document: str) -> dict[int, RestatedRun]:
    lines = {
        run: line
        for run, uri, line in warehouse.rows("SELECT run_id, uri, line FROM runs")
        if f"/{document}" in uri
    }
    return {lines[r.run_id]: r for r in restate(warehouse, wanted) if r.run_id in lines}


def test_recompute_and_none_compare_under_model_flops(warehouse: Warehouse) -> None:
    found = by_line(warehouse, "model", "004")
    full, none = found[24], found[44]
    tokens = 512 * 2048
    assert (full.printed_by, none.printed_by) == ("F4, per process", "F5, per process")
    assert full.printed and none.printed and full.value and none.value
    assert full.printed > none.printed and full.value < none.value, "the faster one is faster"
    assert full.value == pytest.approx(6 * 1.3e9 * tokens / 28 / 8 / 1e12)
    assert none.value == pytest.approx(6 * 1.3e9 * tokens / 23 / 8 / 1e12)


def test_hardware_flops_are_those_that_were_printed(warehouse: Warehouse) -> None:
    found = by_line(warehouse, "hardware", "004")
    assert found[24].value == pytest.approx(48.7, abs=0.05)
    assert found[44].value == pytest.approx(44.5, abs=0.05)
    rows = by_line(warehouse, "hardware", "002")
    doubted = {265, 275, 285, 286, 287, 296, 297, 401, 429}
    seen = 0
    for line, row in rows.items():
        if row.printed_by.startswith("F2 x4") and line not in doubted and row.value:
            assert row.formula == "F1" and row.value == pytest.approx(row.printed, rel=2e-3), line
            seen += 1
    assert seen >= 50, "with the vocabulary that the rows bear out"


def test_any_formula_by_hand(warehouse: Warehouse) -> None:
    row = by_line(warehouse, "f8", "001")[28]
    b, s, layers, h, v = 1024, 1024, 24, 2048, 50688
    flops = 6 * b * s * (layers * (4 * h * h + h * s + 8 * h * h) + h * v)
    assert row.formula == "F8"
    assert row.value == pytest.approx(flops / 162.5 / 64 / 1e12)
    assert row.value and row.low and row.high and row.low < row.value < row.high


def test_rows_without_a_time_go_by_what_was_printed(warehouse: Warehouse) -> None:
    row = by_line(warehouse, "F7", "001")[42]
    assert row.why == "no step time: from the printed TFLOPs"
    assert row.value == pytest.approx(1.18 * 0.765, rel=0.01), "72 of 96, and logits for certain"


@pytest.mark.parametrize("title", ["NHIDDEN=4096 / NLAYERS=32", "GPT 6.7B"])
def test_hardware_flops_need_recompute_to_be_told(tmp_path: Path, title: str) -> None:
    table = "| GPUs | GBS | Sec/it |\n|--|--|--|\n| 32 | 256 | 6.91 |\n"
    text = f"# {title}, 32 heads, sequence length 2048\n\n{table}"
    (tmp_path / "silent.md").write_text(text)
    (tmp_path / "told.md").write_text(f"{text}\n## Without activation checkpointing\n\n{table}")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path], tmp_path)
        [silent, again, told_] = restate(warehouse, "hardware")
    assert silent.value is None and again.value is None and silent.formula == ""
    assert silent.why.startswith("recompute is not stated: ")
    without, full = map(float, re.findall(r"([\d.]+) (?:without|with full)", silent.why))
    assert told_.value == pytest.approx(without, rel=1e-3) and full / without > 1.3
    assert told_.formula == ("F7" if "LAYERS" in title else "F5")


def test_what_cannot_be_restated_says_why(warehouse: Warehouse) -> None:
    found = by_line(warehouse, "F8", "004")
    assert {row.why for row in found.values()} == {"not stated: layers, hidden size"}
    assert all(row.value is None for row in found.values())
    with pytest.raises(BenchError, match="no formula"):
        restate(warehouse, "F11")


def test_shares_of_the_peak_where_device_and_format_are_stated(
    root: Path, folder: Path, swept: Path
) -> None:
    source = root / "data" / "tables" / "001_1.3b_benchmarking.md"
    (folder / "README.md").write_bytes(source.read_bytes())
    signed = 'reason = "x"\nauthor = "y"\ndate = 2026-01-01\n'
    (folder / "facts.toml").write_text(
        "".join(f'[[fact]]\nmatch = {{ file = "README" }}\nfield = "{field}"\nvalue = "{value}"\n'
                f"{signed}" for field, value in (("device", "A64FX"), ("dtype", "fp32")))
    )  # fmt: skip
    text = quick(folder, "report", "README.md", "--flops", "model").out
    row = next(r for r in table(text, "Printed by") if r["Where"].endswith(":28"))
    assert row["MFU"] == f"*{0.854366 / 6.144 * 100:.1f}%*" and "HFU" not in row
    bare = quick(swept, "report", "--document", "001", "--flops", "model").out
    assert "MFU" not in table(bare, "Printed by")[0]
    told(quick(swept, "report", "days", "--flops", "F8"), 2, "--flops does not apply to")
    page: dict[str, Any] = json.loads(
        quick(swept, "report", "--document", "004", "--flops", "F5", "--format", "json").out
    )
    assert {row["formula"] for row in page["restated"]} == {"F5"}


def test_a_log_says_what_printed_it() -> None:
    shared = Path(__file__).parent.parent.parent / "shared" / "logs" / "bigscience_megatron"
    if not shared.is_dir():
        pytest.skip("NOT TESTED: no folder `shared` beside the repository")
    with in_memory() as warehouse:
        ingest_into(warehouse, [shared], shared.parent)
        found = restate(warehouse, "model")
    assert found and any(row.printed_by.startswith("F") for row in found)
