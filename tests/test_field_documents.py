"""Tables as repositories of the field write them."""

from __future__ import annotations

import pytest

from tests.documents import runs


def table(headings: str, *rows: str, above: str = "## Training\n\n") -> list[dict[str, object]]:
    width = headings.count("|") - 1
    return runs(above + "\n".join((headings, "|--" * width + "|", *rows)) + "\n")


def test_a_loss_beside_a_rate_tells_of_training() -> None:
    run, _ = table(
        "| Model | Iters | Wall clock | Loss | tokens/s/GPU |",
        "| Llama-3.2-1B | 2000 | 45 min | 12.15 -> 3.29 | 49200 |",
        "| Mixtral-8x7B | 300 | ~2h10m | 10.52 -> ~6.5 | 2100 |",
        above="Measured on 1 node x 8 MI325X.\n\n",
    )
    assert run["tokens_per_s_per_device"] == 49200
    assert run["devices"] == 8


def test_what_methods_cost_beside_what_came_of_them() -> None:
    found = table(
        "| Method | Accuracy | Peak VRAM | Train time |",
        "| full FT | 62.4 | 34.2 GB | 2h10m |",
        "| bitfit | 19.4 | 11.0 GB | 3 min 16 sec |",
        "| QLoRA | 64.3 | 6.4 GB | 995 s |",
        above="### Results\n\n",
    )
    assert [run["train_time_s"] for run in found] == [7800, 196, 995]
    assert [run["memory"] for run in found] == [34.2, 11.0, 6.4]


def test_learning_in_other_languages() -> None:
    first, second = table(
        "| 설정 | s/step | peak VRAM |",
        "| baseline: ckpt ON, b4×ga4 | 19.4 | 124GB |",
        "| B: grad ckpt OFF + b2×ga8 | 18.1 | 113GB |",
        above="## 학습속도 벤치마크\n\n",
    )
    assert (first["mbs"], first["grad_accum"], first["recompute"]) == (4, 4, "full")
    assert (second["mbs"], second["grad_accum"], second["recompute"]) == (2, 8, "none")


def test_what_trains_by_generating_has_savings_of_a_prefill() -> None:
    (run,) = table(
        "| Mode | Step time (ms) | Tokens/sec | Prefill savings | Peak VRAM (MB) |",
        "| standard | 19315.6 | 13.2 | 0.0% | 10841.9 |",
        above="SFT, then GRPO with the same adapter.\n\n",
    )
    assert run["step_time_s"] == pytest.approx(19.3156)


def test_an_item_with_bars_in_its_text_ends_a_table() -> None:
    found = runs("""\
- Training of 16 GPUs, global batch 32:
  | phase | peak mem | s/it |
  |--|--|--|
  | EP=8, DP=16 | 17.3 GiB | 2.3 |
  - Resume 30 -> 60: max |loss diff| 0.0015 and 0.0014.
""")
    assert [run["step_time_s"] for run in found] == [2.3]


def test_ratios_that_a_row_of_slowdowns_gives_are_no_run() -> None:
    found = table(
        "| Config | TFLOP/s/device | MFU | Batch |",
        "| fused | 968 | 38.8% | 8 |",
        "| **Slowdown** | **9.7x** | | |",
    )
    assert [run["tflops"] for run in found] == [968]


def test_two_runs_of_a_row_have_been_run() -> None:
    (run,) = table("| GPUs | TFLOP/s/GPU |", "| 512 | **1,531 / 1,528** |")
    assert "status" not in run
    assert "tflops" not in run


def test_a_number_in_bold_with_a_remark_in_italics() -> None:
    (run,) = table("| batch | tok/s |", "| **4** *(default)* | **433** |")
    assert run["gbs"] == 4


def test_a_batch_of_more_sequences_than_any_step_takes_is_in_tokens() -> None:
    (run,) = table("| Size | Global batch | GPUs | tok/s |", "| 480M | 262,144 | 4 | 9000 |")
    assert "gbs" not in run


def test_a_letter_beside_a_length_is_the_batch() -> None:
    (run,) = table("| seq | B | s/it | tok/s |", "| 8000 | 24 | 58.0 | 3312 |")
    assert (run["seq_len"], run["gbs"]) == (8000, 24)


