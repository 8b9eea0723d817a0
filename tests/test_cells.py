"""The grammar of cells: every form that published tables have, and what gives its text back."""

from __future__ import annotations

import json

import pytest

from bench.vocabulary.cell_pieces import format_pieces, half_digit, half_digit_of
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of
from bench.vocabulary.settings import Setting
from tests.cells import read


@pytest.mark.parametrize(
    "text",
    ["-", "--", "–", "—", "", "x", "xxxx", "XXX", "na", "n/a", "N/A", "NA", "TBD", "?", "..."],
)
@pytest.mark.parametrize("heading", ["Mem", "Sec/it", "TFLOPs", "Nodes", "GBS", "Throughput"])
def test_nothing_measured(heading: str, text: str) -> None:
    cell = read(heading, text)
    assert (cell.kind, cell.value, cell.invalid) == ("missing", None, None)
    assert cell.rebuilt() == text


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("- MiB", "MiB"),
        ("-MiB", "MiB"),
        ("GB", "GB"),
        ("GiB", "GiB"),
        ("x GB", "GB"),
        ("-  MiB", "MiB"),
    ],
)
def test_a_unit_alone(text: str, unit: str) -> None:
    cell = read("Mem", text)
    assert (cell.kind, cell.value, cell.unit) == ("missing", None, unit)
    assert cell.rebuilt() == text


@pytest.mark.parametrize(
    ("heading", "text", "value", "unit", "marks"),
    [
        ("Sec/it", "29", 29, None, ()),
        ("Throughput", "90.5s", 90.5, "s", ()),
        ("Throughput", "661ms", 661, "ms", ()),
        ("Throughput", "213", 213, None, ()),
        ("Freq", "2.0GHz", 2.0, "GHz", ()),
        ("Freq", "2.2Hz", 2.2, "Hz", ()),
        ("Mem", "28827.7 MiB", 28827.7, "MiB", ()),
        ("Mem", "67GB", 67, "GB", ()),
        ("Mem", "31.5 GiB", 31.5, "GiB", ()),
        ("Mem", "28828.5 MiB^", 28828.5, "MiB", ("^",)),
        ("Sec/it", "210.0^", 210, None, ("^",)),
        ("Sec/it", "14.39†", 14.39, None, ("†",)),
        ("TFLOPs", "1.36^/^^", 1.36, None, ("^", "^^")),
        ("TFLOPs", "0.35?", 0.35, None, ("?",)),
        ("TFLOPs", "47.0 *", 47.0, None, ("*",)),
        ("TFLOPs", "5,762", 5762, None, ()),
        ("TFLOPs", "1,234.50", 1234.5, None, ()),
        ("Tokens/s", "1.2M", 1.2e6, None, ()),
        ("Tokens/s", "35k", 35e3, None, ()),
        ("MBS", "06", 6, None, ()),
        ("MFU", "46.4%", 46.4, "%", ()),
        ("MFU", "46.4 %", 46.4, "%", ()),
        ("TFLOPs", "~135", 135, None, ()),
        ("TFLOPs", ".95", 0.95, None, ()),
        ("Sec/it", "1.5 min", 1.5, "min", ()),
        ("Mem", "+12 GB", 12, "GB", ()),
        ("Mem", "**35.9 GB** of 40", 35.9, "GB", ()),
        ("Mem", "58.9 GB, 0 allocator retries", 58.9, "GB", ()),
        ("Tokens/s", "**236.1K** steady (steps 3–10)", 236.1e3, None, ()),
        ("Sec/it", "112.5 ± 4.3 (epoch 2; std/mean 3.8%)", 112.5, None, ()),
        ("Sec/it", "482.7 ± 4.4 ms", 482.7, "ms", ()),
    ],
)
def test_numbers(
    heading: str, text: str, value: float, unit: str | None, marks: tuple[str, ...]
) -> None:
    cell = read(heading, text)
    assert (cell.kind, cell.invalid) == ("number", None)
    assert cell.value == pytest.approx(value)
    assert (cell.unit, cell.marks) == (unit, marks)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Mem", "28827.7 MiB"),
        ("Mem", "28828.5 MiB^"),
        ("Mem", "67GB"),
        ("Sec/it", "210.0^"),
        ("Sec/it", "14.39†"),
        ("TFLOPs", "1.36^/^^"),
        ("TFLOPs", "0.35?"),
        ("TFLOPs", "5,762"),
        ("TFLOPs", "1,234.50"),
        ("MBS", "06"),
        ("MFU", "46.4%"),
        ("TFLOPs", "90.50"),
        ("Freq", "2.0GHz"),
        ("Throughput", "661ms"),
        ("Tokens/s/GPU", "3986 (3546)"),
        ("GPUs", "64-1024"),
        ("GPUs", "GPUs*4"),
        ("Nodes", '512 (2.2Hz,  "retention_state=0")'),
        ("Nodes", "512  (2.2Hz, LD_PRELOAD=libtcmalloc.so)"),
        ("Nodes", "8192 (\\w llio)"),
        ("Nodes", "1 (max-proc-per-node=4)^^"),
        ("Notes", "02-15, 21103755"),
        ("Notes", "02-20 too close to OOM"),
        ("Size", "1.3B"),
        ("Mem", "- MiB"),
        ("TFLOPs", "**132.71**"),
        ("Mem", "29138.6 MiB (OOM after first epoch)"),
        ("Sec/it", "3534.8833(1itrのみ実行)"),
        ("TFLOPs", "`90.5`"),
        ("GBS", "GPUs\\*4"),
        ("async", "yes"),
        ("Sec/it", "0.661 s"),
        ("Mem", "1e3 MB"),
        ("Loss", "-0.5"),
        ("TFLOPs", "-1.50"),
        ("TFLOPs", "007.10"),
        ("Sec/it", "1.10<br>"),
        ("Mem", "**35.9 GB** of 40"),
        ("Tokens/s/GPU", "**371** (controls 349, 395)"),
    ],
)
def test_the_text_comes_back(heading: str, text: str) -> None:
    cell = parse_cell(text, column_of(heading))
    assert cell.rebuilt() in ((text, None) if "e3" in text or text[:2] == "+1" else (text,))
    assert format_pieces(json.loads(json.dumps(cell.pieces))) == (
        cell.rebuilt() or format_pieces(cell.pieces)
    )


