"""Column headings: every sample row reads as it says, and no heading means two columns."""

import tomllib
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.results import Habits, results
from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of, columns, columns_of, is_benchmark, samples

_KINDS = (
    "count",
    "label",
    "text",
    "flag",
    "clock",
    "time",
    "throughput",
    "rate",
    "percent",
    "memory",
    "number",
    "notes",
    "power",
    "energy",
    "price",
)
_ROLES = ("topology", "batch", "model", "setting", "result", "remark")


def test_a_unit_of_memory_without_brackets() -> None:
    column = column_of("Peak GPU MB")
    assert column is not None and (column.name, column.unit) == ("mem", "MB")


MISSPELT = [
    ("Throughout tokens/s", "tokens_per_s"), ("throuthput(sample/sec)", "samples_per_s"),
    ("Sequnece length", "seq_len"), ("Sampled tokens/s", None), ("Inferred tokens/s", None),
]  # fmt: skip


WORDED = [
    ("Seq/s", "samples_per_s"), ("Seqs/sec/GPU", "samples_per_s_per_device"), ("HW", "device"),
    ("Context", "seq_len"), ("Context parallel", "cp"), ("Accum", "grad_accum"),
    ("Cards", "devices"), ("FLOPS utilization", "peak_share"), ("Model FLOPs utilization", "mfu"),
    ("Effective TFLOPs", "tflops"), ("num_key_value_heads", "kv_heads"), ("d_ff", "ffn_hidden"),
    ("num_experts", "experts"), ("Experts", None), ("Expert parallel", "ep"),
    ("iter/s", "steps_per_s"), ("Iters", None), ("Iterations", None),
    ("Time (h)", "train_time"), ("Time (s)", "step_time"),
    # no strokes, and the window of a mean
    ("avg_last10_tokens_sec_gpu", "tokens_per_s_per_device"), ("best_tflops_gpu", "tflops"),
    ("Mean tok/s (last 1K steps)", "tokens_per_s"), ("step p50 (ms)", "step_time"),
    ("step p90 (ms)", None), ("tokens/s/rank", "tokens_per_s_per_device"), ("Num ranks", "ranks"),
    ("Instance-Type", "device"), ("Machine type", "device"), ("Training Data-Type", "dtype"),
    ("Mixed precision", "dtype"), ("Global Minibatch", "gbs"), ("Eff. batch size", "gbs"),
    ("DeepSpeed ZeRO", "zero_stage"), ("ZeRO offload", None),
    ("Activation ckpt policy", "recompute"),
    ("Total params", "size"), ("Peak device GiB", "mem"), ("Instance", "device"),
    ("Checkpoint time (s)", None), ("Attn heads", "heads"), ("Attention", None),
    ("Embedding dim", "hidden"), ("Training runtime", "train_time"),
]  # fmt: skip


@pytest.mark.parametrize(("heading", "name"), WORDED)
def test_a_heading_is_read_as_engineers_use_it(heading: str, name: str | None) -> None:
    column = column_of(heading)
    assert (column and column.name) == name


@pytest.mark.parametrize(("heading", "name"), MISSPELT)
def test_a_slip_is_read_an_unknown_word_is_not(heading: str, name: str | None) -> None:
    column = column_of(heading)
    assert (column and column.name) == name


def headings(root: Path) -> list[tuple[str, str]]:
    named = [
        (name, entry.get("headings", ()))
        for file in ("fields.toml", "headings.toml")
        for name, entry in tomllib.loads((root / "vocabulary" / file).read_text("utf-8")).items()
        if name in columns()
    ]
    return list(chain.from_iterable(((name, word) for word in words) for name, words in named))


@pytest.mark.parametrize("sample", samples(), ids=lambda s: f"{s['heading']}: {s['cell']}")
def test_each_sample_row(sample: dict[str, object]) -> None:
    column = column_of(str(sample["heading"]))
    assert column
    assert column.name == sample["column"]
    cell = parse_cell(str(sample["cell"]), column)
    assert cell.kind == sample["kind"]
    if cell.kind != "misfit":
        assert cell.value == sample.get("value")
    assert list(cell.marks) == sample.get("marks", [])
    if "unit" in sample:
        assert (cell.unit or column.unit) == sample["unit"]


def test_each_heading_stands_for_its_column(root: Path) -> None:
    for name, heading in headings(root):
        column = column_of(heading)
        assert column, heading
        assert column.name == (columns()[name].alone or name), heading
        assert column.type in _KINDS, name
        assert column.role in _ROLES, name


