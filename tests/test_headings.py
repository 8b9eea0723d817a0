"""Column headings: every sample row reads as it says, and no heading means two columns."""

import tomllib
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.vocabulary.cells import parse_cell
from bench.vocabulary.headings import column_of, columns, columns_of, is_benchmark, samples

_KINDS = (
    "count", "label", "text", "flag", "clock", "time", "throughput", "rate", "percent", "memory",
    "number", "notes", "power", "energy", "price",
)  # fmt: skip
_ROLES = ("topology", "batch", "model", "setting", "result", "remark")


MISSPELT = [
    ("Throughout tokens/s", "tokens_per_s"), ("throuthput(sample/sec)", "samples_per_s"),
    ("Sequnece length", "seq_len"), ("Sampled tokens/s", None), ("Inferred tokens/s", None),
]  # fmt: skip


WORDED = [
    ("Seq/s", "samples_per_s"), ("Seqs/sec/GPU", "samples_per_s_per_device"), ("HW", "device"),
    ("Context", "seq_len"), ("Context parallel", "cp"), ("Accum", "grad_accum"),
    ("Cards", "devices"), ("FLOPS utilization", "peak_share"), ("Model FLOPs utilization", "mfu"),
    ("Effective TFLOPs", "tflops"), ("num_key_value_heads", "kv_heads"), ("d_ff", "ffn_hidden"),
    ("num_experts", "experts"), ("Top-k", "moe_top_k"), ("topk", "moe_top_k"),
    ("num_experts_per_tok", "moe_top_k"), ("Experts", None), ("Expert parallel", "ep"),
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


def test_of_two_memories_that_of_the_device_is_meant() -> None:
    named = [column and column.name for column in columns_of(["Peak Mem", "Peak VRAM", "Sec/it"])]
    assert named == [None, "mem", "step_time"]
    named = [column and column.name for column in columns_of(["Peak VRAM", "GPU mem", "Memory"])]
    assert named == ["mem", None, None]
