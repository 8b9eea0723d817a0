"""Tables of other laboratories: their headings, units and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import check, read

# Fugaku-LLM/DeepSpeedFugaku experiments/124m_13b_benchmarking, 30B
FUGAKU = """\
## Overview
### Model hyperparameters
- --num-layers 48
- --hidden-size 7168
- --num-attention-heads 56

## Experiments

### Sequence Length=2048
| Nodes | Freq | Size | DP | MP | PP | MBS | GBS | AC | Mem | Sec/it | TFLOPs \
| Est. Aggr. PetaFLOPs| Notes |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| 48 | 2.0GHz | 30B | 1 | 1 | 48 | 1 | 1536 | Yes | 29138.6 MiB (OOM after first epoch) \
| 17212.8 | 0.95 | 0.04 | 4/22 |
| 192 | 2.2Hz | 30B | 1 | 4 | 48 | 1 | 1536 | No | -MiB \
| 3534.8833(1itrのみ実行) | 1.10? | 0.2 | 4/23 |
| 8192 (\\w llio) | 2.0GHz | 30B | 1 | 8 | 48 | 1 | 1536 | No | -MiB | - | - | - | always hangs |
"""


def test_fugaku_30b(tmp_path: Path) -> None:
    (first, second, third), _ = read(FUGAKU, tmp_path)
    check(
        first,
        nodes=48,
        layers=48,
        hidden=7168,
        heads=56,
        seq_len=2048,
        tp=1,
        recompute="full",
        memory=29138.6,
        status="oom",
        date="4/22",
        aggregate_pflops=0.04,
        settings={"clock_ghz": "2"},
    )
    check(
        second,
        tp=4,
        recompute="none",
        memory=None,
        step_time_s=3534.8833,
        tflops=1.1,
        flags=["doubtful"],
        date="4/23",
        settings={"clock_ghz": "2.2"},
    )
    check(third, nodes=8192, status="hang", settings={"clock_ghz": "2", "llio": "yes"})


# EleutherAI's, nanotron's and Megatron-LM's ways of heading a table
OTHERS = """\
| Model size (B) | Hidden dim | Num layers | Attention heads | GPU count | Batch size \
| Avg step time (ms) \
| Throughput (tok/s/GPU) | Peak memory (GB) | MFU (%) | PyTorch |
|:--|:-:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| 6.7 | 4096 | 32 | 32 | 8 | 512 | 1,250.5 | **11.2k** | 61.5 | 48.3 | 2.1 |
"""


def test_other_ways_of_heading(tmp_path: Path) -> None:
    ((run), _) = read(OTHERS, tmp_path)
    check(
        run[0],
        params_b=6.7,
        hidden=4096,
        layers=32,
        heads=32,
        devices=8,
        gbs=512,
        step_time_s=1.2505,
        tokens_per_s_per_device=11200.0,
        memory=61.5,
        mfu=0.483,
        framework="2.1",
    )


def test_numbers_beyond_all_bounds(tmp_path: Path) -> None:
    row = f"| {'9' * 400} | 9999999999 | 9e999 |"
    text = f"SEQ_LEN={'9' * 30}\n\n| Nodes | GBS | TFLOPs |\n|---|---|---|\n{row}\n"
    (run,), summary = read(text, tmp_path)
    assert summary.failed == []
    check(run, nodes=None, gbs=None, seq_len=None, tflops=None, flags=["misfit"])


# Units in cells that are not those of the heading, a spread, a share behind the value
UNITS = """\
| Num instances | Micro batch size | TFLOPS/GPU | Total PFLOP/s | Step time (ms) | Peak reserved |
|--|--|--|--|--|--|
| 2 | 1 | 0.45 PFLOPS | 7200 TFLOPs | 1,310.4 ± 5.2 | 174.49 GiB (94.68%) |
| 2 | 1 | 450 | 7.2 | 1.3 s | 174.49 |
"""


def test_units_of_the_cell_come_first(tmp_path: Path) -> None:
    (printed, headed), summary = read(UNITS, tmp_path)
    assert summary.warnings == []
    check(printed, nodes=2, tflops=450.0, aggregate_pflops=7.2, step_time_s=1.3104, memory=174.49)
    check(headed, nodes=2, tflops=450.0, aggregate_pflops=7.2, step_time_s=1.3, memory=174.49)


BARE = """\
# Training throughput on A100 80GB

| GPUs | Model | {} | Tokens/s/GPU |
|--|--|--|--|
| 64 | 7B | {} | 3600 |
| 128 | 7B | {} | 3500 |
"""


@pytest.mark.parametrize(
    ("heading", "cells", "each", "of_job"),
    [
        ("TFLOPS", ("10240", "19840"), None, 10.24),
        ("TFLOPS", ("160", "155"), 160.0, None),
        ("TFLOPS/GPU", ("10240", "19840"), 10240.0, None),  # the heading says it: the audit judges
        ("TFLOPS", ("10240", "155"), 10240.0, None),  # of two kinds
    ],
)
def test_whose_tflops_they_are_is_decided_by_arithmetic(
    tmp_path: Path, heading: str, cells: tuple[str, str], each: float | None, of_job: float | None
) -> None:
    (first, _), _ = read(BARE.format(heading, *cells), tmp_path)
    check(first, tflops=each, aggregate_pflops=of_job)
