"""Tables that their authors take back, and rates whose scope is worked out or left open."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.ingest.documents.device_counts import counted
from bench.ingest.documents.prose import lead_facts, model_named, unambiguous
from bench.ingest.documents.tables import read_markdown
from bench.ingest.documents.withdrawal import is_struck, withdraws
from tests.program import quick

_TABLE = """\
| Nodes | DP | TP | PP | MBS | GBS | Sec/it |
|---|---|---|---|---|---|---|
| 4 | 2 | 2 | 1 | 1 | 512 | 12 |
"""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The TFLOPs numbers below are incorrect.", True),
        ("Note: this table is invalid, the timer was off.", True),
        ("Do not use these numbers.", True),
        ("Results are wrong, see the next section", True),
        ("此表数据有误，请勿引用", True),
        ("If a node is slow these numbers are wrong.", False),
        ("Do not use the above command", False),
        ("The answer is wrong.", False),
        ("The numbers are means of 50 steps.", False),
    ],
)
def test_words_that_take_a_table_back(text: str, answer: bool) -> None:
    assert withdraws(text) is answer


def test_a_struck_heading_takes_back_what_is_below_it() -> None:
    assert is_struck("~~1.3B, first try~~")
    assert not is_struck("1.3B ~ first try")


def flags(document: str) -> list[object]:
    return [run["flags"] for run in read_markdown(document, "page")[0].by_table["runs"]]


@pytest.mark.parametrize(
    ("document", "withdrawn"),
    [
        (f"# A\n\nThese numbers are invalid.\n\n{_TABLE}\n## B\n\n{_TABLE}", [True, False]),
        (f"# A\n\n{_TABLE}\nThe table above is wrong.\n\n{_TABLE}", [True, False]),
        (f"# A\n\n## ~~B~~\n\n### C\n\n{_TABLE}\n## D\n\n{_TABLE}", [True, False]),
    ],
)
def test_only_the_table_that_is_meant_is_withdrawn(document: str, withdrawn: list[bool]) -> None:
    assert ["withdrawn" in str(one) for one in flags(document)] == withdrawn


def test_a_withdrawn_row_leads_no_page(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(f"# 1.3B, sequence length 2048\n\nThese numbers are invalid.\n\n{_TABLE}")
    printed = quick(tmp_path, "report", str(page)).out
    assert "Fastest" not in printed
    assert "its author takes it back, line 3: These numbers are invalid." in printed


def test_what_is_assumed_of_nodes_does_not_lead(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    rows = "| Nodes | MBS | GBS | Sec/it |\n|---|---|---|---|\n| 4 | 1 | 512 | 12 |\n"
    page.write_text(f"# 1.3B, sequence length 2048\n\n{rows}")
    line = next(
        one for one in quick(tmp_path, "report", str(page)).out.splitlines() if "Fastest" in one
    )
    assert "on 4 nodes" in line and "devices" not in line.replace("device not stated", "")


def rates(rows: str, heading: str = "Tokens/s") -> list[tuple[str, object]]:
    table = f"| Model | GPUs | GBS | Seq len | Sec/it | TFLOPs | {heading} |\n|{'---|' * 7}\n{rows}"
    found = read_markdown(f"# Training\n\n{table}", "page")[0].by_table["measurements"]
    return [(str(one["metric"]), one["scope"]) for one in found if "tokens" in str(one["metric"])]


@pytest.mark.parametrize(
    ("rows", "heading", "found"),
    [
        ("| 8B | 8 | | 8192 | | 205.1 | 2771 |", "Tokens/s", ("tokens_per_s_per_device", "device")),
        ("| 8B | 8 | | 8192 | | 205.1 | 22168 |", "Tokens/s", ("tokens_per_s", "job")),
        ("| 8B | 8 | 256 | 2048 | 20 | | 26214 |", "Tokens/s", ("tokens_per_s", "job")),
        ("| 8B | 8 | 256 | 2048 | 20 | | 3277 |", "tok/s", ("tokens_per_s_per_device", "device")),
        ("| 8B | 8 | | 2048 | | | 3277 |", "Tokens/s", ("tokens_per_s", None)),
        ("| 8B | 8 | | 2048 | | | 3277 |", "Total tokens/s", ("tokens_per_s", "job")),
        ("| 8B | 1 | | 2048 | | | 3277 |", "Tokens/s", ("tokens_per_s", "job")),
    ],
)
def test_arithmetic_decides_whose_a_rate_is(
    rows: str, heading: str, found: tuple[str, object]
) -> None:
    assert rates(rows, heading) == [found]


def test_no_device_does_more_than_it_can() -> None:
    table = "| Model | GPUs | Tokens/s |\n|---|---|---|\n| 70B | 64 | 109248 |\n"
    found = read_markdown(f"# Training on H100 80GB\n\n{table}", "page")[0].by_table
    assert [(one["metric"], one["scope"]) for one in found["measurements"]] == [
        ("tokens_per_s", "job")
    ]


def test_rows_that_disagree_leave_it_open() -> None:
    rows = "| 8B | 8 | | 8192 | | 205.1 | 2771 |\n| 8B | 8 | | 8192 | | 205.1 | 22168 |"
    assert rates(rows) == [("tokens_per_s", None)] * 2


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("on 8x H100 80 GB", ["8"]),
        ("256 GPUs (FSDP 32, TP 8)", ["256"]),
        ("3 NVIDIA A100 GPUs", ["3"]),
        ("8 卡 DDP", ["8"]),
        ("from 8 GPUs to 1024 GPUs", []),
        ("up to 1024 GPUs", []),
        ("8 GPUs per node", []),
        ("501 TFLOPS per GPU", []),
        ("4 A100 nodes", []),
    ],
)
def test_counts_of_devices_in_words(text: str, counts: list[str]) -> None:
    found = [fact.value for fact in counted(text, 1) if fact.field == "devices"]
    assert found == counts


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("Model: DeepSeekV3", "DeepSeekV3"),
        ("Qwen3-0.6B", "Qwen3-0.6B"),
        ("INTELLECT-3", "INTELLECT-3"),
        ("A100-80GB", None),
        ("ZeRO-1", None),
        ("Phase-1", None),
        ("Results", None),
        ("BF16", None),
    ],
)
def test_a_heading_that_names_a_model(heading: str, name: str | None) -> None:
    assert [fact.value for fact in model_named(heading, 1)] == ([name] if name else [])


def test_prose_lends_what_it_says_in_one_way() -> None:
    said: Mapping[str, str | None] = {
        fact.field: fact.value
        for fact in unambiguous(
            lead_facts("Tested on GB300, 8B model, batch_size=2, seq_len=512; TP=2 or TP=4.", 1)
        )
    }
    assert {name: said.get(name) for name in ("size", "seq_len", "tp")} == {
        "size": "8B",
        "seq_len": "512",
        "tp": None,
    }


@pytest.mark.parametrize(
    ("heading", "cell"),
    [("TFLOPs", "**+2.80**"), ("MFU", "+0.18%"), ("Tokens/s/GPU", "+300")],
)
def test_a_gain_is_no_rate(heading: str, cell: str) -> None:
    table = f"| GPUs | TP | {heading} |\n|---|---|---|\n| 8 | 2 | {cell} |\n"
    assert read_markdown(f"# Training\n\n{table}", "page")[0].by_table["measurements"] == []


def test_words_of_a_row_say_more_than_the_text_around() -> None:
    table = (
        "| Model | Cluster | Tokens/s/GPU | MFU |\n|---|---|---|---|\n"
        "| Llama 7B BF16 | 64× A100 | 3000 | 35% |\n| Llama 70B FP8 | 5 nodes | 900 | 45% |\n"
    )
    found = read_markdown(f"# Training on H100\n\n{table}", "page")[0].by_table
    assert [(run["device"], run["dtype"]) for run in found["runs"]] == [
        ("A100", "bf16"),
        ("H100", "fp8"),
    ]
    assert [(one["devices"], one["nodes"]) for one in found["topology"]] == [(64, None), (None, 5)]


def test_statistics_of_one_run_are_no_runs() -> None:
    table = "| Statistic | TFLOPs/GPU |\n|---|---|\n| Min | 188 |\n| Max | 192 |\n"
    assert read_markdown(f"# Training\n\n{table}", "page")[0].by_table["runs"] == []