@pytest.mark.parametrize(
    ("text", "half"),
    [("12", 0.5), ("1,234.50", 0.005), ("1.2e3", 50), ("5e-05", 5e-6), ("5E-05", 5e-6)],
)
def test_half_of_the_last_printed_digit(text: str, half: float) -> None:
    assert half_digit(text) == pytest.approx(half, rel=1e-12)


def test_half_of_the_last_digit_of_a_number_without_its_text() -> None:
    halves = [half_digit_of(value) for value in (5e-05, 0.25, 45.0, 1e22)]
    assert halves == pytest.approx([5e-6, 0.005, 0.5, 0.5], rel=1e-12)


def test_a_number_with_an_exponent_beyond_every_double() -> None:
    assert read("Sec/it", "0e9999").invalid == "too large under Sec/it"
    assert half_digit("0e" + 5000 * "9") == half_digit("0e9999")


@pytest.mark.parametrize("raw", [">23.5GB", "< 10", "≥ 79 GB", ">=1,024.5 MiB"])
def test_a_bound_is_no_measured_value_and_no_shifted_cell(raw: str) -> None:
    cell = read("Mem", raw)
    assert (cell.kind, cell.value, cell.invalid) == ("text", None, None)
    assert read("GPUs", ">8").kind == "misfit"


def test_settings_behind_a_number() -> None:
    cell = read("Nodes", '512  (2.2Hz, LD_PRELOAD=libtcmalloc.so, "retention_state=0")')
    assert (cell.kind, cell.value) == ("settings", 512)
    assert cell.settings == (
        Setting("clock_ghz", "2.2", "clock"),
        Setting("LD_PRELOAD", "libtcmalloc.so", "env"),
        Setting("retention_state", "0", "scheduler"),
    )
    assert read("Nodes", "1 (max-proc-per-node=4)^^").marks == ("^^",)
    assert read("NNODES", "1 (max-proc-per-node=4)").settings == (
        Setting("procs_per_node", "4", "topology"),
    )
    assert read("Nodes", "8192 (\\w llio)").settings == (Setting("llio", "yes", "scheduler"),)
    assert read("Nodes", "8192 (w\\o llio)").settings == (Setting("llio", None, "scheduler"),)
    assert read("GPUs", "64 (torch_ddp)").settings == (Setting("torch_ddp", "yes", "launcher"),)
    assert read("Nodes", "4 (freq=2200)").settings[0].value == "2.2"


def test_two_values_a_range_a_formula() -> None:
    pair = read("Tokens / sec / GPU", "3986 (3546)")
    assert (pair.kind, pair.value) == ("pair", 3986)
    span = read("GPU Scale", "64-1024")
    assert (span.kind, span.value) == ("range", None)
    assert read("GPUs", "64 - 1024").kind == "range"
    for text in ("GPUs*4", "GPUs\\*4", "GPUs/32", "4*GPUs", "nodes * 8"):
        cell = read("GBS", text)
        assert (cell.kind, cell.value, cell.invalid) == ("symbolic", None, None)


