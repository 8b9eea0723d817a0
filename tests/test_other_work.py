"""Tables of other work than training, which must stay unread."""

from __future__ import annotations

import pytest

from tests.documents import runs

UNREAD = {
    "products of matrices": """\
| dtype | M | K | N | TFLOPS | MFU |
|--|--|--|--|--|--|
| bfloat16 | 4096 | 8192 | 8192 | 689 | 75.0% |
""",
    "lexers": """\
| lexer | time | throughput | tokens/s | peak memory |
|--|--|--|--|--|
| alpha 2 | 2.0 ms | 77.2 MB/s | 20.1 M | 76 MB |
""",
    "pictures": """\
All runs use 30,000 iterations on 8x A100-SXM4-80GB.

| Backend | Wall time | It/s | VRAM | PSNR | SSIM |
|--|--|--|--|--|--|
| splats | 1298.4s | 26.1 | 15824 MiB | 26.70 | 0.85 |
""",
    "video": """\
|config | gpus | pretrain | AR@100 | gpu_mem(M) | iter time(s) |
|--|--|--|--|--|--|
| bsn_400x100 | 1 | None | 74.66 | 41 | 0.074 |
""",
    "other models than networks": """\
| Dataset | Samples | Features | Best Model | Training Time (s) | Throughput (samples/s) |
|--|--|--|--|--|--|
| Census | 48842 | 14 | logistic_regression | 11.26 | 3471.52 |
| Housing | 506 | 13 | random_forest | 0.14 | 2861.43 |
""",
    "the parts of a step": """\
## Profile of a training step

| Operation | EP=2 Time | EP=1 Time | Overhead |
|--|--|--|--|
| D2H memcpy | 839.69ms | 57.90ms | +781.79ms |
""",
    "serving": """\
### You trained in 4-bit. Do you serve in 4-bit?

Same merged model, same prompts, greedy decode:

| | tok/s | peak VRAM |
|--|--|--|
| NF4 | 26.3 | 2.76 GB |
| bf16 | 33.0 | 8.10 GB |
""",
    "fields of weather": """\
# A U-Net for rainfall

### Training speed

| Batch size | Samples/s | GPU memory |
|--|--|--|
| 2 | 1.4 | 6 GB |
""",
    "sound": """\
## Training configuration

| Parameter | Value |
|--|--|
| Batch size | 2 |
| Max sequence length | 160 frames |
| Vocoder | HiFiGAN |
| Step time | 1.3 s/step |
""",
    "frames": """\
## Training speed

| Device | Batch size | Training speed | GPU memory |
|--|--|--|--|
| 1x A100 | 16 | 25 FPS | 8 GB |
""",
    "robots": """\
One policy for all robots, trained on an A100:

| batch | peak VRAM | throughput |
|--|--|--|
| 4 | 35.9 GB | 2.86 step/s, 12 samples/s |
""",
    "comparisons": """\
## Training of a 7B model

| GPUs | Batch size | Training speed | GPU memory |
|--|--|--|--|
| 1 | 8 | 100% (baseline) | 100% |
| 4 | 32 | 3.7x | 25% |
""",
    "hypotheses": """\
# SFT, LoRA and QLoRA, before any run

| | Peak memory | Training time |
|--|--|--|
| Full SFT | Highest | Slowest |
| LoRA | Low | Similar to full SFT, possibly slower |
| QLoRA | Lowest | Similar to LoRA |
""",
    "kernels with a share of the peak": """\
### The persistent kernel

| Config | TFLOPS | MFU |
|--|--|--|
| 8K, 2SM, cluster (2,4) | 5544 | 77.7% |
""",
    "decoding": """\
Speculative decoding of a 1B model: prefill and decode on one core.

## Timeline

| Step | Change | tok/s | Step time |
|--|--|--|--|
| Baseline | ONNX f32 | 2.7 | 320ms |
| Prewarm | Zero warm-up | 43.0 | 21ms |
""",
    "segmentation": """\
| Experiment | Architecture | Val PSNR (dB) | Val SSIM | Peak VRAM | Train Time |
|--|--|--|--|--|--|
| LoRA | 4b / 48c (273k) | 38.67 | 0.92 | 158.18 MiB | 6.40s |
| Full FT | 4b / 48c (273k) | 38.65 | 0.92 | 158.18 MiB | 6.54s |
""",
}


@pytest.mark.parametrize("subject", UNREAD)
def test_tables_of_other_work_stay_unread(subject: str) -> None:
    assert runs(UNREAD[subject]) == []


READ = {
    "a language model that sees": """\
# A language model for robots, on image and text

| Batch size | Samples/s | GPU memory |
|--|--|--|
| 2 | 1.4 | 6 GB |
""",
    "a parallel model of video": """\
# Training a diffusion model

| GPUs | TP | GBS | Samples/s |
|--|--|--|--|
| 8 | 2 | 64 | 1.4 |
""",
    "a kernel in a model": """\
### With the fused kernel

| Model | TFLOPS | MFU |
|--|--|--|
| 7B | 544 | 55% |
""",
    "one comparison among results": """\
## Training of a 7B model

| GPUs | Batch size | Training speed | GPU memory |
|--|--|--|--|
| 1 | 8 | 100% (baseline) | 40 GB |
""",
}


@pytest.mark.parametrize("subject", READ)
def test_tables_near_other_work_are_read(subject: str) -> None:
    [run] = runs(READ[subject])
    assert run.get("samples_per_s") or run.get("tflops") or run["memory"] == 40
