"""Tables of other laboratories, a few rows each, as a picky reader would have them."""

from __future__ import annotations

from pathlib import Path

from tests.documents import check, read

# mosaicml/llm-foundry scripts/train/benchmarking/README.md
FOUNDRY = """\
## H100 80GB BF16
| Model | SeqLen (T) | # GPUs | GPU | MFU | HFU | Model TFLOP | MicroBatchSize | GradAccum \
| GlobalBatchSize \
| Throughput (S/s) | Throughput (T/s) | Throughput (T/s/GPU) | GlobalBatchSize (T) | Precision \
| MP Mode \
| Sharding Strategy | Activation Checkpointing | Activation CPUOffload | NumParams |
|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|
| 70b | 2048 | 64 | h100_80gb | 42.57 | 56.76 | 4.212583E+14 | 8 | 4 | 2048 | 32 | 66523 \
| 1039 | 4194304 \
| amp_bf16 | DEFAULT | FULL_SHARD | True | False | 64862437376 |
| 760m | 512 | 8 | h100_80gb | 40.42 | 40.42 | 3.999190E+14 | 96 | 2 | 1536 | 1308 | 669998 \
| 83749 | 786432 \
| amp_bf16 | DEFAULT | FULL_SHARD | False | False | 758111232 |
"""


def test_llm_foundry(tmp_path: Path) -> None:
    (large, small), summary = read(FOUNDRY, tmp_path)
    check(large, params_b=70.0, params_stated=64862437376)
    check(
        large,
        size="70B",
        seq_len=2048,
        devices=64,
        device="h100_80gb",
        mfu=0.4257,
        hfu=0.5676,
        tflops=421.2583,
        mbs=8,
        grad_accum=4,
        gbs=2048,
        samples_per_s=32.0,
        tokens_per_s=66523.0,
        tokens_per_s_per_device=1039.0,
        dtype="bf16",
        recompute="full",
        status="ok",
        flags=[],
    )
    check(small, size="760M", params_b=0.76, recompute="none", mbs=96, gbs=1536)
    assert [warning.code for warning in summary.warnings] == ["short_separator"]


# NVIDIA-NeMo/Megatron-Bridge docs/performance-summary.md; the last row lacks its GBS there too
BRIDGE = """\
- **System Configurations**: Results across different GPU systems (DGX-GB200, DGX-B200, DGX-H100)

#### System: DGX-H100

| Model | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP | EP \
| GA | Tokens / sec / GPU \
| Model TFLOP / sec / GPU |
|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|
| LLAMA3_8B | 8 | FP8-CS (FP8-MX) | 128 | 2 | 8192 | 0 | 1 | 1 | 1 | n/a | 1 | 8 \
| 37556 (36108) | 1933 (1858) |
| LLAMA3.1_405B | 1024 | BF16 | 512 | 1 | 8192 | 1 | 8 | 8 | 2 | 8 | 1 | 64 | 292 | 737 |
| Qwen3_235B_a22B | 256 | FP8-CS | 1 | 4096 | 0 | 2 | 8 | 1 | 4 | 32 | 1575 | 1575 | 233 |
"""


def test_speed_in_the_unit_of_its_cells(tmp_path: Path) -> None:
    text = """\
| Nodes | TP | Speed | HW TFLOPs | TFLOPs (aggregate) |
|--|--|--|--|--|
| 1 | 8 | 12.5 | 150 | 1200 |
| 2 | 8 | 3400 tok/s | 150 | 2400 |
| 4 | 8 | 850ms | 150 | 4800 |
| 8 | 8 | 20 MiB | 150 | 9600 |
"""
    (bare, rate, time, wrong), _ = read(text, tmp_path)
    check(bare, step_time_s=12.5, tokens_per_s=None, tflops=150.0, aggregate_pflops=1.2)
    check(rate, step_time_s=None, tokens_per_s=3400.0)
    check(time, step_time_s=0.85)
    check(wrong, step_time_s=None, flags=["misfit"])


def test_two_columns_of_nearly_one_meaning(tmp_path: Path) -> None:
    text = """\
| GPUs | Model | Params (B) | HW TFLOPs | Model TFLOPs | Peak reserved (GB) | Max memory (GB) |
|--|--|--|--|--|--|--|
| 8 | 7b | 6.74 | 200 | 150 | 70 | 60 |
"""
    (run,), _ = read(text, tmp_path)
    check(run, params_b=7.0, params_stated=6740000000, hardware_tflops=200.0, tflops=150.0)
    check(run, memory=60.0, memory_reserved=70.0)


