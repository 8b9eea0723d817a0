"""`bench explain`: what it says of a number, a cell, a formula, a run, and of what is not there."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.explain.number import PrintedNumber, parse_number
from bench.schema.opening import open_read
from bench.vocabulary.format import number
from tests.pages import split
from tests.program import quick, told


@cache
def said(folder: Path, *words: str) -> dict[str, Any]:
    done = quick(folder, "explain", *words, "--format", "json")
    assert done.code == 0, done.text
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def test_a_printed_number_leads_to_its_cell(swept: Path) -> None:
    [match] = said(swept, "145.92")["matches"]
    place = match["tree"]["place"]
    line = (swept / place["file"]).read_text("utf-8").splitlines()[place["line"] - 1]
    assert line[place["column"] - 1 :].startswith("145.92")


def test_a_shifted_row_is_told_with_its_finding(swept: Path) -> None:
    answer = said(swept, "001:29")
    assert any(one["rule"] == "R9" and one["severity"] == "error" for one in answer["findings"])
    assert answer["sources"][0]["parser_version"] >= 5
    [cell] = said(swept, "001:29:Sec/it")["matches"]
    assert cell["tree"]["place"]["text"] == "20033.7 MiB" and "misfit" in cell["tree"]["note"]


def test_a_cell_tells_what_is_made_of_it(swept: Path) -> None:
    names = {match["tree"]["name"] for match in said(swept, "001:28:58")["matches"]}
    assert {"step_time", "days", "tokens_per_s", "model_tflops"} <= names


def test_a_formula_tells_what_it_counts_and_where_it_is_used(swept: Path) -> None:
    first, *tables_ = said(swept, "f3")["matches"]
    assert "arXiv" in first["tree"]["how"]["source"] or "8b2b055e" in first["tree"]["how"]["source"]
    assert [match["where"] for match in tables_] == ["002:32"]
    assert "model_tflops" in said(swept, "F7")["matches"][0]["tree"]["note"]


def test_a_formula_needs_no_warehouse(tmp_path: Path) -> None:
    done = quick(tmp_path, "explain", "F7")
    assert done.code == 0 and "2748e7c7d4" in done.out
    done = quick(tmp_path, "explain", "r9")
    assert done.code == 0 and "R9 shifted-cells" in done.out and "threshold = no tol" in done.out
    told(quick(tmp_path, "explain", "r99"), 2, "no rule 'r99'", "R12b")
    told(quick(tmp_path, "explain", "f77"), 2, "no formula 'F77'", "F13, P1, P1N, V1")


def test_a_run_by_its_id_and_a_line_of_a_log(swept: Path) -> None:
    with open_read(swept / "bench.duckdb") as warehouse:
        [(run,)] = warehouse.rows("SELECT run_id FROM runs WHERE uri LIKE '%fugaku_dp2.log'")
    [match] = said(swept, f"{run[:8]}.days")["matches"]
    assert match["where"] == "fugaku_dp2:49.days"
    [line] = said(swept, "fugaku_dp2:355")["matches"]
    assert line["title"] == "a logged interval" and line["tree"]["value"] == 4
    [stated] = said(swept, "fugaku_dp2:128")["matches"]
    assert stated["tree"]["name"] == "global_batch_size"


def test_paths_need_no_warehouse(root: Path, folder: Path) -> None:
    document = root / "data" / "tables" / "004_tr3m-1B3.md"
    (folder / "README.md").write_bytes(document.read_bytes())
    done = quick(folder, "explain", "25.4", "README.md")
    assert done.code == 0 and "README:44.days" in done.out
    assert "D1: Days to train a budget of tokens" in done.out
    assert "a unit, not a budget: no source states a budget" in done.out


def test_days_of_pages_come_before_other_numbers_that_print_so(swept: Path) -> None:
    days, same, *others = said(swept, "25.4")["matches"]
    assert (days["where"], same["where"]) == ("004:44.days", "004:45.days")
    assert "002:160.aggregate_pflops" in [one["where"] for one in others]
    assert "379.6B tokens in data/tables/001_1.3b_benchmarking.md:9" in str(days["tree"]["inputs"])


def test_a_budget_that_is_asked_for(swept: Path) -> None:
    [match] = said(swept, "004:44.days", "--tokens", "100B")["matches"]
    assert match["tree"]["value"] == pytest.approx(100e9 / (512 * 2048 / 23) / 86_400)
    assert "--tokens" in match["tree"]["inputs"][0]["note"]


def test_a_source_that_is_gone_is_told(root: Path, folder: Path) -> None:
    document = root / "data" / "tables" / "004_tr3m-1B3.md"
    (folder / "README.md").write_bytes(document.read_bytes())
    assert quick(folder, "ingest", "README.md").code == 0
    (folder / "README.md").write_text("another text\n")
    done = quick(folder, "explain", "README:44.days")
    assert done.code == 0 and "has changed since it was read" in done.out
    assert "'23'" in done.out, "what was read is still known"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("31415.9265", "no source or result contains"),
        ("F77", "no formula 'F77'"),
        ("001:9999", "has 59 lines"),
        ("001:29:500", "no cell"),
        ("nothing:3", "no source is called"),
        ("001:28.day", "no metric 'day'"),
    ],
)
def test_what_is_not_there_is_told(swept: Path, what: str, words: str) -> None:
    told(quick(swept, "explain", what), 2, words)


def test_numbers_as_they_are_written() -> None:
    assert parse_number("379.6B") == PrintedNumber("379.6", "b")
    assert parse_number("1,048,576") == PrintedNumber("1048576", "")
    assert parse_number("fast") is None
    found = parse_number("23")
    assert found and found.is_in("23") and found.is_in("| 23 |") and found.is_in("23^")
    assert not found.is_in("123") and not found.is_in("23.5") and not found.is_in("2.23")
    assert number(1234.5) == "1,234.5" and parse_number("1,234.5")
    assert split("| 1 | 2 |") == ["1", "2"]


def test_a_run_that_prints_no_rates_tells_what_it_has(folder: Path) -> None:
    (folder / "hf.log").write_text(
        "***** Running training *****\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 32\n"
        "  Total optimization steps = 100\n"
        "{'loss': 2.5, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}\n"
        " 30%|###       | 30/100 [00:30<01:10,  1.00s/it]\n"
    )
    assert quick(folder, "ingest", "hf.log").code == 0
    run = quick(folder, "sql", "SELECT run_id FROM runs", "--format", "csv").out.split()[-1]
    out = quick(folder, "explain", run).out
    assert "step_time_s = 1 s" in out and "gbs = 32 sequences" in out


def test_a_number_at_the_end_of_all_numbers_is_shown(tmp_path: Path) -> None:
    """It is beyond them in ms, as a time may be printed."""
    line = (
        " iteration {:8d}/ 500 | elapsed time per iteration (ms): 150.0 | global batch size: 32 |"
    )
    line += " lm loss: 1e308 | number of skipped iterations: 0 | number of nan iterations: 0 |\n"
    (tmp_path / "a.log").write_text("".join(line.format(step) for step in range(1, 5)))
    assert "1e308" in quick(tmp_path, "explain", "1e308", "a.log").out
