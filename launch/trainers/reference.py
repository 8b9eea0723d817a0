"""The reference trainer, which is asked as a program: its flags are the contract."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from . import Examined, Sizes, Words
from .checker import ask

# Our word -> the trainer's flag.
FLAGS = {
    "model": "preset", "layers": "layers", "hidden": "hidden", "heads": "heads",
    "seq_len": "seq-len", "vocab": "vocab", "dp": "dp", "tp": "tp", "pp": "pp",
    "schedule": "schedule", "sequence_parallel": "sequence-parallel", "zero_stage": "zero",
    "mbs": "mbs", "gbs": "gbs", "iterations": "iters", "recompute": "recompute", "dtype": "dtype",
    "lr": "lr", "weight_decay": "weight-decay", "clip_grad": "clip-grad", "seed": "seed",
    "device": "device", "threads": "threads",
}  # fmt: skip
SIZES = frozenset({
    "ranks", "dp", "tp", "pp", "mbs", "gbs", "grad_accum", "zero_stage", "sequence_parallel",
    "layers", "hidden", "heads", "seq_len", "vocab", "vocab_unpadded", "params_stated", "dtype",
    "recompute", "train_iters",
})  # fmt: skip


class Reference:
    """`python -m bench.trainer.train`, which starts its own ranks."""

    program = "bench.trainer.train"
    framework: str | None = "bench.trainer"

    def missing(self) -> str | None:
        """torch comes with the extra."""
        if find_spec("torch") is None:
            return "torch is not installed: pip install 'bench-warehouse[trainer]'"
        return None

    def examine(self, asked: Sequence[Words]) -> Examined:
        """What the trainer says itself."""
        answers = ask([self.flags(words) for words in asked])
        both = zip(asked, answers.sizes, strict=True)
        return Examined([self._sizes(*one) for one in both], answers.device)

    def _sizes(self, words: Words, answer: Words) -> Sizes:
        facts = sizes(answer)
        return Sizes(facts, self._refused(words, answer), idle(words, facts), work(answer))

    def _refused(self, words: Words, answer: Words) -> str | None:
        if words.get("dtype") == "fp16":
            return f"{self.program} has no fp16, which needs a loss scale: take fp32 or bf16"
        return refused(answer)

    def flags(self, words: Words) -> list[str]:
        """The settings in the trainer's words."""
        given: list[str] = []
        for name, flag in FLAGS.items():
            value = words.get(name)
            if value is True:
                given.append(f"--{flag}")
            elif value is not None and value is not False:
                given += [f"--{flag}", str(value)]
        return given

    def command(self, asked: Words, facts: Words) -> list[str]:
        """The trainer in this Python."""
        return [sys.executable, "-m", self.program, *self.flags(asked)]


def sizes(answer: Words) -> dict[str, object]:
    """What of an answer are columns of the warehouse."""
    return {name: value for name, value in answer.items() if name in SIZES}


def refused(answer: Words) -> str | None:
    """Why the trainer would not run it."""
    told = answer.get("refused")
    return None if told is None else str(told)


def idle(words: Words, facts: Words) -> dict[str, str]:
    """Settings that mean nothing at these sizes, and why."""
    if "schedule" in words and facts.get("pp", 1) == 1:
        return {"schedule": "a pipeline of one stage has no schedule"}
    return {}


def work(answer: Words) -> Words | None:
    """Every option of the run, defaults included."""
    told = answer.get("work")
    return told if isinstance(told, dict) else None