def test_megatron_bridge(tmp_path: Path) -> None:
    (small, large, shifted), summary = read(BRIDGE, tmp_path)
    check(
        small,
        model="LLAMA3_8B",
        params_b=8.0,
        devices=8,
        dtype="fp8",
        gbs=128,
        mbs=2,
        seq_len=8192,
        dp_shard=None,
        tp=1,
        pp=1,
        cp=1,
        vpp=None,
        ep=1,
        grad_accum=8,
        device="H100",
        tokens_per_s_per_device=37556.0,
        tflops=1933.0,
    )
    check(
        large, params_b=405.0, dtype="bf16", dp_shard=None, tp=8, pp=8, cp=2, vpp=8, world_size=1024
    )
    assert set(shifted["flags"]) == {"misfit", "ragged"}
    assert shifted.get("tflops") is None
    assert {warning.line for warning in summary.warnings} == {9}


# NVIDIA/dgxc-benchmarking llama3.1/README.md, symbolic cells as in its other recipes
DGXC = """\
## GB200
* At least 128 GPUs with at least 186 GB memory each.

| GPUs | SeqLen | Layers | FSDP | TP | PP | CP | EP | ETP | DP | VP | MBS | GBS | GA |
|------|:------:|:------:|:----:|:--:|:--:|:--:|:--:|:---:|:--:|:--:|:---:|:---:|:--:|
| 128  | 8192   | 126    | 0    |  4 | 8  | 2  | NA | NA  | 2  | 8  |  1  | 64  | 32 |
| 64-1024 | 8192 | 126   | 0    |  4 | 8  | 2  | NA | NA  | GPUs/32 | 8 | 1 | GPUs\\*4 | 32 |

| Data Type | GB200 | B200 | H100 |
|-----------|:-----:|:----:|:----:|
| BF16      | 2450  | 2250 | 989  |
"""


def test_dgxc_recipes(tmp_path: Path) -> None:
    (plain, symbolic), summary = read(DGXC, tmp_path)
    check(
        plain,
        devices=128,
        seq_len=8192,
        layers=126,
        tp=4,
        pp=8,
        cp=2,
        ep=None,
        dp=2,
        vpp=8,
        mbs=1,
        gbs=64,
        grad_accum=32,
        device="GB200",
        status="not_run",
        kind="planned",
    )
    check(symbolic, devices=None, dp=None, gbs=None, tp=4, flags=[])
    assert (summary.warnings, summary.tables_other) == ([], 1)


# pytorch/torchtitan benchmarks/llama3_8b_h200_2025-06_torchtitan_trainy_whitefiber.md
TITAN = """\
Each host has 8 NVIDIA H200 GPUs connected via NVLink.

### Results

| NUM_NODES | TPS/GPU | Memory(GiB) |
| ----- | ----: | ----: |
| 4 | 10,938 | 47.96 |
| 8 | 10753 | 46.97 |

| repo | commit | date |
| --- | --- | --- |
| torch | [2.8.0a0](https://docs) | 2025/05/29 |
"""


def test_torchtitan(tmp_path: Path) -> None:
    (four, eight), summary = read(TITAN, tmp_path)
    check(four, nodes=4, tokens_per_s_per_device=10938.0, memory=47.96, device="H200")
    check(eight, nodes=8, tokens_per_s_per_device=10753.0, memory=46.97)
    assert summary.tables_other == 1


# bigscience-workshop/bigscience experiments/gpt2.md
GPT2 = """\
# GPT2 Experiments

(add `-C v100-32g` for 32gb nodes.)

**Max model size**

16GB nodes:

| GPUs | Size | DP | PP | PP Chunks | Mic-BS | Glob-BS | Throughput | TFlops |
| ---: | ---: | -: | -: | --------: | -----: |  -----: | ---------: | -----: |
|   16 | 7.5B |  1 |  4 |         4 |      1 |       4 | 0.661s     |   23.2 |
|      |      |    |    |           |        |         |            |        |

32GB nodes:

| GPUs | Size | DP | PP | PP Chunks | Mic-BS | Glob-BS | Throughput | TFlops |
| ---: | ---: | -: | -: | --------: | -----: |  -----: | ---------: | -----: |
|   64 | 52B  |  1 | 16 |       256 |      4 |    1024 | 225        |   30.3 |
|   64 | 52B  |  1 | 16 |       256 |      4 |    1024 | 125s       |   54.5 |

### HF + Deepspeed Zero 3 + Full Offload

| GPUs | Size  | Zero | Opt Offl | Par Offl | Mic-BS | Glob-BS | Throughput | TFlops | Notes |
| ---: | ----: |  --: | -------: | -------: | -----: | ------: | ---------: | -----: | ----: |
|   64 | 52B   |    2 | Y        | N        |        |         | OOM        |        | 05-28 |
"""


