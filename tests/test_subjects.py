"""Statements of some rows alone: what names its rows holds for these, and for no others."""

from pathlib import Path

import pytest

from bench.ingest.documents.clauses import facts_by_subject
from bench.ingest.documents.model_families import model_in
from bench.ingest.documents.subjects import subject_named
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory

HEAD = "| Model | Method | GPUs | MBS | Tokens/s/GPU |\n|---|---|---|---|---|\n"
METHODS = f"\n\n{HEAD}| 8B | Full | 8 | 1 | 3000 |\n| 8B | LoRA | 8 | 1 | 9000 |\n"
DEVICES = METHODS.replace("Method", "Device").replace("Full", "A100").replace("LoRA", "H100 SXM")


def read(tmp_path: Path, text: str, columns: str) -> list[tuple[object, ...]]:
    (tmp_path / "x.md").write_text(f"# Training\n\n{text}")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "x.md"], tmp_path)
        query = f"SELECT {columns} FROM configurations ORDER BY line"
        return list(warehouse.rows(query))


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("- Full fine-tuning: gradient accumulation 8\n- LoRA: gradient accumulation 2", (8, 2)),
        ("- **Full** (`Trainer`): TP 2 ⇒ GAS=8, compiled\n- **LoRA**: GAS=2", (8, 2)),
        ("Gradient accumulation is 8 for full fine-tuning and 2 for LoRA.", (8, 2)),
        ("Gradient accumulation steps: 8 (full), 2 (LoRA).", (8, 2)),
        ("Gradient accumulation is 8 for full fine-tuning and 2 for DPO.", (8, None)),
        ("Gradient accumulation is 4 for SFT and 2 for DPO.", (None, None)),
        ("- Setup: gradient accumulation 4", (4, 4)),
    ],
)
def test_of_the_rows_that_it_names(
    tmp_path: Path, text: str, each: tuple[int | None, int | None]
) -> None:
    assert read(tmp_path, text + METHODS, "grad_accum") == [(value,) for value in each]


@pytest.mark.parametrize(
    ("text", "names", "each"),
    [
        ("- Eager: MBS=1\n- Graph: MBS=4", ("Eager, no graph mode", "Graph mode"), (1, 4)),
        ("- Eager: MBS=1\n- Compiled: MBS=4", ("Not the compiled model", "Eager"), (None, 1)),
        ("- LoRA: MBS=1\n- Non-LoRA: MBS=4", ("Non-LoRA", "LoRA"), (4, 1)),
        ("- Llama 2: MBS=1\n- Llama 3: MBS=4", ("Llama", "Llama 3"), (None, 4)),
        ("- Llama 2: MBS=4\n- Llama 3: MBS=4", ("Llama", "Other"), (4, None)),
        ("- Eager: MBS=1\n- LoRA: MBS=4", ("LoRA, eager", "LoRA"), (None, 4)),
        ("- Llama: MBS=1\n- Llama 3: MBS=4", ("Llama", "Llama 3"), (1, 4)),
    ],
)
def test_what_a_row_denies_or_leaves_open(
    tmp_path: Path, text: str, names: tuple[str, str], each: tuple[int | None, int | None]
) -> None:
    rows = "".join(f"| {name} | 8 | 3000 |\n" for name in names)
    table = f"\n\n| Setup | GPUs | Tokens/s/GPU |\n|---|---|---|\n{rows}"
    assert read(tmp_path, text + table, "mbs") == [(value,) for value in each]


def test_a_label_far_away_names_no_rows(tmp_path: Path) -> None:
    text = (
        METHODS.strip() + "\n\n## Notes\n\nConstraint: at most 48 nodes of 8 gpu a100 80gb nodes.\n"
    )
    assert read(tmp_path, text, "devices_per_node") == [(8,), (8,)]


def test_of_what_is_said_in_several_ways_no_label_is_of_all(tmp_path: Path) -> None:
    text = "Most runs are in fp8.\n\nOthers ran in fp16.\n\n- Padding: 8 for bf16\n\n## Results"
    assert read(tmp_path, text + METHODS, "dtype") == [(None,), (None,)]


@pytest.mark.parametrize(
    "text",
    [
        "We use bf16 on A100 and fp8 on H100.",
        "We use bf16 on an A100 and fp8 on an H100.",
        "H100 uses FP8; A100 uses BF16.",
        "An H100 uses FP8; an A100 uses BF16.",
    ],
)
def test_a_number_format_per_device(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text + DEVICES, "dtype") == [("bf16",), ("fp8",)]


def test_settings_beside_one_another_are_not_of_subjects() -> None:
    assert not facts_by_subject("TP=4, PP=2 on 64 GPUs, MBS 2 with ZeRO-3", 1)


@pytest.mark.parametrize(
    "text", ["Sequence length: 2048", "Model: Llama 3 8B", "8B: TP=1", "Hello"]
)
def test_settings_and_sizes_are_no_subjects(text: str) -> None:
    assert subject_named(text) is None


def test_machines_of_a_known_number_of_devices(tmp_path: Path) -> None:
    rows = "\n\n| Model | MBS | Tokens/s/GPU |\n|---|---|---|\n| 8B | 1 | 3000 |\n"
    counts = "nodes, devices, world_size"
    assert read(tmp_path, f"Trained on 48 x DGX A100.{rows}", counts) == [(48, 384, 384)]
    # A board of HGX has four or eight.
    assert read(tmp_path, f"Trained on 4x HGX H100.{rows}", counts) == [(4, None, None)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("GPT-2 Training Benchmarks", "GPT-2"), ("Throughput of Llama 3", "Llama 3"),
        ("Our model against GPT-2", None), ("A corpus like that of Llama 3", None),
        ("With the GPT-2 tokenizer", None), ("Llama 3 against Qwen2", None),
        ("Megatron GPT", None), ("see gpt2.py", None),
    ],
)  # fmt: skip
def test_a_model_that_a_heading_names_without_a_size(text: str, name: str | None) -> None:
    assert model_in(text, is_heading=True) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Tested on a V100 using `bert-large-uncased`", "bert-large-uncased"),
        ("We fine-tune the Llama 3 on 8 A100.", "Llama 3"), ("- Model: Llama 3", "Llama 3"),
        ("We train on instructions written by GPT-4.", None),
        ("We use the corpus of Llama 3.", None), ("It reaches GPT-2 capability.", None),
        ("GPT-4 uses other patterns.", None), ("Trained with data from Llama 3.", None),
    ],
)  # fmt: skip
def test_a_model_that_prose_says_is_trained(text: str, name: str | None) -> None:
    assert model_in(text, is_heading=False) == name
