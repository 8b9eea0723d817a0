"""The command of a real Megatron, word for word, for the flags that its version has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.launch.cases import Expansion, expand
from bench.launch.plan import Plan
from bench.launch.program import program
from bench.launch.reading import check_plan
from bench.schema.errors import BenchError

# What the versions define in their arguments.py, as far as plans speak of it.
CORE = ("fp16", "bf16", "recompute-granularity", "use-distributed-optimizer",
        "sequence-parallel", "mock-data", "log-throughput")  # fmt: skip
MICROSOFT = ("fp16", "bf16", "recompute-granularity", "sequence-parallel", "zero-stage")
FUGAKU = ("fp16", "checkpoint-activations", "no-cuda", "zero-stage")
SAME = [
    "--num-layers", "12", "--hidden-size", "768", "--num-attention-heads", "12",
    "--seq-length", "1024", "--micro-batch-size", "2", "--global-batch-size", "16",
    "--tensor-model-parallel-size", "2", "--pipeline-model-parallel-size", "1",
    "--train-iters", "10", "--max-position-embeddings", "1024", "--lr", "0.001",
    "--lr-decay-style", "constant", "--weight-decay", "0.1", "--clip-grad", "1.0",
    "--adam-beta1", "0.9", "--adam-beta2", "0.95", "--seed", "1234", "--log-interval", "1",
    "--eval-iters", "0",
]  # fmt: skip
SETTINGS = {"model": "124m", "dp": 2, "tp": 2, "mbs": 2, "gbs": 16, "iterations": 10}


def checkout(folder: Path, place: str, flags: tuple[str, ...]) -> Path:
    """The two files of a checkout that a plan looks at."""
    arguments = folder / place / "arguments.py"
    arguments.parent.mkdir(parents=True)
    lines = [f"    group.add_argument('--{flag}', action='store_true')" for flag in flags]
    arguments.write_text("\n".join(lines))
    (folder / "pretrain_gpt.py").touch()
    return folder


def planned(path: Path, arguments: list[str], **more: object) -> tuple[Plan, Expansion]:
    values = {
        "trainer": "megatron", "path": str(path), "arguments": arguments,
        "settings": {**SETTINGS, **more},
    }  # fmt: skip
    plan = check_plan(values, "here")
    return plan, expand(plan, program(plan).trainer)


def words(path: Path, arguments: list[str], **more: object) -> list[str]:
    """The flags behind torchrun and the script."""
    plan, found = planned(path, arguments, **more)
    [case] = found.cases
    return behind_torchrun(path, program(plan).command(case))


def behind_torchrun(path: Path, command: list[str]) -> list[str]:
    """The flags of the script that torchrun runs in each of four ranks."""
    run = ["-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    started = [sys.executable, *run, "--no-python", sys.executable, str(path / "pretrain_gpt.py")]
    assert command[: len(started)] == started
    return command[len(started) :]


def test_megatron_lm(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron/training", CORE)
    assert words(path, [], dtype="bf16", zero_stage=1, recompute="full") == [
        *SAME, "--bf16", "--recompute-granularity", "full", "--recompute-method", "uniform",
        "--recompute-num-layers", "1", "--use-distributed-optimizer", "--log-throughput",
        "--mock-data", "--tokenizer-type", "NullTokenizer", "--vocab-size", "50257",
    ]  # fmt: skip


LLAMA = ("swiglu", "disable-bias-linear", "untie-embeddings-and-output-weights", "normalization",
         "position-embedding-type", "group-query-attention")  # fmt: skip


def test_a_llama(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron/training", (*CORE, *LLAMA))
    found = words(path, [], model="llama-8b", tp=4, dp=1)
    begin, end = found.index("--swiglu"), found.index("--lr")
    assert found[begin:end] == [
        "--swiglu", "--disable-bias-linear", "--untie-embeddings-and-output-weights",
        "--normalization", "RMSNorm", "--position-embedding-type", "rope",
        "--group-query-attention", "--num-query-groups", "8", "--ffn-hidden-size", "14336",
    ]  # fmt: skip


AXES = ("context-parallel-size", "num-layers-per-virtual-pipeline-stage", "overlap-grad-reduce",
        "num-experts", "expert-model-parallel-size")  # fmt: skip
MIXTURE = ("num-experts", "moe-router-topk", "moe-router-load-balancing-type",
           "moe-token-dispatcher-type")  # fmt: skip
MIXTRAL = {"model": "mixtral-8x7b", "sequence_parallel": True}


def test_the_other_axes(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron/training", (*CORE, *LLAMA, *AXES, *MIXTURE))
    cut = {"tp": 1, "dp": 1, "cp": 2, "pp": 2, "vpp": 4, "ep": 2, "overlap_grad_reduce": True}
    found = words(path, [], model="mixtral-8x7b", top_k=1, **cut)
    begin, end = found.index("--context-parallel-size"), found.index("--lr")
    assert found[begin:end] == [
        "--context-parallel-size", "2", "--expert-model-parallel-size", "2",
        "--num-layers-per-virtual-pipeline-stage", "4", "--overlap-grad-reduce",
        "--num-experts", "8", "--moe-router-topk", "1",
        "--moe-router-load-balancing-type", "none", "--moe-token-dispatcher-type", "alltoall",
    ]  # fmt: skip


def test_a_llama_needs_a_megatron_that_has_one(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron/training", (*CORE, *LLAMA[:-1]))
    _, found = planned(path, [], model=["124m", "llama-8b"])
    why = "this Megatron version has no --group-query-attention, for a Llama"
    assert [one.why for one in found.dropped] == [why]


def test_megatron_lm_that_makes_flags_of_fields(tmp_path: Path) -> None:
    """The newest `arguments.py` names few flags itself: they are fields of configurations."""
    path = checkout(tmp_path, "megatron/training", ("use-distributed-optimizer", "mock-data"))
    with (path / "megatron/training/arguments.py").open("a") as stream:
        stream.write("\n    ArgumentGroupFactory(TransformerConfig).build_group(parser)\n")
    for file, field in (
        ("megatron/training/config/training_config.py", "log_throughput: bool = False"),
        ("megatron/core/transformer/transformer_config.py", "recompute_granularity: str = None"),
        ("megatron/core/model_parallel_config.py", "sequence_parallel: bool = False"),
    ):
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(f"@dataclass\nclass Config:\n    {field}\n")
    assert words(path, [], zero_stage=1, recompute="full", sequence_parallel=True) == [
        *SAME, "--sequence-parallel", "--recompute-granularity", "full",
        "--recompute-method", "uniform", "--recompute-num-layers", "1",
        "--use-distributed-optimizer", "--log-throughput", "--mock-data",
        "--tokenizer-type", "NullTokenizer", "--vocab-size", "50257",
    ]  # fmt: skip


def test_megatron_deepspeed(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron", MICROSOFT)
    data = ["--data-path", "x", "--deepspeed_config", "ds.json"]
    assert words(path, data, zero_stage=2, sequence_parallel=True) == [
        *SAME, "--sequence-parallel", "--deepspeed", "--zero-stage", "2", "--no-pipeline-parallel",
        *data,
    ]  # fmt: skip
    _, found = planned(path, data, zero_stage=[1, 2], pp=[1, 2])
    assert [one.why for one in found.dropped] == ["DeepSpeed pipelines do not support ZeRO-2"]


def test_deepspeedfugaku_on_processors(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron", FUGAKU)
    data = ["--data-path", "x", "--vocab-file", "vocab.json", "--merge-file", "merges.txt"]
    assert words(path, data, device="cpu", recompute="full") == [
        *SAME, "--checkpoint-activations", "--no-cuda", "--distributed-backend", "gloo",
        "--DDP-impl", "torch", *data,
    ]  # fmt: skip


def test_fp16_begins_with_a_loss_scale_that_short_runs_survive(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron", MICROSOFT)
    assert words(path, [], dtype="fp16") == [*SAME, "--fp16", "--initial-loss-scale", "65536"]
    [case] = planned(path, [], dtype="fp16")[1].cases
    assert case.facts["dtype"] == "fp16"


def test_a_pipeline_of_one_stage_runs_once_whatever_its_schedule(tmp_path: Path) -> None:
    path = checkout(tmp_path, "megatron/training", CORE)
    _, found = planned(path, [], schedule=["1f1b", "gpipe"], pp=[1, 2])
    assert [case.label for case in found.cases] == ["pp=1", "pp=2, schedule=1f1b"]
    assert [one.why for one in found.dropped] == [
        "schedule has no effect with PP 1: duplicate of pp=1",
        "Megatron pipelines support 1F1B, not gpipe",
    ]


@pytest.mark.parametrize(
    ("flags", "settings", "why"),
    [
        (FUGAKU, {"dtype": "bf16"}, "this Megatron version has no --bf16"),
        (CORE, {"schedule": "gpipe", "pp": 2}, "Megatron pipelines support 1F1B, not gpipe"),
        (CORE, {"zero_stage": 3}, "this Megatron version does not support ZeRO-3"),
        (CORE, {"device": "cpu"}, "this Megatron version has no --no-cuda"),
        (FUGAKU, {"zero_stage": 1}, "ZeRO-1 needs --deepspeed_config FILE in `arguments`"),
        (CORE, {"cp": 2}, "this Megatron version has no --context-parallel-size"),
        (CORE, {"compile": True}, "compile is of the reference trainer"),
        ((*CORE, *LLAMA, *MIXTURE), {"model": "mixtral-8x7b"}, "needs sequence parallelism"),
        ((*CORE, *LLAMA, MIXTURE[0], *MIXTURE[2:]), MIXTRAL, "has no --moe-router-topk"),
        ((*CORE, *LLAMA, *MIXTURE[:2], MIXTURE[3]), MIXTRAL, "no --moe-router-load-balancing-type"),
        ((*CORE, *LLAMA, *MIXTURE[:3]), MIXTRAL, "has no --moe-token-dispatcher-type"),
        (FUGAKU, {"sequence_parallel": True}, "this Megatron version has no --sequence-parallel"),
    ],
)
def test_what_a_version_cannot_do_is_dropped(
    tmp_path: Path, flags: tuple[str, ...], settings: dict[str, object], why: str
) -> None:
    path = checkout(tmp_path, "megatron", flags)
    with pytest.raises(BenchError) as caught:
        planned(path, [], **settings)
    assert why in caught.value.why


@pytest.mark.parametrize("launcher", ["slurm", "pbs"])
def test_a_job_of_one_node_starts_every_rank(tmp_path: Path, launcher: str) -> None:
    """Megatron starts no processes itself: alone it would run as one, whatever the label says."""
    path = checkout(tmp_path, "megatron/training", CORE)
    values = {"trainer": "megatron", "path": str(path), "launcher": launcher, "settings": SETTINGS}
    plan = check_plan(values, "here")
    [case] = expand(plan, program(plan).trainer).cases
    assert behind_torchrun(path, program(plan).command(case))


def test_a_folder_that_is_no_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no Megatron checkout"):
        planned(tmp_path, [])