def test_a_batch_that_is_accumulated_is_a_micro_batch() -> None:
    (run,) = table("| Config | MFU | Tokens/s |", "| BS=4, GA=2, SEQ=2048 | 43.9% | 19.0K |")
    assert (run["mbs"], run["grad_accum"], run["seq_len"]) == (4, 2, 2048)
    assert "gbs" not in run


def test_results_told_by_their_units() -> None:
    found = table(
        "| Workload | VR200 | GB300 | VR200 advantage |",
        "| llama3.1 8B | 2.504 s/iter · 336.82 TFLOPS · **6,543** tok/s/GPU"
        " | 3.457 s/iter · 243.91 TFLOPS · **4,739** tok/s/GPU | **+38.1%** |",
    )
    assert [(run["device"], run["step_time_s"], run["tflops"]) for run in found] == [
        ("VR200", 2.504, 336.82),
        ("GB300", 3.457, 243.91),
    ]


def test_results_told_by_their_units_in_a_table_of_names_and_values() -> None:
    found = table(
        "| | **7B** (this run) | 1B |",
        "| Base ckpt | `evo2/7b-8k` | `evo2/1b-8k` |",
        "| Train throughput | ~4.34 s/step, ~325 TFLOP/s/GPU | ~1.27 s/step, ~255 TFLOP/s/GPU |",
        "| Mem during train | ~42 GB/GPU | ~16 GB/GPU |",
    )
    assert [(run["model"], run["step_time_s"], run["tflops"]) for run in found] == [
        ("7B (this run)", 4.34, 325),
        ("1B", 1.27, 255),
    ]


def test_what_a_row_is_compared_with_is_not_its_device() -> None:
    (run,) = table(
        "| MBS | s/iter | TFLOPS/GPU | vs VR200 |",
        "| 1 | 3.400 | 236.61 | VR200 +35.8% |",
        above="## GB300\n\n",
    )
    assert run["device"] == "GB300"


def test_what_a_table_of_settings_says_in_brackets() -> None:
    found = runs("""\
# Training

| Parameter | Value |
|--|--|
| GPU | NVIDIA H800 × 32 (4 nodes × 8 GPUs) |
| Model | Qwen3-32B-like config (hidden=5120, FFN=25600, 64 Attn heads) |

## MFU

| TP | PP | MBS | MFU |
|--|--|--|--|
| 2 | 4 | 1 | 47.27% |
""")
    (run,) = found
    assert (run["device"], run["devices"], run["nodes"]) == ("H800", 32, 4)
    assert run["model"] == "Qwen3-32B-like config"


def test_splits_of_two_models_in_one_sentence_are_of_neither() -> None:
    (run,) = table(
        "| PP | VPP | tokens/s/device |",
        "| 8 | 2 | 10974 |",
        above="## Training\n\nResults for Llama2-7B on 1 node with PP8 and the Qwen3-235B MoE model"
        " with PP4 EP8.\n\n",
    )
    assert run["pp"] == 8
    assert "ep" not in run


def test_counts_in_headings_of_runs() -> None:
    found = table(
        "| Metric | 1 Node (8 GPUs) | 2 Nodes (4 GPUs/node) |",
        "| Train Samples/Second | 3.688 | 5.492 |",
        "| Train Steps/Second | 0.014 | 0.021 |",
    )
    assert [run["nodes"] for run in found] == [1, 2]
    found = table(
        "| Metric | Single Node (8 GPUs) | Multi-Node (16 GPUs) |",
        "| Wall time | 4.7 s | 54.2 s |",
        "| Tokens / sec / rank | 1080 | 94 |",
    )
    assert [run["devices"] for run in found] == [8, 16]


def test_a_shape_is_the_name_of_no_model() -> None:
    (run,) = table(
        "| Metric | Value |",
        "| Model | 8 layers, 8 heads, D=384 |",
        "| Context length | 256 |",
        "| Training throughput | 217,471 tokens/s |",
    )
    assert "model" not in run


def test_splits_under_a_heading_in_chinese() -> None:
    (run,) = table(
        "| 模型 | 分布式策略(TP/PP/CP) | gbs | 显存 | 吞吐 TFLOP/s/GPU |",
        "| Llama2-7B | 2/1/4 | 16 | 52777 | 102.7 |",
    )
    assert (run["tp"], run["pp"], run["gbs"]) == (2, 1, 16)


