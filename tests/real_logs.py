"""What the logs of `shared/logs` say, as plain expressions count it and as read by eye."""

from __future__ import annotations

import re

MEGATRON = rb"iteration[ =]+(\d+) */ *\d+ *\|"
STATS = rb'"throughput":.*"step": (\d+)'
STEP = rb"\] step=(\d+), skipped="
NEMO = rb"Training epoch \d+, iteration \d+/\d+ \|[^\r\n]*?global_step: (\d+)"
NEMO_RUNS = ["ok", "ok", "fail", "ok", "cancelled"]
BAR = rb"\| (\d+)/16 \[\d\d:\d\d"
NONE = rb"(?!)"

# Path: the plain expression of a step, the number of distinct steps a rewind apart, and how each
# run ended, as a careful reader says.
LOGS: dict[str, tuple[bytes, int, list[str]]] = {
    # One line, broken over two by the page.
    "amd_primus/docs__04-technical-guides__hybrid-models__gdn-guide.md.excerpts.txt": (
        MEGATRON, 1, ["ended"]),
    "argonne/ALCF__README.md.excerpts.txt": (MEGATRON, 2, ["ended"]),
    # Seven lines of Megatron; of step 136011 the excerpt has the engine's line alone.
    "argonne/ALCF__notes__cooldown.md.excerpts.txt": (
        rb"(?:step=|iteration= *)(\d{6})\b(?!-)", 8, ["ended"]),
    "bigscience_excerpts/experiments__gpt2-16gb-nodes.md.excerpts.txt": (MEGATRON, 7, ["ended"]),
    # The first cause behind the last step: an uncorrectable ECC error; running out of memory is
    # another story of the same page.
    "bigscience_excerpts/train__tr1-13B-base__chronicles.md.excerpts.txt": (MEGATRON, 10, ["fail"]),
    "bigscience_excerpts/train__tr11-176B-ml__reshaping-log.md.excerpts.txt": (
        MEGATRON, 16, ["ended"]),
    "bigscience_excerpts/train__tr8b-104B__chronicles.md.excerpts.txt": (
        MEGATRON, 19, ["ended"]),
    "bigscience_megatron/meg_ds_3d_gpt2_perf_n16-ds-on.out": (MEGATRON, 49, ["ended"]),
    "bigscience_megatron/meg_ds_zero_gpt2_perf_n16-1999616.out": (MEGATRON, 4, ["timeout"]),
    "bigscience_megatron/meg_gpt2_base_n16_dp1_tp4_pp16-1809577.out": (MEGATRON, 9, ["cancelled"]),
    "bigscience_megatron/meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out": (MEGATRON, 20, ["cancelled"]),
    "bigscience_megatron/meg_gpt2_perf_n16.out": (MEGATRON, 3, ["ended"]),
    "deepspeed_chat/step1_supervised_finetuning__opt-1.3b-globalBatchSize128.log": (
        STEP, 736, ["ok"]),
    "deepspeed_chat/step2_reward_model_finetuning__opt-350m_globalBatchSize-64.log": (
        STEP, 184, ["ok"]),
    # Step 0 is printed before the first step: an event.
    "deepspeed_cpu/pipe2_2proc.log": (rb"\] step=([1-9]\d*), skipped=", 4, ["ended"]),
    "deepspeed_cpu/pipe2_2proc_breakdown_FAILS.log": (NONE, 0, ["fail"]),
    "deepspeed_cpu/zero0_1proc_info.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    # All four steps, then `terminate called without an active exception` and return code -6.
    "deepspeed_cpu/zero0_2proc_deepspeed_launcher.log": (rb"\] step=([1-9]\d*),", 4, ["fail"]),
    # The logger is at WARNING: timers and memory, but no line with the number of a step.
    "deepspeed_cpu/zero1_2proc_breakdown.log": (STEP, 0, ["ended"]),
    "deepspeed_cpu/zero1_2proc_flops_profiler.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    "deepspeed_cpu/zero2_2proc.log": (rb"\] step=([1-9]\d*),", 4, ["ended"]),
    # Sixteen ranks draw the same bar.
    "hf_trainer_deepspeed/hf_ds_gpt2_base_n4-1832555.out": (BAR, 16, ["ok"]),
    # Two attempts that the launcher stopped without a word, and one that ended.
    "hf_trainer_deepspeed/hf_ds_gpt2_perf_n16_bs4-mbs8.out": (NONE, 0, ["fail", "fail", "ok"]),
    "jubench/DESCRIPTION.md.excerpts.txt": (MEGATRON, 5, ["ended"]),
    "jubench/README.md.excerpts.txt": (MEGATRON, 5, ["ended"]),
    "megatron_cpu/fugaku_1proc.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2_ac.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/fugaku_dp2_timers_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/fugaku_pp2_ds_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/fugaku_tp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_1proc_bf16_FAILS.log": (MEGATRON, 0, ["fail"]),
    "megatron_cpu/megatron_lm_dp2.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_dp2_recompute.log": (MEGATRON, 5, ["ok"]),
    "megatron_cpu/megatron_lm_tp2.log": (MEGATRON, 5, ["ok"]),
    # MLPerf counts samples: a step is a batch of them.
    "mlperf/Dell_results_XE9680x8H100-SXM-80GB_llama2_70b_lora_result_3.txt": (STATS, 5, ["ok"]),
    "mlperf/Google_results_cloud-tpu-v5p-1024-maxtext_gpt3_result_0.txt": (NONE, 0, ["ok"]),
    "mlperf/NVIDIA_results_eos_n8_ngc24.04_nemo_llama2_70b_lora_result_4.txt": (STATS, 6, ["ok"]),
    "msft_megatron_deepspeed/MoE_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log": (
        MEGATRON, 12, ["ended"]),
    # Ctrl-C: every process ends with KeyboardInterrupt.
    "msft_megatron_deepspeed/random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log":
        (MEGATRON, 60, ["cancelled"]),
    "msft_megatron_deepspeed/"
    "random_ltd_gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4_origin.log":
        (MEGATRON, 16, ["cancelled"]),
    "nemo/resiliency-in-pretraining-demo.ipynb.out.txt": (NEMO, 85, NEMO_RUNS),
    "nvidia_dgxc/llama3.1__README.md.excerpts.txt": (MEGATRON, 1, ["ok"]),
    "slurm/gpt-dp2.18.out": (MEGATRON, 2, ["ok"]),
    # What Slurm says of jobs: no log of a training.
    "slurm/sacct.txt": (NONE, 0, []),
    "slurm/slurm-12.out": (NONE, 0, []),
    "slurm/slurm-31.out": (NONE, 0, []),
}  # fmt: skip

