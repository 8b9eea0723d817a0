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
        sizes = [
            Sizes({name: value for name, value in one.items() if name in SIZES}, _refused(one))
            for one in answers.sizes
        ]
        return Examined(sizes, answers.device)

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


def _refused(answer: Words) -> str | None:
    refused = answer.get("refused")
    return None if refused is None else str(refused)
