"""Megatron-LM, Megatron-DeepSpeed or DeepSpeedFugaku: `pretrain_gpt.py` of a checkout.

The available flags are read from the checkout, since they differ between forks and versions. The
newest Megatron-LM generates flags from its configuration dataclasses, which are read too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...schema.errors import BenchError
from ..trainer import CheckedCases, Sizes, Trainer, Words, check_flags
from .reference import Reference, idle, refused, sizes, work

if TYPE_CHECKING:
    from ..plan import Plan

# Argument files of the versions: core, then older forks.
ARGUMENTS = ("megatron/training/arguments.py", "megatron/arguments.py")
# The generator of flags from dataclasses, and the files of these.
FACTORY = "ArgumentGroupFactory"
CONFIGURATIONS = ("megatron/training/config/*.py", "megatron/core/**/*config.py")
# Our setting -> Megatron's flag, the same in all versions.
FLAGS = {
    "layers": "num-layers", "hidden": "hidden-size", "heads": "num-attention-heads",
    "seq_len": "seq-length", "mbs": "micro-batch-size", "gbs": "global-batch-size",
    "tp": "tensor-model-parallel-size", "pp": "pipeline-model-parallel-size",
    "train_iters": "train-iters",
}  # fmt: skip
# Flags that make Megatron's model a Llama; the rotary base does not affect speed.
LLAMA = {
    "swiglu": "", "disable-bias-linear": "", "untie-embeddings-and-output-weights": "",
    "normalization": "RMSNorm", "position-embedding-type": "rope", "group-query-attention": "",
}  # fmt: skip
# Settings checked by Megatron's own rules, not by those of the reference trainer.
OWN = ("zero_stage", "threads", "schedule", "dtype", "params_dtype", "compile", "attention")
# Our setting -> Megatron's flags; a version may lack any of them.
AXES = {
    "cp": "context-parallel-size", "ep": "expert-model-parallel-size",
    "vpp": "num-layers-per-virtual-pipeline-stage", "overlap_grad_reduce": "overlap-grad-reduce",
    "experts": "num-experts",
}  # fmt: skip
# Neither drops nor reroutes tokens to balance experts, as in the reference trainer.
TOP_K = "moe-router-topk"
MIXTURE = {"moe-router-load-balancing-type": "none", "moe-token-dispatcher-type": "alltoall"}
LOSS_SCALE = 65536  # DeepSpeed's default (initial_scale_power 16)
_FIELD = re.compile(r"^    (\w+)\s*:", re.M)


class Megatron(Trainer):
    """A plan for a real Megatron; `more` are arguments of the user: data, tokenizer."""

    needs = "path"
    example = 'trainer = "megatron" and path = "/opt/Megatron-LM"'
    spawns = False

    def __init__(self, path: Path, more: Sequence[str]) -> None:
        self.path, self.more = path, more

    @classmethod
    def of(cls, plan: Plan) -> Megatron:
        """The trainer with the plan's checkout."""
        return cls(Path(plan.path or "").expanduser().absolute(), plan.arguments)

    @cached_property
    def arguments(self) -> str:
        """The text of its `arguments.py`."""
        found = [self.path / name for name in ARGUMENTS if (self.path / name).is_file()]
        if not found or not (self.path / "pretrain_gpt.py").is_file():
            raise BenchError(
                "no Megatron checkout found",
                why=f"expected pretrain_gpt.py and one of {', '.join(ARGUMENTS)}",
                where=str(self.path),
                hint='path = "/opt/Megatron-LM" in the plan',
            )
        return found[0].read_text(encoding="utf-8", errors="replace")

    def has(self, flag: str) -> bool:
        """Whether this version has a flag."""
        if f"'--{flag}'" in self.arguments or f'"--{flag}"' in self.arguments:
            return True
        return flag.replace("-", "_") in self._fields

    @cached_property
    def _fields(self) -> frozenset[str]:
        """Fields of the configuration dataclasses, in a version that generates flags from them."""
        if FACTORY not in self.arguments:
            return frozenset()
        files = (file for pattern in CONFIGURATIONS for file in self.path.glob(pattern))
        texts = (file.read_text(encoding="utf-8", errors="replace") for file in files)
        return frozenset(name for text in texts for name in _FIELD.findall(text))

    def examine(self, requested: Sequence[Words]) -> CheckedCases:
        """Sizes as for the reference trainer, with refusals for what this version cannot do."""
        if not self.arguments:
            raise BenchError("arguments.py of the checkout is empty", where=str(self.path))
        plain = Reference()
        flags = [
            plain.flags({name: value for name, value in words.items() if name not in OWN})
            for words in requested
        ]
        answers = check_flags(flags)
        found = [self._sizes(*both) for both in zip(requested, answers.sizes, strict=True)]
        return CheckedCases(found, answers.device)

    def _sizes(self, words: Words, answer: Mapping[str, object]) -> Sizes:
        own = {"zero_stage": words.get("zero_stage", 0), "dtype": words.get("dtype", "fp32")}
        facts = sizes(answer) | own
        meant_nothing = idle(words, facts)
        why_not = refused(answer) or self._refused(words, meant_nothing)
        why_not = why_not or self._lacks(facts) or self._lacks_axes(words, facts)
        done = work(answer)
        done = done and {**done, **own, "threads": words.get("threads")}
        return Sizes(facts, why_not, meant_nothing, done)

    def _refused(self, words: Words, idle: Words) -> str | None:
        stage = words.get("zero_stage", 0)
        if words.get("schedule", "1f1b") != "1f1b" and "schedule" not in idle:
            return f"Megatron pipelines support 1F1B, not {words['schedule']}"
        if isinstance(stage, int) and stage > 0:
            if self.has("zero-stage"):
                if "--deepspeed_config" not in self.more:
                    return f"ZeRO-{stage} needs --deepspeed_config FILE in `arguments`"
                if stage > 1 and words.get("pp", 1) != 1:
                    return f"DeepSpeed pipelines do not support ZeRO-{stage}"
            elif stage > 1 or not self.has("use-distributed-optimizer"):
                return f"this Megatron version does not support ZeRO-{stage}"
        if words.get("device") == "cpu" and not self.has("no-cuda"):
            return "this Megatron version has no --no-cuda"
        dtype = words.get("dtype", "fp32")
        if dtype != "fp32" and not self.has(str(dtype)):
            return f"this Megatron version has no --{dtype}"
        if words.get("sequence_parallel") and not self.has("sequence-parallel"):
            return "this Megatron version has no --sequence-parallel"
        return None

    def _lacks(self, facts: Words) -> str | None:
        """A required Llama flag that this version does not have."""
        missing = [flag for flag in LLAMA if not self.has(flag)] if facts.get("swiglu") else []
        return f"this Megatron version has no --{missing[0]}, for a Llama" if missing else None

    def _lacks_axes(self, words: Words, facts: Words) -> str | None:
        """A parallel axis that this version or Megatron in general does not support."""
        for name in ("params_dtype", "compile", "attention"):
            if name in words:
                return f"{name} is of the reference trainer; Megatron has flags of its own"
        flags = [AXES[name] for name in _used(words, facts)]
        flags += [TOP_K, *MIXTURE] if facts.get("experts") else []
        if missing := [flag for flag in flags if not self.has(flag)]:
            return f"this Megatron version has no --{missing[0]}"
        if facts.get("experts") and facts.get("tp", 1) != 1 and not words.get("sequence_parallel"):
            return "Megatron needs sequence parallelism for experts with TP"
        return None

    def command(self, requested: Words, facts: Words) -> list[str]:
        """pretrain_gpt.py and its flags, without torchrun."""
        script = str(self.path / "pretrain_gpt.py")
        return [sys.executable, script, *self._flags(requested, facts), *self.more]

    def _flags(self, requested: Words, facts: Words) -> Iterator[str]:
        for name, flag in FLAGS.items():
            yield from (f"--{flag}", str(facts[name]))
        yield from ("--max-position-embeddings", str(facts["seq_len"]))
        if facts.get("swiglu"):
            for flag, value in LLAMA.items():
                yield from (f"--{flag}", value) if value else (f"--{flag}",)
            yield from ("--num-query-groups", str(facts["kv_heads"]))
            yield from ("--ffn-hidden-size", str(facts["ffn_hidden"]))
        yield from self._axes(requested, facts)
        yield from ("--lr", str(requested.get("lr", 1e-3)), "--lr-decay-style", "constant")
        yield from ("--weight-decay", str(requested.get("weight_decay", 0.1)))
        yield from ("--clip-grad", str(requested.get("clip_grad", 1.0)))
        yield from ("--adam-beta1", "0.9", "--adam-beta2", "0.95")
        yield from ("--seed", str(requested.get("seed", 1234)))
        yield from ("--log-interval", "1", "--eval-iters", "0")
        yield from self._dtype(facts)
        if requested.get("sequence_parallel"):
            yield "--sequence-parallel"
        yield from self._recompute(facts)
        yield from self._zero(requested)
        yield from self._place(requested, facts)

    def _axes(self, requested: Words, facts: Words) -> Iterator[str]:
        for name in _used(requested, facts):
            yield f"--{AXES[name]}"
            if name == "vpp":
                sizes = {one: int(str(facts[one])) for one in ("layers", "pp", "vpp")}
                yield str(sizes["layers"] // (sizes["pp"] * sizes["vpp"]))
            elif name != "overlap_grad_reduce":
                yield str(facts[name])
        if facts.get("experts"):
            yield from (f"--{TOP_K}", str(requested.get("top_k", 2)))
            for flag, value in MIXTURE.items():
                yield from (f"--{flag}", value)

    def _dtype(self, facts: Words) -> Iterator[str]:
        """Flags of the data type; Megatron's initial loss scale of 2^32 would skip all steps of a
        short run.
        """
        if facts["dtype"] != "fp32":
            yield f"--{facts['dtype']}"
        if facts["dtype"] == "fp16":
            yield from ("--initial-loss-scale", str(LOSS_SCALE))

    def _recompute(self, facts: Words) -> Iterator[str]:
        if facts.get("recompute") == "full":
            if self.has("recompute-granularity"):
                yield from ("--recompute-granularity", "full", "--recompute-method", "uniform")
                yield from ("--recompute-num-layers", "1")
            else:
                yield "--checkpoint-activations"

    def _zero(self, requested: Words) -> Iterator[str]:
        stage = requested.get("zero_stage", 0)
        if stage:
            if self.has("zero-stage"):
                yield from ("--deepspeed", "--zero-stage", str(stage))
                # Its pipeline engine, used even for one stage, rejects ZeRO-2 and 3.
                yield from ("--no-pipeline-parallel",) if str(stage) in "23" else ()
            else:
                yield "--use-distributed-optimizer"

    def _place(self, requested: Words, facts: Words) -> Iterator[str]:
        if requested.get("device") == "cpu":
            # Megatron does not combine torch's data parallelism with a pipeline.
            pipeline = facts.get("pp", 1) != 1
            yield from ("--no-cuda", "--distributed-backend", "gloo")
            yield from ("--DDP-impl", "local" if pipeline else "torch")
        if self.has("log-throughput"):
            yield "--log-throughput"
        if self.has("mock-data") and "--data-path" not in self.more:
            yield from ("--mock-data", "--tokenizer-type", "NullTokenizer")
            yield from ("--vocab-size", str(facts["vocab_unpadded"]))


def _used(words: Words, facts: Words) -> list[str]:
    """The parallel axes of a run."""
    values = {"overlap_grad_reduce": words.get("overlap_grad_reduce"), **facts}
    return [name for name in AXES if values.get(name) is True or (values.get(name) or 1) != 1]
