"""Reinforcement learning: columns of generation beside those of training."""

from pathlib import Path

from tests.documents import check, read

PHASES = """\
# PPO on 8 H100

<table>
<tr><th rowspan="2">Model</th><th rowspan="2">GPUs</th><th colspan="2">Generation</th>
<th colspan="2">Training</th><th rowspan="2">E2E time (s)</th>
<th rowspan="2">Training time (s)</th></tr>
<tr><th>TP</th><th>tokens/s</th><th>TP</th><th>tokens/s/GPU</th></tr>
<tr><td>7B</td><td>8</td><td>2</td><td>12000</td><td>4</td><td>900</td><td>110.3</td><td>60</td></tr>
</table>
"""


def test_training_next_to_generation(tmp_path: Path) -> None:
    ((run,), _) = read(PHASES, tmp_path)
    check(run, tp=4, tokens_per_s_per_device=900.0, tokens_per_s=None)
    check(run, step_time_s=None, train_time_s=None)  # those of a phase, and of all


def test_the_rate_of_generation_alone_is_no_training(tmp_path: Path) -> None:
    text = """\
# PPO training

| Model | GPUs | Rollout tokens/s | Actor TP |
|--|--|--|--|
| 7B | 8 | 100 | 2 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, tp=2, tokens_per_s=None)


def test_trainers_that_generate_and_train_side_by_side(tmp_path: Path) -> None:
    text = """\
# OpenRLHF Benchmark

- max_prompt_seq_len=1024 and max_answer_seq_len=1024

<table>
<tr><td rowspan="2">Size</td><td rowspan="2">Method</td><td rowspan="2">GPU</td>
<td colspan="3">Generation</td><td colspan="3">Training</td><td colspan="2">End-to-End</td></tr>
<tr><td>micro_batch_size</td><td>Latency</td><td>TFLOPs</td><td>micro_batch_size</td>
<td>Latency</td><td>TFLOPs</td><td>Latency</td><td>Samples/sec</td></tr>
<tr><td>7B</td><td>DeepspeedChat</td><td>8</td><td>8</td><td>697.12</td><td>5.32</td><td>4</td>
<td>492.01</td><td>60.34</td><td>1189.13</td><td>0.86</td></tr>
<tr><td>7B</td><td>OpenRLHF(ray)</td><td>1:1:4:2</td><td>16</td><td>1498.77</td><td>2.48</td>
<td>8</td><td>395.69</td><td>75.02</td><td>1894.46</td><td>0.54</td></tr>
</table>
"""
    (theirs, ours), _ = read(text, tmp_path)
    check(theirs, framework="DeepspeedChat", devices=8, device=None, mbs=4, tflops=60.34)
    check(theirs, samples_per_s=0.86, seq_len=None, step_time_s=None)
    check(ours, framework="OpenRLHF(ray)", devices=None, device=None, mbs=8)
    check(ours, samples_per_s=0.54)


def test_letters_before_headings_tell_generation_from_training(tmp_path: Path) -> None:
    text = """\
# NeMo RL, GRPO on H100

T-: training, G-: generation

| Model | T-Max Sequence Length | #-GPUs | T-GBS | G-TP | T-TP | T-PP | Tokens / sec / GPU |
|--|--|--|--|--|--|--|--|
| 8B | 4096 | 16 | 512 | 4 | 1 | 2 | 1496 |
"""
    ((run,), _) = read(text, tmp_path)
    check(run, seq_len=4096, devices=16, gbs=512, tp=1, pp=2, tokens_per_s_per_device=1496.0)
