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
