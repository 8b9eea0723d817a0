"""What starts the processes of a run: a file each, which wraps the command line of the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...schema.errors import BenchError
from ..plan import Plan


class Launcher(Protocol):
    """One way to start a command; `command` only makes words, nothing runs."""

    here: bool  # whether it runs on this machine

    def command(self, words: Sequence[str], ranks: int) -> list[str]:
        """The words that start this trainer's command with so many processes."""


def launcher(plan: Plan) -> Launcher:
    """The launcher of a plan. Raises BenchError where it does not go with the trainer."""
    from .local import Local
    from .torchrun import Torchrun

    if plan.launcher == "torchrun":
        if plan.trainer == "command":
            raise BenchError(
                "launcher = 'torchrun' does not go with trainer = 'command'",
                hint='write it into the command: "torchrun --nproc-per-node {ranks} train.py"',
            )
        return Torchrun()
    return Local()
