"""`python -m bench.trainer.check`: check whether runs fit, without starting any.

Reads a JSON list of flags per line from stdin, and prints a JSON object per line: the sizes of the
run, all of its options as `work`, and `refused` with the numbers if it does not fit. The first line
is the device. An argument selects another trainer: `bench.trainer.deepspeed`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import NoReturn

from . import environment
from .options import Options, options, parser
from .presets import SIZES, shaped

LABELS = ("preset", "changes")  # how a run was requested, not its effect
GPU = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


class RaisingParser(argparse.ArgumentParser):
    """A parser that raises instead of ending the program."""

    def error(self, message: str) -> NoReturn:
        """Raise the error of the flags."""
        raise ValueError(message)


def answer(words: Sequence[str], fits: Callable[[Options], None]) -> dict[str, object]:
    """The sizes of the run with these flags, without unknown ones."""
    known: dict[str, object] = {}
    try:
        given = parser(RaisingParser).parse_args(words)
        known |= {name: getattr(given, name) for name in ("dp", "tp", "pp", "cp", "ep", "mbs")}
        known |= {"vpp": given.vpp} if given.vpp > 1 else {}
        shape, _ = shaped(given.preset, {name: getattr(given, name) for name in SIZES})
        known |= asdict(shape) | {"params_stated": shape.parameters()}
        if shape.is_llama:
            known |= {"kv_heads": shape.kv, "ffn_hidden": shape.ffn, "swiglu": True}
            known |= {"experts": shape.experts} if shape.experts else {}
        run = options(given)
        fits(run)
    except ValueError as error:  # GridError is one
        return known | {"refused": str(error)}
    return known | {
        "vocab": run.vocab,
        "vocab_unpadded": run.shape.vocab,
        "ranks": run.grid.world,
        "gbs": run.gbs,
        "grad_accum": run.micro_batches,
        "zero_stage": run.zero,
        "sequence_parallel": run.sequence_parallel,
        "dtype": run.dtype,
        "recompute": run.recompute,
        "train_iters": run.iters,
        "work": {name: value for name, value in asdict(run).items() if name not in LABELS},
    }


def device() -> str | None:
    """The GPU, else the processor, with the name in a run's environment line."""
    gpu = environment.output(*GPU).partition("\n")[0].strip()
    return gpu or environment.lscpu(environment.output("lscpu")).get("model")


def main(program: str = "bench.trainer.train") -> None:
    """Answer line by line, for the trainer with these flags."""
    fits = import_module(program).fits
    print(json.dumps({"device": device()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), fits)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