def test_no_heading_stands_for_two_columns(root: Path) -> None:
    """Also not when written in capitals, in code, in bold, with a footnote or another space."""
    for name, heading in headings(root):
        for text in (
            heading.upper(),
            heading.lower(),
            f"`{heading}`",
            f"**{heading}**",
            f"{heading}*",
            f" {heading} ",
            heading.replace(" ", "_"),
            heading.replace(" ", "<br>"),
            heading.replace(" ", ""),
        ):
            column = column_of(text)
            assert column, text
            assert column.name == (columns()[name].alone or name), text


def test_results_name_their_measurement() -> None:
    for column in columns().values():
        assert (column.metric is None) or column.role == "result"


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("Time (ms)", "step_time", "ms"),
        ("Iteration time (s)", "step_time", "s"),
        ("Elapsed time per iteration (ms)", "step_time", "ms"),
        ("Memory(GiB)", "mem", "GiB"),
        ("Peak memory (GB)", "mem", "GB"),
        ("Mem [MiB]", "mem", "MiB"),
        ("MFU (%)", "mfu", "%"),
        ("Params (B)", "size", "B"),
        ("Number of parameters (billion)", "size", "B"),
        ("SeqLen (T)", "seq_len", None),
        ("Throughput (tok/s/GPU)", "tokens_per_s_per_device", "tokens/s"),
    ],
)
def test_a_unit_in_the_heading(heading: str, name: str, unit: str | None) -> None:
    column = column_of(heading)
    assert column
    assert (column.name, column.unit) == (name, unit)


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("throughput rate (tokens/s/p)", "tokens_per_s_per_device"),
        ("tokens吞吐 (tokens/s/p)", "tokens_per_s_per_device"),
        ("单步迭代时间 (s/step)", "step_time"),
        ("Time per Global Step (s)", "step_time"),
        ("全局吞吐量", "throughput"),
        ("单卡吞吐量", "throughput_per_device"),
        ("floating point operation (TFLOPs/s)", "tflops"),
        ("卡数", "devices"),
        ("参数规模", "size"),
        ("Per-GPU BS", "mbs"),
        ("显存/卡", "mem"),
        ("tokens/s (8 GPUs)", "tokens_per_s"),
        ("#HPU", "devices"),
        ("Training performance", "throughput"),
        ("expert tensor parallel size", "etp"),
        ("Peak allocated (GB)", "mem"),
        ('<div style="width:100px;">Model ID</div>', "size"),
    ],
)
def test_a_heading_is_read_word_by_word(heading: str, name: str) -> None:
    column = column_of(heading)
    assert column and column.name == name


@pytest.mark.parametrize(
    "heading",
    [
        "Decode tokens/s",
        "Peak TFLOPs",
        "Theoretical TFLOPS",
        "MFU target",
        "TFLOPs per sample",
        "samples/s/step",
        "Time/epoch",
        "CPU Mem",
        "tokens/GPU-hour",
        "GPU 利用率",
        "Tokens/s (std)",
        "memory bandwidth (GB/s)",
        "推理性能",
        "Projected 8-Node (tok/s/GPU)",
    ],
)
def test_a_word_that_may_change_the_quantity_leaves_it_unread(heading: str) -> None:
    assert column_of(heading) is None


@pytest.mark.parametrize(
    ("heading", "cell", "metric", "value"),
    [
        ("Power (W)", "540", "power_w", 540.0),
        ("Avg power", "0.54 kW", "power_w", 540.0),
        ("Energy", "3.6 MJ", "energy_kwh", 1.0),
        ("Cost ($)", "$1,250", "price_usd", 1250.0),
        ("Training cost", "49.7 hours ($5482)", "price_usd", 5482.0),
        ("Goodput", "97%", "goodput", 0.97),
        ("Time to train (min)", "60", "train_time_s", 3600.0),
    ],
)
def test_power_energy_price_and_time_are_measured(
    heading: str, cell: str, metric: str, value: float
) -> None:
    column = column_of(heading)
    found = list(results([parse_cell(cell, column)], [column], Habits()))
    assert [one.metric for one in found] == [metric]
    assert found[0].value == pytest.approx(value)