@pytest.mark.parametrize(
    ("heading", "text", "why"),
    [
        ("Sec/it", "20033.7 MiB", "MiB"),
        ("GBS", "2 Mi", "tokens"),
        ("GBS", "4M", "tokens"),
        ("Global batch size", "2M tokens", "tokens"),
        ("GBS", "512k tokens", "tokens"),
        ("TFLOPs", "512 tokens/s", "tokens"),
        ("Tokens/s", "512 TFLOPs", "TFLOPs"),
        ("Mem", "12 s", "s under"),
        ("GBS", "67GB", "GB"),
        ("TP", "1.5", "whole"),
        ("PP", "-4", "whole"),
        ("Seq len", "0", "zero"),
        ("Nodes", "0", "zero"),
        ("TFLOPs", "-3.5", "negative"),
        ("GBS", "many", "no number"),
        ("Sec/it", "see below", "no number"),
    ],
)
def test_what_does_not_fit_says_why(heading: str, text: str, why: str) -> None:
    cell = read(heading, text)
    assert cell.kind == "misfit"
    assert cell.invalid
    assert why in cell.invalid


def test_zero_means_something_elsewhere() -> None:
    assert read("ZS", "0").value == 0
    assert read("FSDP", "0").value == 0
    assert read("Throughput (S/s)", "0").invalid is None


def test_a_remark_in_japanese() -> None:
    cell = read("Sec/it", "3534.8833(1itrのみ実行)")
    assert (cell.kind, cell.value, cell.text) == ("number", 3534.8833, "(1itrのみ実行)")
    assert cell.invalid is None


@pytest.mark.parametrize(
    "text",
    ["**132.71**", "*132.71*", "`132.71`", "__132.71__", "_132.71_", "**`132.71`**"],
)
def test_dressed_numbers(text: str) -> None:
    cell = read("TFLOPs", text)
    assert (cell.kind, cell.value, cell.raw) == ("number", 132.71, text)
    assert cell.rebuilt() == text


def test_a_number_that_is_struck_out_is_none() -> None:
    cell = read("TFLOPs", "~~132.71~~")
    assert (cell.kind, cell.invalid, cell.rebuilt()) == ("misfit", "struck out", "~~132.71~~")


@pytest.mark.parametrize(
    "text", ["~~140~~ 132.71", "~~140~~ → **132.71**", "~~140~~ ~~135~~ 132.71"]
)
def test_what_is_struck_out_before_a_number_is_replaced_by_it(text: str) -> None:
    cell = read("TFLOPs", text)
    assert (cell.kind, cell.value, cell.rebuilt()) == ("number", 132.71, text)


def test_line_breaks_in_a_cell() -> None:
    cell = read("Mem", "47GB<br>first node")
    assert (cell.value, cell.unit, cell.rebuilt()) == (47, "GB", "47GB<br>first node")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", 1),
        ("No", 0),
        ("True", 1),
        ("False", 0),
        ("full", 1),
        ("none", 0),
        ("-", None),
        ("", None),
        ("✓", 1),
    ],
)
def test_flags(text: str, value: float | None) -> None:
    cell = read("Activation Checkpointing", text)
    assert cell.value == value
    assert cell.kind == ("missing" if text in ("-", "") else "flag")


def test_selective_is_a_flag_of_its_own() -> None:
    cell = read("AC", "selective")
    assert (cell.kind, cell.value, cell.text) == ("flag", None, "selective")


def test_notes_keep_dates_and_jobs_apart() -> None:
    def of(text: str, kind: str) -> list[object]:
        return [piece[1] for piece in read("Notes", text).pieces if piece[0] == kind]

    assert of("02-15, 21103755", "date") == ["02-15"]
    assert of("02-15, 21103755", "job") == ["21103755"]
    assert of("Stopped after the first iteration.   4/22", "date") == ["4/22"]
    assert of("2024-12-23", "date") == ["2024-12-23"]
    assert of("32GB OOMs", "date") == []


def test_half_the_last_digit() -> None:
    assert read("TFLOPs", "90.50").half == pytest.approx(0.005)
    assert read("Sec/it", "29").half == pytest.approx(0.5)
    assert read("Tokens/s", "35k").half == pytest.approx(500)
    assert read("TFLOPs", "1.2e3").half == pytest.approx(50)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[842](https://mlcommons.org/benchmarks/training/)", 842.0),
        ("**[1.5](run.log)**", 1.5),
        ('[***7***](https://example.org/a_(b) "title")', 7.0),
    ],
)
def test_a_number_that_is_a_link(text: str, value: float) -> None:
    cell = read("TFLOPs", text)
    assert (cell.kind, cell.value, cell.invalid) == ("number", value, None)
    assert cell.raw == cell.rebuilt() == text


def test_a_link_hides_nothing() -> None:
    assert read("TFLOPs", "[see](https://example.org)").invalid
    assert read("Model", "[GPT3-20B](https://example.org)").value == 20
    assert read("Sec/it", "[^1]").value is None


def test_a_share_of_memory_is_a_remark() -> None:
    cell = read("Mem", "84%")
    assert (cell.kind, cell.value, cell.invalid) == ("words", None, None)
    assert read("MFU", "84%").value == 84
