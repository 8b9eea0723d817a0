"""`python -m bench.trainer.train`: starts the ranks, or runs as one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from . import spawn
from .grid import GridError
from .options import Options, parse

TOLD = ("WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def fits(options: Options) -> None:
    """Refuse nothing: the reference trainer runs all valid options."""


def main(
    words: Sequence[str] | None = None,
    program: str = __spec__.name,
    loop: str = "loop",
    fits: Callable[[Options], None] = fits,
) -> int:
    """Check the options, then train; a run that does not fit starts nothing.

    `loop` is the module with a rank's `train`, and `fits` an additional check.
    """
    words = sys.argv[1:] if words is None else words
    options = parse(words)
    try:
        fits(options)
        if "RANK" not in os.environ:
            return spawn.run([sys.executable, "-P", "-m", program, *words], options.grid.world)
        spawn.die_with_parent()
        missing = [name for name in TOLD if name not in os.environ]
        if missing:
            raise GridError(f"RANK is set, but not {', '.join(missing)}: torchrun sets them all")
        options.grid.fill(int(os.environ["WORLD_SIZE"]))
        module = import_module(f".{loop}", __package__)  # torch takes a second to import
        module.train(options)
    except GridError as error:
        print(f"python -m {program}: error: {error}", file=sys.stderr)
        return 2
    spawn.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