@pytest.mark.parametrize(
    ("heading", "cell", "value"),
    [
        ("Params (B)", "6.7", 6.7),
        ("Params (M)", "760", 0.76),
        ("NumParams", "64862437376", 64.862437376),
        ("Model", "LLAMA3.1_405B", 405.0),
        ("Model", "GPT OSS 120B", 120.0),
        ("Model", "DeepSeekV3", None),
        ("Size", "1B3", 1.3),
        ("Size", "350M", 0.35),
        ("Model", "7", None),
    ],
)
def test_a_size_in_any_form(heading: str, cell: str, value: float | None) -> None:
    assert parse_cell(cell, column_of(heading)).value == value


@pytest.mark.parametrize(
    "heading",
    [
        "GlobalBatchSize (T)",
        "Global batch size (tokens)",
        "Batch (M tokens)",
        "Batch size (tok)",
        "MBS (tokens)",
    ],
)
def test_a_batch_in_tokens_is_none_in_sequences(heading: str) -> None:
    assert column_of(heading) is None


@pytest.mark.parametrize(
    "heading",
    ["", " ", "-", "Opt Offl", "MP Mode", "Sharding Strategy", "Technique", "torch"],
)
def test_an_unknown_heading_is_no_column(heading: str) -> None:
    assert column_of(heading) is None


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        (["NNODES", "BS", "MBS"], True),
        (["GPUs", "async", "GBS", "TFLOPs", "Notes"], True),
        (["Nodes", "what"], False),
        (["Data Type", "GB200", "B200", "H100"], False),
        (["repo", "commit", "date"], False),
        (["Size", "Time"], False),  # no word on how it ran
        (["Model", "TFLOP/chip/sec", "MFU"], True),
        (["Model", "MFU", "Approx tokens/sec/device"], True),
        (["GPU type", "TFLOPs", "Memory"], False),  # a list of devices
        (["Model", "MFU", "Days"], False),
        (["GBS", "Global batch size"], False),  # the same twice
        (["| Nodes |"], False),
        ([], False),
    ],
)
def test_what_a_benchmark_table_is(row: list[str], answer: bool) -> None:
    assert is_benchmark(row) is answer


@given(st.text(max_size=60))
def test_no_heading_raises(text: str) -> None:
    column_of(text)
    is_benchmark([text, "Nodes"])


@pytest.mark.parametrize(
    "heading",
    [
        "Step time (total)",
        "TFLOPs (min)",
        "Tokens/s (per node)",
        "Throughput (requests/day)",
    ],
)
def test_a_qualified_result_is_another_quantity(heading: str) -> None:
    assert column_of(heading.split(" (")[0])
    assert column_of(heading) is None


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("Step time (minutes)", "step_time", "min"),
        ("Step time (us)", "step_time", "us"),
        ("Iteration (s)", "step_time", "s"),
        ("Iter [ms]", "step_time", "ms"),
        ("Steps (sec)", "step_time", "s"),
        ("Step time (µs)", "step_time", "us"),
        ("Time (avg)", "step_time", "s"),
        ("TFLOPs (aggregate)", "agg_pflops", "TFLOP/s"),
        ("Total TFLOPs", "agg_pflops", "TFLOP/s"),
        ("Aggregate tokens/s", "tokens_per_s", "tokens/s"),
        ("TGS (total)", "tokens_per_s", "tokens/s"),
        ("Samples/s (per GPU)", "samples_per_s_per_device", "1/s"),
        ("TFLOPs (per GPU)", "tflops", "TFLOP/s"),
        ("Tokens/s (per GPU)", "tokens_per_s_per_device", "tokens/s"),
    ],
)
def test_a_qualifier_that_is_a_unit_or_a_scope_is_read(heading: str, name: str, unit: str) -> None:
    column = column_of(heading)
    assert column and (column.name, column.unit) == (name, unit)


@pytest.mark.parametrize(
    ("row", "names"),
    [
        (["HW TFLOPs", "Model TFLOPs"], ["hw_tflops", "tflops"]),
        (["HW TFLOPs", "MFU"], ["tflops", "mfu"]),
        (["Speed", "Sec/it"], ["speed", "step_time"]),
        (["Speed", "TFLOPs"], ["step_time", "tflops"]),
        (["Max reserved memory", "Max allocated memory"], ["mem_reserved", "mem"]),
        (["TFLOPs (aggregate)", "TFLOPs"], ["agg_pflops", "tflops"]),
        (["TP", "Tensor parallel"], ["tp", None]),
    ],
)
def test_headings_that_mean_nearly_the_same(row: list[str], names: list[str | None]) -> None:
    assert [column and column.name for column in columns_of(row)] == names
