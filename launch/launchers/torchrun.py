"""On this machine, with torchrun: workers in sessions of their own, an exit code of 1 for all."""

from __future__ import annotations

from collections.abc import Sequence

from ...schema.errors import BenchError
from ..launcher import Launcher, in_every_rank
from ..trainer import Trainer


class Torchrun(Launcher):
    """`torchrun --standalone` in front of what Python is told to run."""

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """Raises BenchError for a command, which starts all of its processes itself."""
        if trainer.starts_all_ranks:
            raise BenchError(
                "launcher = 'torchrun' does not support trainer = 'command'",
                hint='put torchrun into the command: "torchrun --nproc-per-node {ranks} train.py"',
            )
        return cls()

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """torchrun, which runs the words of the trainer in every rank."""
        return in_every_rank(words, "--standalone", "--nproc-per-node", str(ranks))
