"""What starts the processes of a run: a file each, which wraps the command line of the trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...schema.errors import BenchError
from ..plan import Plan
from .scheduler import Scheduler


class Launcher(Protocol):
    """One way to start a command; `command` only makes words, nothing runs."""

    here: bool  # whether it runs on this machine

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The words that start this trainer's command with so many processes on so many nodes."""


def launcher(plan: Plan) -> Launcher:
    """The launcher of a plan. Raises BenchError where it does not go with the trainer."""
    from .local import Local
    from .torchrun import Torchrun

    if (waiting := scheduler(plan)) is not None:
        return waiting
    if plan.launcher == "torchrun":
        if plan.trainer == "command":
            raise BenchError(
                "launcher = 'torchrun' does not go with trainer = 'command'",
                hint='write it into the command: "torchrun --nproc-per-node {ranks} train.py"',
            )
        return Torchrun()
    # Megatron's ranks have to be started by somebody.
    return Torchrun() if plan.trainer == "megatron" else Local()


def scheduler(plan: Plan) -> Scheduler | None:
    """The scheduler of a plan; None where it runs on this machine."""
    from .pbs import Pbs
    from .pjm import Pjm
    from .slurm import Slurm

    spawns = plan.trainer != "megatron"
    match plan.launcher:
        case "slurm":
            return Slurm(spawns)
        case "pbs":
            return Pbs(spawns)
        case "pjm":
            return Pjm()
    return None
