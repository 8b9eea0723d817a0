"""What headings and lines around a table state, and which rows it reaches."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.ingest.documents.applicable_facts import stated
from bench.ingest.documents.context import (
    devices_named,
    dtype_of,
    machine_facts,
    phrase_samples,
    phrases_in,
    same_device,
)
from bench.ingest.documents.context_lines import configuration, is_launch, reaches_back
from bench.ingest.documents.document import read_document
from bench.ingest.documents.fact import Fact
from bench.ingest.documents.formula_lines import one_liner
from bench.ingest.documents.frameworks import framework_of
from bench.ingest.documents.statements import legend_in, statements_in
from tests.reaching import EVERY, FORMULA, TABLE


def values(facts: list[Fact]) -> Mapping[str, str | None]:
    return {fact.field: fact.value for fact in facts}


@pytest.mark.parametrize(("field", "text", "value"), phrase_samples())
def test_each_phrase_sample(field: str, text: str, value: str) -> None:
    facts = values(phrases_in(text, 1, "heading"))
    if field.startswith("env_"):
        name, _, setting = value.partition("=")
        assert facts[f"env:{name}"] == (setting if field == "env_on" else None)
    else:
        assert facts[field] == (None if value == "unclear" else value)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "Sequence Length=1024 w\\o activation checkpointing, PyTorch 1.10",
            {"seq_len": "1024", "recompute": "none", "framework": "PyTorch 1.10"},
        ),
        (
            "1.3B model, Sequence Length=1024, \\w Activation Checkpointing, PyTorch 1.7",
            {"size": "1.3B", "seq_len": "1024", "recompute": "full", "framework": "PyTorch 1.7"},
        ),
        (
            "Layers 32, hidden 4096, heads 32, vocabulary 50304",
            {"layers": "32", "hidden": "4096", "heads": "32", "vocab": "50304"},
        ),
        (
            "32 layers, 4096 hidden, 32 heads, sequence length 4096",
            {"layers": "32", "hidden": "4096", "heads": "32", "seq_len": "4096"},
        ),
        ("32 layers 16 heads", {"layers": "32", "heads": "16"}),
        ("skipping layers 3, 4 and 5, in layers 7", {}),
        ("frozen: layers 3, 4 and 5", {}),
        (
            "Megatron + Deepspeed 3D (new branch)",
            {"framework": "Megatron + Deepspeed 3D (new branch)"},
        ),
        ("HF + Deepspeed + Full Offload", {"framework": "HF + Deepspeed"}),
        ("Comparison with Megatron", {}),
        ("bf16", {"dtype": "bf16"}),
        ("Results in BF16 and FP8", {}),
        ("from 1.3B to 13B", {}),
        ("trained on 300B tokens", {}),
        ("Sequence length 2k", {"seq_len": "2048"}),
        ("With activation checkpointing disabled", {"recompute": "none"}),
        ("Not using activation checkpointing", {"recompute": "none"}),
        ("with or without activation checkpointing", {"recompute": None}),
        ("A100 80GB", {"device": "A100-80GB"}),
        ("H100 and A100", {}),
        ("ZeRO stage 3", {"zero_stage": "3"}),
        ("With selective activation recomputation", {"recompute": "selective"}),
    ],
)
def test_headings(text: str, facts: Mapping[str, str | None]) -> None:
    assert values(phrases_in(text, 1, "heading")) == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("NHIDDEN=14336 / NLAYERS=72", {"hidden": "14336", "layers": "72"}),
        ("NHIDDEN=14336 / NLAYERS=6 / GBS=512", {"hidden": "14336", "layers": "6", "gbs": "512"}),
        ("NLAYERS=72", {"layers": "72"}),
        ("all NHEADS=64 (above too)", {"heads": "64"}),
        ("- --num-layers 24 ", {"layers": "24"}),
        ("  --hidden-size 2048 \\", {"hidden": "2048"}),
        ("- 20 nodes, 2 replicas", {"nodes": "20", "dp": "2"}),
        ("- 1 node, 1 replica", {"nodes": "1", "dp": "1"}),
        ("BS=1024, SIZE=104B,", {"gbs": "1024", "size": "104B"}),
        ("Seq length: 4,096", {"seq_len": "4096"}),
        ("PP_SIZE=1 # NLAYERS must be a multiple of PP_SIZE here", {"pp": "1"}),
        ("SEQ_LEN=2048, VOCAB_LENGTH=250k", {"seq_len": "2048", "vocab_label": "250k"}),
        (
            "- GPT-Neo 1.3B (362k steps, Sequence Length=1024, GBS=1024)",
            {"size": "1.3B", "steps": "362000", "seq_len": "1024", "gbs": "1024"},
        ),
        ("- `TP=4`", {"tp": "4"}),
        ("**GBS=2048**", {"gbs": "2048"}),
        ("HIDDEN=12288; NLAYERS=106; regex partition_method='a|b')",
         {"hidden": "12288", "layers": "106"}),
        ("NHIDDEN=13312; NLAYERS=94 Model size: 203B, ratio=141",
         {"hidden": "13312", "layers": "94", "size": "203B"}),
        ("Experiment 1: TP=4, PP=8, gas=256, mbs=2,3,",
         {"tp": "4", "pp": "8", "grad_accum": "256"}),
        ("- Seq length is 1024", {"seq_len": "1024"}),
        ("- `TP=4` in all of entries", {"tp": "4"}),
        ("**Table 5** 3D (FSDP + TP). Llama 3.1 405B model. 512 GPUs (TP 8, PP8). Batch unknown.",
         {"size": "405B", "devices": "512", "tp": "8", "pp": "8"}),
        ("USE_ACTIVATION_CHECKPOINTING: 0", {"recompute": "none"}),
        ("> TP=8, PP=8", {}),
        ("TP=8, PP=10 - 80 gpus for one replica, can fit DP=4 (320/384)", {}),
        ("NLAYERS=4; NHIDDEN=64; python -c 'print(4)'", {}),
        ("We set GBS=2048 and saw no change", {}),
        ("TP=8 is best assumption", {}),
        ("1.3B", {}),
        ("async/yes == `CUDA_LAUNCH_BLOCKING=0`", {}),
        ("", {}),
        ("x" * 500 + "=1", {}),
    ],
)  # fmt: skip
def test_configuration_lines(text: str, facts: Mapping[str, str]) -> None:
    assert values(configuration(text, 1)) == facts


def test_a_size_in_front_binds_the_settings_to_it() -> None:
    facts = configuration("20B model: TP=8, PP=1, NLAYERS=8, NHEADS=32, GBS=2048", 3)
    assert values(facts) == {
        "size": "20B",
        "tp": "8",
        "pp": "1",
        "layers": "8",
        "heads": "32",
        "gbs": "2048",
    }
    assert {fact.only_size for fact in facts if fact.field != "size"} == {20.0}


def test_one_line_formulas() -> None:
    line = "perl -le '$sp=29; $ms=1.3; $gbs=512; $seqlen=2048; print $ms*4*2*$seqlen*$gbs / $sp'"
    assert values(one_liner(line, 1)) == {
        "params_b": "1.3",
        "gbs": "512",
        "seq_len": "2048",
        "recompute": "full",
    }
    assert values(one_liner(line.replace("*4*2*", "*3*2*"), 1))["recompute"] == "none"
    assert one_liner("perl -le 'print 4*2'", 1) == []
    for other in (
        "python -c 'ms=1.3; gbs=512; seqlen=2048; print(2*4*ms*gbs*seqlen/(29*8*1e3))'",
        "model_size = 1.3; global_batch_size = 512; seq_len = 2048; "
        "tflops = model_size * 4 * 2 * seq_len * global_batch_size / (t * n * 1e3)",
        "gbs=512, seqlen=2048, ms=1.3: 8 * ms * seqlen * gbs / t",
    ):
        assert values(one_liner(other, 1)) == values(one_liner(line, 1)), other
    assert one_liner("ms*5*2*seqlen*gbs", 1) == [], "no count of passes that we know"


def test_the_opening_names_the_framework() -> None:
    def of(text: str) -> list[str | None]:
        return [fact.value for fact in framework_of(text, 1)]

    assert of("Automated benchmark results for prime-rl using `--bench` flag.") == ["prime-rl"]
    assert of("These performance benchmarks were done by the `torchtitan` team") == ["torchtitan"]
    assert of("Performance of the cluster") == []
    assert of("We also use Megatron-LM.") == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("all NHEADS=64 (above too)", True),
        ("TP=4 (for the above)", True),
        ("NHEADS=64", False),
        ("above all", False),
    ],
)
def test_what_reaches_back(text: str, answer: bool) -> None:
    assert reaches_back(text) is answer


def test_machines() -> None:
    line = "salloc --constraint=v100-32g --nodes=2 --gres=gpu:4 --time=2:00:00"
    assert is_launch(line)
    assert values(machine_facts(line, 1, "line")) == {
        "device": "V100-32GB",
        "devices_per_node": "4",
    }
    assert values(machine_facts("at most 48 nodes of 8 gpu a100 80gb nodes", 1, "line")) == {
        "device": "A100-80GB",
        "devices_per_node": "8",
    }
    for text in (
        "Each host has 8 NVIDIA H200 GPUs fully connected with NVLink.",
        "Each host has - 8 NVIDIA H200 GPUs",
    ):
        assert values(machine_facts(text, 1, "line")) == {"device": "H200", "devices_per_node": "8"}
    command = "torchrun --nnodes 2 --nproc_per_node 8 train.py"
    assert values(machine_facts(command, 1, "line")) == {"devices_per_node": "8"}
    assert machine_facts("A100 or H100", 1, "line") == []
    assert [fact.value for fact in devices_named("DGX-GB200, DGX-B200, DGX-H100", 1)] == [
        "B200",
        "GB200",
        "H100",
    ]
    assert same_device("A100", "A100-80GB")
    assert not same_device("A100-40GB", "A100-80GB")
    assert not same_device("A10", "A100")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("amp_bf16", "bf16"),
        ("BF16", "bf16"),
        ("FP8-CS (FP8-MX)", "fp8"),
        ("float16", "fp16"),
        ("bfloat16", "bf16"),
        ("BF16 + FP8", None),
        ("mixed", None),
        ("fp32", "fp32"),
        ("MXFP8", "fp8"),
        ("bf160", None),
    ],
)
def test_number_formats(text: str, name: str | None) -> None:
    assert dtype_of(text) == name


@given(st.text(max_size=120))
def test_no_line_raises(text: str) -> None:
    facts = configuration(text, 1)
    assert all(
        fact.line == 1 for fact in [*facts, *phrases_in(text, 1, "line"), *one_liner(text, 1)]
    )
    list(statements_in(text, 1, facts))
    legend_in(text, 1)
    dtype_of(text)


@given(
    st.lists(
        st.sampled_from(
            [
                *TABLE.split("\n"),
                "# A100",
                "## bf16",
                "GBS=512",
                "",
                "NLAYERS=72",
                "(above too)",
                "NHEADS=64 (above too)",
                FORMULA,
                "^ estimated",
                "200B:",
            ]
        ),
        max_size=16,
    )
)
def test_no_document_raises(lines: list[str]) -> None:
    document = read_document("\n".join(lines))
    for found in document.tables:
        assert stated(found.facts, document.everywhere, EVERY, None).keys() <= set(EVERY)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Model: DeepSeekV3", "DeepSeekV3"),
        ("**Model:** GPT OSS 120B", "GPT OSS 120B"),
        ("Model: Qwen3_30B_a3B", "Qwen3_30B_a3B"),
        ("Model name: gpt-neox-20b", "gpt-neox-20b"),
        ("Model: see the table below", None),
        ("Model: the one of 1.3B parameters", "1.3B"),
        ("Models: Llama, Mistral", None),
    ],
)
def test_a_heading_names_its_model(text: str, name: str | None) -> None:
    assert values(phrases_in(text, 1, "heading")).get("size") == name
