"""The reference trainer, checked and run as a program: its flags are the contract."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from ..trainer import CheckedCases, Sizes, Trainer, Words, check_flags

# Our setting -> the trainer's flag.
FLAGS = {
    "model": "preset", "layers": "layers", "hidden": "hidden", "heads": "heads",
    "seq_len": "seq-len", "vocab": "vocab", "kv_heads": "kv-heads",
    "ffn_hidden": "ffn-hidden", "experts": "experts", "top_k": "top-k",
    "dp": "dp", "tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "vpp": "vpp",
    "overlap_grad_reduce": "overlap-grad-reduce", "params_dtype": "params-dtype",
    "compile": "compile", "attention": "attention",
    "schedule": "schedule", "sequence_parallel": "sequence-parallel", "zero_stage": "zero",
    "mbs": "mbs", "gbs": "gbs", "iterations": "iters", "recompute": "recompute", "dtype": "dtype",
    "lr": "lr", "weight_decay": "weight-decay", "clip_grad": "clip-grad", "seed": "seed",
    "device": "device", "threads": "threads",
}  # fmt: skip
SIZES = frozenset({
    "ranks", "dp", "tp", "pp", "cp", "ep", "vpp", "experts", "mbs", "gbs", "grad_accum",
    "zero_stage", "sequence_parallel", "layers", "hidden", "heads", "kv_heads", "ffn_hidden",
    "swiglu", "seq_len", "vocab", "vocab_unpadded", "params_stated", "dtype", "recompute",
    "train_iters",
})  # fmt: skip


class Reference(Trainer):
    """`python -m bench.trainer.train`, which spawns its own ranks."""

    program = "bench.trainer.train"
    framework: str | None = "bench.trainer"

    def missing(self) -> str | None:
        """torch, which is in an extra."""
        if find_spec("torch") is None:
            return "torch is not installed: pip install 'bench-warehouse[trainer]'"
        return None

    def examine(self, requested: Sequence[Words]) -> CheckedCases:
        """The sizes reported by the trainer's own check."""
        answers = check_flags([self.flags(words) for words in requested], self.program)
        both = zip(requested, answers.sizes, strict=True)
        return CheckedCases([self._sizes(*one) for one in both], answers.device)

    def _sizes(self, words: Words, answer: Words) -> Sizes:
        facts = sizes(answer)
        return Sizes(facts, self._refused(words, answer), idle(words, facts), work(answer))

    def _refused(self, words: Words, answer: Words) -> str | None:
        if words.get("dtype") == "fp16":
            return f"{self.program} does not support fp16 (no loss scaling); use fp32 or bf16"
        return refused(answer)

    def flags(self, words: Words) -> list[str]:
        """The settings as flags of the trainer."""
        given: list[str] = []
        for name, flag in FLAGS.items():
            value = words.get(name)
            if value is True:
                given.append(f"--{flag}")
            elif value is not None and value is not False:
                given += [f"--{flag}", str(value)]
        return given

    def command(self, requested: Words, facts: Words) -> list[str]:
        """The trainer run by this Python."""
        return [sys.executable, "-P", "-m", self.program, *self.flags(requested)]


def sizes(answer: Words) -> dict[str, object]:
    """The part of a check's answer that are warehouse columns."""
    return {name: value for name, value in answer.items() if name in SIZES and value is not None}


def refused(answer: Words) -> str | None:
    """Why the trainer rejects the flags."""
    value = answer.get("refused")
    return None if value is None else str(value)


def idle(words: Words, facts: Words) -> dict[str, str]:
    """Settings without an effect at these sizes, and why."""
    found = {}
    if "schedule" in words and facts.get("pp", 1) == 1:
        found["schedule"] = "schedule has no effect with PP 1"
    if "overlap_grad_reduce" in words and facts.get("dp", 1) == facts.get("cp", 1) == 1:
        found["overlap_grad_reduce"] = "overlap_grad_reduce has no effect with DP 1 and CP 1"
    return found


def work(answer: Words) -> Words | None:
    """Every option of the run, defaults included."""
    value = answer.get("work")
    return value if isinstance(value, dict) else None
