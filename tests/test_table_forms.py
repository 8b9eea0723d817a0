"""Forms of tables and legends that documents had which nobody had read before."""

from pathlib import Path

from bench.vocabulary.parallelism import sizes_in
from tests.documents import check, read


def test_frameworks_as_headings(tmp_path: Path) -> None:
    text = """\
# Results

PyTorch is needed. Training throughput in tokens/sec/GPU on 32 A100:

| | Megatron-LM | Ours | Speedup |
|--|--|--|--|
| LLaMA-7B | 2974 | 3421 | 1.15 |
"""
    (theirs, ours), _ = read(text, tmp_path)
    check(theirs, framework="Megatron-LM", model="LLaMA-7B", tokens_per_s_per_device=2974.0)
    check(ours, framework=None, tokens_per_s_per_device=3421.0, devices=32)


def test_methods_as_headings(tmp_path: Path) -> None:
    text = """\
# Training

We train with micro-batch size 4 on 2 nodes with 8 V100 GPUs each. Samples per second:

| Model | DP-1 | Sharded PS DP-2 |
|--|--|--|
| GPT-XL | 10.2 | 18.2 |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, samples_per_s=10.2, mbs=4, devices=16, dp=None)
    check(second, samples_per_s=18.2)


def test_forward_and_backward_are_no_methods(tmp_path: Path) -> None:
    text = """\
# Training with FSDP on 8 H100

Step time (s):

| Model | Forward | Backward |
|--|--|--|
| 7B | 1.2 | 2.4 |
"""
    runs, _ = read(text, tmp_path)
    assert not [run for run in runs if run.get("step_time_s")]


LEGEND = """\
# Training

- T-GBS: train global batch size
- `cu` is the `num_cu` of the kernel
- Zorp = tensor parallel size

Sequence length 4096, MBS 2.

| Model | GPUs | T-GBS | Zorp | cu | Step time (s) |
|--|--|--|--|--|--|
| 8B | 16 | 512 | 2 | 128 | 92.1 |
| 8B | 32 | 256 | 4 | 256 | 192.1 |
"""


def test_a_legend_defines_headings(tmp_path: Path) -> None:
    (first, second), _ = read(LEGEND, tmp_path)
    check(first, gbs=512, tp=2, mbs=2, seq_len=4096)  # `cu` is explained: no setting of ours
    check(second, gbs=256, tp=4)


def test_a_legend_whose_column_has_other_cells(tmp_path: Path) -> None:
    text = LEGEND.replace("| 2 |", "| none |").replace("| 4 |", "| all |")
    (first, _), _ = read(text, tmp_path)
    check(first, tp=None)


def test_an_unknown_column_keeps_away_what_it_may_be(tmp_path: Path) -> None:
    text = """\
# 8B

TP=2, PP=4, MBS 3, hidden size 4096.

| Chunk | GPUs | tokens/s/GPU |
|--|--|--|
| 1 | 64 | 7000 |
| 4 | 64 | 7200 |
"""
    (first, _), _ = read(text, tmp_path)
    check(first, tp=None, pp=None, mbs=None, hidden=4096)
    (first, _), _ = read(text.replace("| 1 |", "| 300 |"), tmp_path)
    check(first, tp=2, pp=4, mbs=3)


def test_codes_in_names() -> None:
    assert sizes_in("cp8-ebs4-s8192-gas1") == {"cp": 8, "seq_len": 8192, "grad_accum": 1}
    assert sizes_in("gb512_s8192_recompute") == {"gbs": 512, "seq_len": 8192}
    assert sizes_in("A100-s8192-x2") == {}
    assert sizes_in("llama3-8b-s8192") == {}


def test_numbers_of_the_corner(tmp_path: Path) -> None:
    text = """\
# Training

Throughput in tokens/s per GPU:

| GPUs | 8 | 16 |
|--|--|--|
| DDP | 1000 | - |
| FSDP | 1100 | 1090 |

`-` means out of memory.
"""
    (first, second, *_), _ = read(text, tmp_path)
    check(first, devices=8, tokens_per_s_per_device=1000.0, dp_shard=None)
    check(second, devices=16, status="oom")


def test_the_mean_below_steps_is_the_run(tmp_path: Path) -> None:
    text = """\
# Pretraining of Llama 8B

**Config:** TP=4, VP=2, layers_recomputed=1
**Nodes:** a-[1-4]

| Iter | Step Time (s) | TFLOP/s/GPU |
|--|--|--|
| 1 | 53.65 | 232.5 (warmup) |
| 2 | 7.67 | 1,576.9 |
| **Avg (2-2)** | **7.67** | **~1,577** |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, step_time_s=7.67, tp=4, vpp=2, nodes=None)