# First and last step of a log: what its lines say, read by eye.
ENDS: list[tuple[str, dict[str, object], dict[str, object]]] = [
    (
        "argonne/ALCF__notes__cooldown*",
        {"iteration": 136004, "step_time_s": 3.4153, "loss": 12.316531, "tflops": 53.66},
        {"iteration": 136011, "lr": 2.0117746079462598e-05, "samples_per_s": 2602.3285686919153},
    ),
    (
        "argonne/ALCF__README*",
        {"iteration": 199, "step_time_s": 14.2875, "samples_per_s": 53.753},
        {"iteration": 200, "step_time_s": 14.5414, "samples_per_s": 52.815, "lr": 2.407e-4},
    ),
    (
        "deepspeed_chat/step1*",
        {"iteration": 10, "lr": 9.649992967150629e-06, "samples_per_s": 171.97903593624417},
        {"iteration": 7360, "samples_per_s": 171.46295365969803},
    ),
    (
        "deepspeed_cpu/pipe2_2proc.log",
        {"iteration": 1, "loss": 6.2654, "step_time_s": 0.077, "samples_per_s": 103.341},
        {"iteration": 4, "loss": 6.2339, "step_time_s": 0.086, "samples_per_s": 92.788},
    ),
    (
        "hf_trainer_deepspeed/hf_ds_gpt2_base*",
        {"iteration": 1, "step_time_s": 58.76},
        {"iteration": 16, "step_time_s": 55.0},
    ),
    (
        "nemo/*",
        {"iteration": 1, "step_time_s": 10.31, "loss": 11.03, "gbs": 512},
        {"iteration": 3, "step_time_s": 7.599, "consumed_samples": 1536},
    ),
    (
        "bigscience_megatron/meg_ds_zero*",
        {"iteration": 1, "step_time_s": 123.7424, "loss": 12.52221, "tflops": 41.31},
        {"iteration": 4, "step_time_s": 127.766, "loss": 38.99556, "tflops": 40.01},
    ),
    (
        "amd_primus/*",
        {"iteration": 4700, "step_time_s": 1.4608, "tflops": 633.7},
        {"iteration": 4700, "tokens_per_s_per_device": 180743.2},
    ),
    (
        "msft_megatron_deepspeed/MoE*",
        {"iteration": 10, "step_time_s": 0.942, "lr": 5.308e-07, "gbs": 256},
        {"iteration": 120, "step_time_s": 0.5915, "loss": 8.958018},
    ),
]  # fmt: skip


def steps_by_hand(data: bytes, pattern: bytes) -> int:
    """Lines that name a step; of an engine and a framework, the same number again is one step."""
    numbers = [int(found) for found in re.findall(pattern, data)]
    if pattern is BAR:
        return len(set(numbers) - {0})
    if b"step=" not in pattern:
        return len(numbers)
    return sum(a != b for a, b in zip([None, *numbers], numbers, strict=False))
