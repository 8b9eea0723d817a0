"""`python -m bench.trainer.train`: starts its ranks, or is one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from . import spawn
from .grid import GridError
from .options import parse

TOLD = ("WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def main(words: Sequence[str] | None = None) -> int:
    """Check what is asked for, then train; nothing is started for a run that cannot fit."""
    words = sys.argv[1:] if words is None else words
    options = parse(words)
    if "RANK" not in os.environ:
        command = [sys.executable, "-m", __spec__.name, *words]
        return spawn.run(command, options.grid.world)
    spawn.die_with_parent()
    try:
        missing = [name for name in TOLD if name not in os.environ]
        if missing:
            raise GridError(f"RANK is set, but not {', '.join(missing)}: torchrun sets them all")
        options.grid.fill(int(os.environ["WORLD_SIZE"]))
        from .loop import leave, train  # torch takes a second to import

        train(options)
    except GridError as misfit:
        print(f"error: {misfit}", file=sys.stderr)
        return 2
    leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
