"""What a document says of its runs is read wherever it stands, and only what it says of them."""

from __future__ import annotations

import pytest

from bench.ingest.documents.context_lines import line_facts
from bench.ingest.documents.document import read_document
from bench.ingest.documents.nearby_facts import TableContext
from bench.ingest.documents.setting_phrases import named_numbers, noun_samples

TABLE = "| Run | TFLOPs | tokens/s/GPU |\n|---|---|---|\n| a | 400 | 9000 |\n| b | 410 | 9100 |\n"
TITLE = "# Training throughput\n\n"
PLACES = {
    "title": "# Training throughput, {}\n\n## Results\n\n" + TABLE,
    "heading": TITLE + "## Throughput ({})\n\n" + TABLE,
    "opening": TITLE + "We report pretraining runs with {} here.\n\n## Results\n\n" + TABLE,
    "list of the opening": TITLE + "What ran:\n\n- {}\n- dataset: c4\n\n## Results\n\n" + TABLE,
    "section before": TITLE + "## Contract\n\n- {}\n- dataset: c4\n\n## Results\n\n" + TABLE,
    "line above": TITLE + "## Results\n\nOur runs with {} after warm-up.\n\n" + TABLE,
    "list above": TITLE + "## Results\n\n- {}\n- dataset: c4\n\n" + TABLE,
    "bold line above": TITLE + "## Results\n\n**{}**\n\n" + TABLE,
    "caption below": TITLE + "## Results\n\n" + TABLE + "\n*Table 1: Training with {}.*\n",
    "sentence below": TITLE + "## Results\n\n" + TABLE + "\nAll numbers were measured with {}.\n",
    "list below": TITLE + "## Results\n\n" + TABLE + "\nSettings:\n\n- {}\n- dataset: c4\n",
}
SAYINGS = [
    ("sequence length 4096", "seq_len", "4096"),
    ("4,096-token context", "seq_len", "4096"),
    ("global batch size of 512", "gbs", "512"),
    ("a batch size of 2 per GPU", "mbs", "2"),
    ("8 gradient accumulation steps", "grad_accum", "8"),
    ("8xH100 80GB", "devices", "8"),
    ("8 nodes × 8 H100", "devices", "64"),
    ("8-way tensor parallelism", "tp", "8"),
    ("TP4/PP2", "pp", "2"),
    ("BF16 precision", "dtype", "bf16"),
    ("mesh (dp_shard=4, tp=2)", "dp_shard", "4"),
    ("a complete 32-layer Llama", "layers", "32"),
]


def around(text: str, size: float | None = None) -> dict[str, str | None]:
    """What holds for a row of the first table of a document, by field."""
    document = read_document(text)
    [found, *_] = [one for one in document.tables if one.number is not None]
    own = {} if size is None else {"size": size}
    context = TableContext(found, document.everywhere, frozenset(own), [own])
    return {name: fact.value for name, fact in context._facts(own).items()}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("words", "field", "value"), SAYINGS)
def test_a_setting_is_read_wherever_it_stands(
    place: str, words: str, field: str, value: str
) -> None:
    assert around(PLACES[place].format(words)).get(field) == value


@pytest.mark.parametrize(("field", "text", "value"), noun_samples())
def test_samples_of_names(field: str, text: str, value: str) -> None:
    assert (field, value) in {(name, number) for name, _, number in named_numbers(text)}


@pytest.mark.parametrize(
    "words",
    [
        "sequence lengths of 2048, 4096 and 8192",
        "TP 4/8",
        "up to 64 GPUs, gradient accumulation of up to 8",
        "context length 100k",
        "micro-batch size 2 to 8",
    ],
)
def test_several_values_and_limits_are_none(words: str) -> None:
    for form in PLACES.values():
        read = around(form.format(words))
        assert not {"seq_len", "tp", "devices", "grad_accum", "mbs"} & {
            name for name, value in read.items() if value is not None
        }


@pytest.mark.parametrize(
    "sentence",
    [
        "You can increase the global batch size of 512 if memory allows.",
        "Unlike the original paper, which used 64 GPUs, we were short of them.",
        "We plan to run with a sequence length of 8192 next.",
        "By default the scripts use a micro batch size of 4.",
        "All baselines (micro batch size 4) run out of memory above 14B.",
    ],
)
def test_what_is_no_run_lends_nothing(sentence: str) -> None:
    read = around(TITLE + sentence + "\n\n## Results\n\n" + TABLE)
    assert not {"gbs", "devices", "seq_len", "mbs"} & read.keys()


def test_sections_that_contradict_each_other_lend_nothing() -> None:
    one, other = "## Contract\n\n- GBS: 512\n\n", "## Terms\n\n- GBS: 256\n\n"
    assert around(TITLE + one + "## Results\n\n" + TABLE)["gbs"] == "512"
    assert "gbs" not in around(TITLE + one + other + "## Results\n\n" + TABLE)


@pytest.mark.parametrize("heading", ["Experiment 3", "Installation", "Train the 70B recipe"])
def test_a_section_of_one_run_or_of_none_lends_nothing(heading: str) -> None:
    text = f"{TITLE}## {heading}\n\n- Micro-batch size: 4\n\n## Results\n\n{TABLE}"
    assert "mbs" not in around(text)