def test_a_column_that_its_units_explain() -> None:
    found = runs("""\
## SFT 训练

<table>
 <tr><td>模型</td><td>单条样本耗时</td><td>显存使用量</td>
  <td>GPU型号和数量</td><td>deepspeed stage</td></tr>
 <tr><td>Pangu-350M</td><td>1.17s/it</td><td>1*8750MB</td><td>1*V100 16G</td><td>0</td></tr>
 <tr><td>Pangu-350M</td><td>1.10s/it</td><td>3*9406MB</td><td>3*V100 16G</td><td>1</td></tr>
</table>
""")
    assert [run["step_time_s"] for run in found] == [1.17, 1.10]
    assert [run["memory"] for run in found] == [8750, 9406]
    assert [run["devices"] for run in found] == [1, 3]


def test_units_of_another_phase_explain_no_column() -> None:
    (run,) = table("| GPUs | TFLOPs | eval speed |", "| 8 | 300 | 1.5 s/it |")
    assert "step_time_s" not in run


def test_the_hardware_is_the_device_beside_a_platform() -> None:
    (run,) = table("| Platform | Hardware | tok/s |", "| macOS | M3 Max | 4,000 |")
    assert run["device"] == "M3 Max"


def test_headings_in_japanese() -> None:
    (run,) = table(
        "| GPU数 | 有効バッチサイズ | スループット | ピークGPUメモリ（GB） |",
        "| 8 | 64 | 5.041 samples/s | ~42 |",
    )
    assert (run["devices"], run["gbs"], run["memory"]) == (8, 64, 42)


def test_rows_with_a_cache_of_keys_generate_whatever_else_the_document_trains() -> None:
    training = "# Pretraining from scratch\n\nWe train with AdamW.\n\nThe optimizer is fused.\n\n"
    found = table(
        "| Model | Mode | Hardware | Tokens/sec | GPU Memory (VRAM) |",
        "| Gemma3 270M | Regular | Mac Mini M4 CPU | 8 | - |",
        "| Gemma3 270M | KV cache compiled | Nvidia A100 GPU | 99 | 1.12 GB |",
        above=training + "## Speed\n\n",
    )
    assert found == []


def test_a_model_named_by_its_millions() -> None:
    dense, moe = table(
        "| config | s/step | tok/s |",
        "| `ref_dense_130m`, micro 4 | 2.53 | 104,224 |",
        "| `moe_620m` micro 2, capacity 2.5 | 6.406 | 40,919 |",
    )
    assert (dense["model"], dense["mbs"]) == ("ref_dense_130m", 4)
    assert (moe["model"], moe["mbs"]) == ("moe_620m", 2)


def test_a_length_in_thousands_of_tokens_beside_a_batch() -> None:
    (run,) = table("| Configuration | tok/s | MFU |", "| 2k tokens, batch 8 | 42,489 | 41.1% |")
    assert (run["seq_len"], run["gbs"]) == (2048, 8)


def test_memory_of_one_rank_and_processes_of_a_method() -> None:
    (run,) = table(
        "| Config | Step time | Peak VRAM |", "| 2× DDP + compile | 639 ms | 107 GiB/rank |"
    )
    assert (run["devices"], run["memory"]) == (2, 107)


def test_a_long_line_with_the_label_of_hardware() -> None:
    (run,) = table(
        "| Run | Tok/s | MFU |",
        "| a | 1,008,622 | 17.0% |",
        above="# Training\n\n**Hardware:** 16-chip Google Cloud TPU v4 pod slice (`v4-32`,"
        " 32 TensorCores, 4 hosts, 2x2x4 3D torus)\n\n## Runs\n\n",
    )
    assert (run["device"], run["devices"], run["nodes"]) == ("TPUv4", 16, 4)


def test_what_configurations_side_by_side_share() -> None:
    found = runs("""\
## Training

| Parameter | Baseline | Tier 1 | Text2SQL |
|--|--|--|--|
| Base Model | Qwen2.5-7B | Qwen2.5-7B | Qwen2.5-7B |
| Max Length | 2048 | 2048 | 1024 |
| GPU | RTX 4090 (24 GB) | RTX 4090 (24 GB) | RTX 4090 (24 GB) |

### Results

| Name | GPUs | Sec/it |
|--|--|--|
| v1 | 2 | 1.5 |
""")
    (run,) = found
    assert run["model"] == "Qwen2.5-7B"
    assert run["device"] == "RTX 4090-24GB"
    assert "seq_len" not in run