def test_the_only_size_of_a_document(tmp_path: Path) -> None:
    text = """\
# All runs

Qwen3-30B-A3B FP8 tensorwise pretrain on 8x MI355X (EP8, MBS 8, GBS 512, even routing).
The mean of iterations 11-20.

Logs are not kept.

| run | ms/iter | tokens/s/GPU |
|--|--|--|
| a | 7915.6 | 33,117 |
| perf/qwen3-30b-fp8 | 7900.6 | 33,217 |
"""
    (run, _), _ = read(text, tmp_path)
    check(run, model="30B", devices=8, mbs=8, ep=8)
    (run, _), _ = read(text.replace("qwen3-30b", "qwen3-8b"), tmp_path)
    check(run, model=None)


def test_steps_that_each_run_took_are_no_moments(tmp_path: Path) -> None:
    text = """\
# Training results

| Config | Steps | MFU (%) | tok/s | Step time | Loss |
|--|--|--|--|--|--|
| `7b_tp4_pp2.toml` | 20 | 16.5 | 52,554 | 4.99s | 11.75 |
| `7b_tp4_pp4.toml` | 10 | 11.0 | 7,641 | 4.29s | 11.75 |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, mfu=0.165, step_time_s=4.99, tp=4, pp=2)
    check(second, pp=4)


def test_a_technique_that_one_row_adds_is_not_of_the_others(tmp_path: Path) -> None:
    text = """\
# Training benchmark

MFU as optimizations are incrementally enabled (shuffler, selective recompute).

## Results (2x H100-SXM5-80GB nodes, 16 GPUs)

| Name | TFLOPS | MFU (%) |
|--|--|--|
| Baseline | 1092 | 6.38 |
| +Selective Recompute | 3919 | 22.88 |
"""
    (base, second), _ = read(text, tmp_path)
    check(base, recompute=None, aggregate_pflops=1.092, tflops=None, devices=16)
    check(second, recompute="selective")


def test_a_range_is_measured_and_words_state_a_failure(tmp_path: Path) -> None:
    text = """\
# Training with Primus 训练

| Model | GPUs | tokens/s/dev | Result |
|--|--|--|--|
| 8B | 8 | 2100-2800 | pass |
| 70B | 8 | - | OOM in dry run |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, status="ok", tokens_per_s_per_device=None, framework="Primus")
    check(second, status="oom")


def test_a_bare_batch_smaller_than_the_replicas_is_not_the_step_s(tmp_path: Path) -> None:
    text = """\
# Training of a 2B

One config: `tp=1`, `bs=1`, `seq 2048`.

| system | GPUs | tok/s/GPU | MFU |
|--|--|--|--|
| A100-40GB | 4 | 10,091 | 30.3% |
| A100-40GB | 1 | 6,406 | 19.2% |
"""
    (several, one), _ = read(text, tmp_path)
    check(several, gbs=None, tp=1)
    check(one, gbs=1)


def test_a_time_and_a_rate_in_each_cell(tmp_path: Path) -> None:
    text = """\
# Llama 3.1 405B NVFP4 pretraining

| Config | Old (`4df8c97`) | New (`6b3b5ba`) | Improvement |
|--|--|--|--|
| PP=16, TP=4, VP=8 | ~84s / 1,471 TFLOP/s | **79.1s / 1,568 TFLOP/s** | **+6.6%** |
"""
    (old, new), _ = read(text, tmp_path)
    check(old, step_time_s=84.0, tflops=1471.0, pp=16, tp=4, vpp=8, dtype="fp4")
    check(new, step_time_s=79.1, tflops=1568.0)


def test_a_limit_is_the_size_of_no_model(tmp_path: Path) -> None:
    text = """\
# Training study

The architecture was reduced to remain under the 1B parameters of the task.

| GPUs | tokens/s/GPU |
|--|--|
| 8 | 12,944 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, size=None, tokens_per_s_per_device=12944.0)


def test_a_configuration_by_batch_and_length_or_by_its_size(tmp_path: Path) -> None:
    text = """\
# Training speed of the 150M model on a GTX 1060

| config | peak VRAM | step time | tok/s |
|---|---|---|---|
| B=8 L=256 | 4.05GB | 1.20s | 1711 |
| 200M config (188M params) | 5.13GB | 42.24s | - |
"""
    (first, second), _ = read(text, tmp_path)
    check(first, seq_len=256, size="150M")
    check(second, seq_len=None, size="200M")


def test_a_range_is_no_single_value(tmp_path: Path) -> None:
    text = """\
# Training on 8×B200

| seq_len | toks/s range | step_s range | peak_mem_gb (max) |
|--|--|--|--|
| 1024 | 453.1–651.3 | 12.578–18.079 | 72.99 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, seq_len=1024, tokens_per_s=None, step_time_s=None, memory=72.99, devices=8)
