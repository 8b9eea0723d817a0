"""`python -m bench.trainer.deepspeed`: the same model and samples through DeepSpeed's engine."""

from __future__ import annotations

import sys

from .grid import GridError
from .options import Options
from .train import main


def fits(options: Options) -> None:
    """Refuse options that are not supported with the engine; ZeRO is the engine's own."""
    grid = options.grid
    if options.params_dtype != "fp32" or options.overlap_grad_reduce:
        raise GridError("DeepSpeed's engine has its own overlap, and parameters in fp32 here")
    if grid.world > grid.dp or grid.ep > 1:
        raise GridError(
            f"the DeepSpeed trainer supports only data parallelism, and {grid} shares layers too: "
            "TP, PP, CP and EP are 1, or take bench.trainer.train"
        )


if __name__ == "__main__":
    sys.exit(main(program=__spec__.name, loop="engine", fits=fits))
