"""Logs of a job that loads and saves checkpoints, for tests."""

from __future__ import annotations

from tests.making import iteration

ARGUMENTS = """------------------------ arguments ------------------------
  num_layers ...................................... {layers}
  train_iters ..................................... 500000
-------------------- end of arguments ---------------------
"""
LOAD = "  successfully loaded checkpoint from /ckpt [ t 1/2, p 1/2 ] at iteration {}\n"
SAVE = "  successfully saved checkpoint from iteration {} to /ckpt\n"


def steps(first: int, last: int, layers: int = 4, load: int | None = None, save: int = 0) -> str:
    """A log of Megatron-LM from one step to another, that loads and saves a checkpoint."""
    head = ARGUMENTS.format(layers=layers) + (LOAD.format(load) if load else "")
    below = "".join(iteration(n, 100.0) + (SAVE.format(n) if n == save else "")
                    for n in range(first, last + 1))  # fmt: skip
    return head + below
