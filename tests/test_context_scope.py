"""What is of other runs lends nothing to a table: its own columns, and sentences of others."""

from pathlib import Path

import pytest

from bench.ingest.documents.device_counts import counted
from bench.ingest.documents.document import read_document
from bench.ingest.documents.other_subjects import without_others
from bench.ingest.documents.prose import lead_facts
from bench.ingest.documents.unread_columns import fields_of_unread
from bench.ingest.files.pipeline import ingest_into
from bench.schema.opening import in_memory
from bench.vocabulary.headings import columns_of


@pytest.mark.parametrize(
    ("heading", "cell", "field"),
    [
        ("TP/PP", "8/4", "tp"), ("DP / TP", "8 / 4", "dp"), ("MBS / GBS", "2/512", "gbs"),
        ("Batch shape", "64x2", "mbs"), ("S", "2048", "seq_len"),
        ("nodes x tasks", "4x8", "nodes"), ("GPU Number / ZeRO", "8 / ZeRO-3", "devices"),
        ("Network", "18B", "size"), ("Arch", "GPT-18B", "layers"), ("Ctx, micro", "2048, 2", "mbs"),
    ],
)  # fmt: skip
def test_a_column_that_is_not_read_speaks_of_its_fields(
    heading: str, cell: str, field: str
) -> None:
    assert field in fields_of_unread([heading], columns_of([heading]), [[cell]])


@pytest.mark.parametrize(
    ("heading", "cell"),
    [
        ("GPU hours", "64"), ("Batch time change", "64"), ("Notes", "see node logs"),
        ("Batch tokens", "4B"), ("TP speedup", "1.5"), ("Parallelism", "FSDP 8, CP 1"),
    ],
)  # fmt: skip
def test_a_column_of_something_else_speaks_of_none(heading: str, cell: str) -> None:
    said = fields_of_unread([heading], columns_of([heading]), [[cell]])
    assert not said & {"devices", "nodes", "tp", "size", "seq_len"}


OTHERS = [
    "For comparison, the paper trained with TP=8, PP=35 and a batch of 1920.",
    "Others report 80 layers, hidden 8192, TP=8, PP=4, MBS 2, SwiGLU.",
    "Next we plan to try MBS=64 and sequence length 32768.",
    "For example, one could use TP=16.",
    "Default: micro_batch_size 3 (see docs).",
    "According to the authors GBS=7 is best.",
    "We recommend a micro-batch size of 4.",
    "You can use ZeRO stage 2 as well.",
    "Hypothetically, TP=4 would do.",
    "Thanks to Bob, who says GBS=7 is best.",
    "In comparison NeMo takes TP=2.",
]


@pytest.mark.parametrize("text", OTHERS)
def test_a_sentence_of_others(text: str) -> None:
    assert without_others(f"We use TP=4. {text} MBS=2 it was.") == (
        "We use TP=4. MBS=2 it was.",
        False,
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Thanks to FlashAttention, all rows use sequence length 4096 and MBS 2.", None),
        ("All runs use TP 8 according to our launch script.", None),
        ("You can reproduce our numbers with TP=8.", None),
        ("We use MBS 2, and plan to try 4.", "We use MBS 2"),
        ("The paper has MBS 2, and we plan to try 4.", ""),
        ("Next we will try MBS 2, and plan to use 4.", ""),
    ],
)
def test_a_sentence_of_our_own(text: str, kept: str | None) -> None:
    assert without_others(text)[0] == (text if kept is None else kept)


@pytest.mark.parametrize("text", OTHERS)
def test_it_lends_nothing_to_the_table_below(text: str) -> None:
    document = read_document(
        f"# Runs\n\n{text}\n\n| GPUs | TFLOPs |\n|--|--|\n| 8 | 100 |\n\n{text}\n"
    )
    [table] = document.tables
    taken = {fact.field for fact in (*table.facts, *document.everywhere)}
    assert not taken & {"tp", "pp", "mbs", "gbs", "seq_len", "zero_stage"}