def test_gpt2_of_bigscience(tmp_path: Path) -> None:
    (first, bare, second, failed), _ = read(GPT2, tmp_path)
    check(
        first,
        devices=16,
        size="7.5B",
        dp=1,
        pp=4,
        grad_accum=4,
        mbs=1,
        gbs=4,
        step_time_s=0.661,
        tflops=23.2,
        device="V100-16GB",
    )
    check(bare, step_time_s=225.0, device="V100-32GB")
    check(second, step_time_s=125.0)
    check(failed, zero_stage=2, status="oom", date="05-28", mbs=None, gbs=None)


# bigscience-workshop/bigscience experiments/tr8-104B.md
TR8 = """\
```
NLAYERS=32
NHIDDEN=16384
NHEADS=32
SEQ_LEN=2048
```

BS=1024, SIZE=104B,

| NNODES |  TP |  PP |  DP | MBS | Speed | TFlops | Notes                 |
| -----: | --: | --: | --: | --: | ----: | -----: | --------------------: |
|     32 |   4 |  32 |   1 |   1 |   256 |   27.2 | 31.5GB                |
|     64 |   4 |  64 |   1 |   1 |   155 |   22.5 | GB                    |

BS=2048

| NNODES |  TP |  PP |  DP | MBS | Speed | TFlops | Notes                           |
|  ----: | --: | --: | --: | --: | ----: | -----: | --------------------:           |
|     32 |   1 |  64 |   2 |   1 |       |        | 32GB OOMs                       |
|     32 |   4 |  32 |   1 |   1 |   688 |   39.6 | 27GB (same conf as normal 104B) |

```
salloc --account=six@gpu --constraint=v100-32g --nodes=32 --ntasks=32 --gres=gpu:4 bash
```
"""


def test_tr8_of_bigscience(tmp_path: Path) -> None:
    (first, second, failed, last), _ = read(TR8, tmp_path)
    check(
        first,
        nodes=32,
        size="104B",
        layers=32,
        hidden=16384,
        heads=32,
        seq_len=2048,
        gbs=1024,
        step_time_s=256.0,
        memory=31.5,
        device="V100-32GB",
        devices=128,
        world_size=128,
    )
    check(second, memory=None, status="ok", gbs=1024)
    check(failed, status="oom", memory=None, gbs=2048)
    check(last, status="ok", memory=27.0, gbs=2048, size="104B")


# Notes of the author as an alert, groups of rows, counts behind devices
ALERT = """\
# Speed of training

> [!NOTE]
> Training conditions:
> - Sequnece length: 8,192 (Without padding, fully filled tokens)
> - w/ Gradient checkpointing (with two methods)
> - Gradient accumulation: 32

| Model | GPU | Peak Mem. (Model Mem.) | Batch size | Sec/step | Lantency |
|:- |-:|-:|-:|-:|-:|
| LoRA | | | | | |
| [Llama 3.1 8B](a.yaml) ** | H100 x 2 | 36 (GiB) | 2 | 6.4 | 3 |
"""


def test_notes_groups_and_counts(tmp_path: Path) -> None:
    [row], summary = read(ALERT, tmp_path)
    check(row, size="8B", device="H100", devices=2, memory=36.0, step_time_s=6.4, gbs=None)
    check(row, seq_len=8192, recompute="full", mbs=None)
    assert [warning.code for warning in summary.warnings] == ["batch_not_stated"]


def test_a_projection_is_no_measurement(tmp_path: Path) -> None:
    table = "| Nodes | GPUs | Tokens/s | TFLOPS |\n|--|--|--|--|\n| 8 | 64 | 703,466 | 32,078 |\n"
    [row], _ = read(f"# Training\n\n## Scaling (assuming linear)\n\n{table}", tmp_path)
    check(row, kind="planned", tokens_per_s=703466.0)