def test_a_list_is_of_the_model_that_announces_it() -> None:
    listed = "Llama-3-8B architecture:\n- 32 layers\n- Hidden size: 4096\n- Attention heads: 32\n\n"
    text = f"{TITLE}## Results\n\n{listed}The runs:\n\n{TABLE}"
    small, large = around(text, 8.0), around(text, 70.0)
    assert (small["layers"], small["hidden"], small["heads"]) == ("32", "4096", "32")
    assert not {"layers", "hidden", "heads"} & large.keys()


def test_a_format_from_afar_is_of_the_rows_that_name_none() -> None:
    opening = TITLE + "We trained all models in BF16.\n\n## Results\n\n"
    assert around(opening + TABLE)["dtype"] == "bf16"
    assert around(opening + TABLE.replace("| a ", "| a, Float8 "))["dtype"] == "bf16"
    # What rows add, the others are without: one of them names all that is known.
    assert "dtype" not in around(opening + TABLE.replace("| a ", "| + BF16 "))


def test_a_trainer_counts_more_than_what_it_is_built_on() -> None:
    text = (
        "# MaxText training study\n\n## Software\n\n* MaxText 0.2.1\n* JAX 0.8.1\n\n## Results\n\n"
    )
    assert around(text + TABLE)["framework"] == "MaxText 0.2.1"


def test_a_caption_says_less_than_the_line_above() -> None:
    above = TITLE + "## Results\n\nOur runs with a sequence length of 2048.\n\n"
    below = "\n*Table 1: a sequence length of 4096, global batch size 64.*\n"
    read = around(above + TABLE + below)
    assert (read["seq_len"], read["gbs"]) == ("2048", "64")


def test_a_reservation_takes_nothing_back() -> None:
    opening = "All numbers, unless {}: 24 layers, bf16 compute / fp32 master.\n\n"
    text = f"{TITLE}{opening}## Results\n\n{TABLE}"
    read = around(text.format("otherwise stated"))
    assert (read["layers"], read["dtype"]) == ("24", "bf16")
    assert "layers" not in around(text.format("we choose another model"))


@pytest.mark.parametrize(
    ("lead", "kind"),
    [
        ("bf16, seq 512, gradient checkpointing (else it cannot fit), Adafactor:", "full"),
        ("bf16, seq 512, no activation checkpointing:", "none"),
        ("bf16, seq 512; gradient checkpointing would help:", None),
        ("We discuss sharding, gradient checkpointing, and tuning.", None),
    ],
)
def test_a_list_of_settings_above_names_a_technique(lead: str, kind: str | None) -> None:
    assert around(f"{TITLE}{lead}\n\n{TABLE}").get("recompute") == kind


def test_one_count_of_several_is_none() -> None:
    assert "nodes" not in around(f"{TITLE}Throughput on 5 and 40 nodes.\n\n{TABLE}")
    assert around(f"{TITLE}Throughput on 40 nodes.\n\n{TABLE}")["nodes"] == "40"


@pytest.mark.parametrize(
    ("command", "stated"),
    [
        (
            "torchrun --nproc_per_node 8 train.py --micro-batch-size 4 --seq-length 4096 --bf16",
            {"devices": "8", "mbs": "4", "seq_len": "4096", "dtype": "bf16"},
        ),
        (
            "torchrun --nnodes=2 --nproc_per_node=8 train.py --tensor-model-parallel-size 2",
            {"devices": "16", "nodes": "2", "tp": "2"},
        ),
        ("torchrun --nnodes $N --nproc_per_node=8 train.py --micro-batch-size 2", {"mbs": "2"}),
        ("torchrun --nproc_per_node=8 train.py", {"devices": "8"}),
        ("python train.py --attention-softmax-in-fp32 --main-grads-dtype fp32 --no-bf16", {}),
        ("python -c 'print(1)' --micro-batch-size 4 --seq-length 4096", {}),
    ],
)
def test_a_command_sets_what_its_arguments_say(command: str, stated: dict[str, str]) -> None:
    found = {fact.field: fact.value for fact in line_facts(command, 1).section}
    found.pop("devices_per_node", None)
    assert found == stated


def test_three_settings_make_a_line_one_of_settings_among_any_words() -> None:
    line = (
        "- Workload: GPT, 40 layers, hidden 6144, 48 heads (GQA), seq 4096, SwiGLU, RoPE, untied."
    )
    found = {fact.field: fact.value for fact in line_facts(line, 1).section}
    assert found == {"layers": "40", "hidden": "6144", "heads": "48", "seq_len": "4096"}
    assert line_facts("- Training options: TP=8, PP=2, MBS=1", 1).section
    assert not line_facts("- Strategies: single GPU, DP2, TP2, PP2, EP2", 1).section
    assert not line_facts("- Adam, seq 4096, SwiGLU, RoPE, untied, cosine", 1).section


def test_a_processor_s_heading_is_the_device_of_its_table_alone() -> None:
    text = f"{TITLE}## CPU\n\n{TABLE}\n## GPU (A100)\n\n"
    assert around(text)["device"] == "CPU"
    hardware = f"{TITLE}## Hardware\n\n### GPU\n\n8x A100\n\n### CPU\n\nEPYC\n\n## Results\n\n"
    assert around(hardware + TABLE)["device"] == "A100"


def test_a_layer_s_part_is_no_model() -> None:
    assert not list(named_numbers("a 2-layer MLP head"))
    assert not list(named_numbers("softmax(dim=128), head dim=128, and 4-layer groups"))