def test_a_sentence_of_others_goes_on_over_lines() -> None:
    first, goes_on = without_others("We use TP=4. For comparison, the paper had")
    assert (first, goes_on) == ("We use TP=4.", True)
    assert without_others("PP=35 and MBS=1. GBS=512 is ours.", goes_on) == (
        "GBS=512 is ours.",
        False,
    )


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Context 8192 tokens", "seq_len", "8192"), ("序列长度 4096", "seq_len", "4096"),
        ("上下文长度是 8192", "seq_len", "8192"), ("seq. length: 2,048", "seq_len", "2048"),
        ("cutoff_len: 2048", "seq_len", "2048"), ("微批大小为 2", "mbs", "2"),
        ("张量并行度为8，流水线并行度为4", "pp", "4"), ("全局批大小为 256 到 512", "gbs", None),
        ("max length 2048 or 4096", "seq_len", None), ("micro batch size 8 : 16", "mbs", None),
        ("batch of 4M tokens", "size", None), ("global batch size 4M", "size", None),
    ],
)  # fmt: skip
def test_settings_in_sentences(text: str, field: str, value: str | None) -> None:
    assert {fact.field: fact.value for fact in lead_facts(text, 1)}.get(field) == value


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("48 x DGX A100", {"devices_per_node": "8", "devices": "384"}),
        ("48x DGX-H100", {"devices_per_node": "8", "devices": "384"}),
        ("48 HGX H100", {}),  # a board has four or eight
    ],
)
def test_machines_are_counted_as_such(text: str, devices: dict[str, str]) -> None:
    found = {fact.field: fact.value for fact in counted(text, 1)}
    assert found == {"nodes": "48", **devices}


@pytest.mark.parametrize(
    ("device", "processes"), [("4 x DGX A100", 32), ("4 x HGX H100", None), ("A100", 4)]
)
def test_a_machine_of_several_devices_runs_no_single_process(
    tmp_path: Path, device: str, processes: int | None
) -> None:
    text = (
        f"# Training\n\nOn 4 nodes.\n\n| GPU | GBS | Sec/it |\n|--|--|--|\n| {device} | 8 | 1.5 |\n"
    )
    (tmp_path / "a.md").write_text(text)
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "a.md"], tmp_path)
        found = warehouse.rows("SELECT nodes, world_size FROM configurations")
    assert found == [(4, processes)]


@pytest.mark.parametrize("text", ["64 DGX H100 GPUs", "64 HGX H100 devices", "64x DGX A100 GPU"])
def test_devices_of_machines_are_counted_as_devices(text: str) -> None:
    assert {fact.field: fact.value for fact in counted(text, 1)} == {"devices": "64"}


@pytest.mark.parametrize(
    ("opening", "heading", "device", "devices"),
    [
        ("* Training llama-3b on 4x RTX 3090: ~6300 tokens per second.", "Llama-70B", None, None),
        ("Training Llama 3B ran at 45% MFU on 4x A100.", "Llama-70B", None, None),
        ("* Training llama-3b on 4x RTX 3090: ~6300 tokens per second.", "Llama-3B", "RTX 3090", 4),
        ("All runs use 4x A100.", "Llama-70B", "A100", 4),
    ],
)
def test_a_result_of_one_model_lends_nothing_to_another(
    opening: str, heading: str, device: str | None, devices: int | None, tmp_path: Path
) -> None:
    """The size of the rows stands in the heading alone."""
    table = (
        "| Micro Batch Size | Sequence Length | Step time (s) |\n|--|--|--|\n| 4 | 4096 | 2.5 |\n"
    )
    (tmp_path / "x.md").write_text(f"# Benchmark\n\n{opening}\n\n## Tuning {heading}\n\n{table}")
    with in_memory() as warehouse:
        ingest_into(warehouse, [tmp_path / "x.md"], tmp_path)
        found = warehouse.rows("SELECT device, devices FROM runs JOIN topology USING (run_id)")
    assert found == [(device, devices)]
