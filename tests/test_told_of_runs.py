"""What documents say of their runs in ways of their own: read where it is plain, else left empty."""

from __future__ import annotations

import pytest

from bench.ingest.tables import read_markdown
from bench.schema.rows import Row

_FIELDS = ("model", "device", "devices", "nodes", "mbs", "gbs", "dtype", "recompute", "seq_len",
           "grad_accum", "tp", "pp", "dp")  # fmt: skip


def runs(text: str) -> list[dict[str, object]]:
    """The runs of a document with what is known of each, and its measurements by metric."""
    rows, _ = read_markdown(text, "s")
    by_table = rows.by_table
    found = []
    sizes: dict[object, Row] = {row["run_id"]: row for row in by_table.get("topology", ())}
    for run in by_table.get("runs", ()):
        both = {**run, **sizes.get(run["run_id"], {})}
        one = {name: both[name] for name in _FIELDS if both.get(name) is not None}
        measured = [m for m in by_table.get("measurements", ()) if m["run_id"] == run["run_id"]]
        one |= {str(m["metric"]): m["value"] for m in measured}
        if run["status"] != "ok":
            one["status"] = run["status"]
        found.append(one)
    return found


BATCHES = """# Training speed

{above}

| GPU | BS | Throughput (samples/s) |
|--|--|--|
| A100 | 32 | 981.6 |
| H100 | 64 | 1835.8 |

</center>

{below}
"""


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("*BS* is the batch size per device.", "mbs"),
        ("`BS` = per-GPU batch size", "mbs"),
        ("(BS: batch size on each card)", "mbs"),
        ("BS denotes the micro batch size.", "mbs"),
        ("Batch sizes are per accelerator.", "mbs"),
        ("BS 指单卡批大小。", "mbs"),
        ("BS is the global batch size.", "gbs"),
        ("**BS** stands for the total batch size of a step.", "gbs"),
        ("We chose BS so that memory is full.", "gbs"),
        ("BS is the batch size per device and the global one where DP is 1.", "gbs"),
    ],
)
def test_a_line_says_what_a_batch_is_of(text: str, field: str) -> None:
    found = runs(BATCHES.format(above="", below=text))
    assert [one.get(field) for one in found] == [32, 64], found


@pytest.mark.parametrize(
    ("above", "dtype"),
    [("All runs were performed in fp32.", "fp32"), ("Sums are kept in fp32.", None)],
)
def test_a_run_in_fp32(above: str, dtype: str | None) -> None:
    found = runs(BATCHES.format(above="", below=above))
    assert {one.get("dtype") for one in found} == {dtype}


COLUMNS = """---
title: "Faster training with Gaudi2"
date: 2022-12-14
---

# Faster training

We show BERT pre-training and T5-3B fine-tuning. {opening}

## {heading}

<center>

|   | {headings} |
|:-:|:-:|:-:|
| Throughput (samples/s) | 19.7 | 8.07 |
| Speedup | x2.44 | x1.0 |

</center>
"""


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        ("Gaudi2 (BS=1) | A100 (BS=16)", [("Gaudi2", 1), ("A100", 16)]),
        ("Gaudi2 | A100 (BS=16)", [("Gaudi2", None), ("A100", 16)]),
        ("BS=1, Gaudi2 | A100", [("Gaudi2", 1), ("A100", None)]),
        ("H100 80GB (BS 8) | A100 (BS 16)", [("H100 80GB", 8), ("A100", 16)]),
    ],
)
def test_columns_of_runs_that_say_more_or_less(
    headings: str, expected: list[tuple[str, int | None]]
) -> None:
    found = runs(COLUMNS.format(opening="", heading="Fine-tuning", headings=headings))
    assert [(one.get("device"), one.get("gbs")) for one in found] == expected


@pytest.mark.parametrize(
    ("opening", "heading", "size"),
    [
        ("", "Pre-training BERT", None),
        ("We trained T5-3B first.", "Pre-training BERT", None),
        ("We trained T5-3B first.", "Pre-training a GPT-2", None),
        ("", "Fine-tuning T5-3B", 3.0),
    ],
)
def test_a_size_is_of_its_model_alone(opening: str, heading: str, size: float | None) -> None:
    text = COLUMNS.format(opening=opening, heading=heading, headings="Gaudi2 (BS=1) | A100 (BS=16)")
    rows, document = read_markdown(text, "s")
    models = [str(run["model"] or "") for run in rows.by_table["runs"]]
    assert [("3B" in one) for one in models] == [bool(size)] * 2, models
