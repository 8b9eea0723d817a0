"""Local launch by torchrun: workers have their own sessions, and any failure exits with 1."""

from __future__ import annotations

from collections.abc import Sequence

from ...schema.errors import BenchError
from ..launcher import Launcher, in_every_rank
from ..trainer import Trainer


class Torchrun(Launcher):
    """`torchrun --standalone` in front of Python's arguments."""

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """Raises BenchError for the trainer `command`, which starts all processes itself."""
        if trainer.starts_all_ranks:
            raise BenchError(
                "launcher = 'torchrun' does not support trainer = 'command'",
                hint='put torchrun into the command: "torchrun --nproc-per-node {ranks} train.py"',
            )
        return cls()

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """torchrun, which runs the trainer's command in every rank."""
        return in_every_rank(words, "--standalone", "--nproc-per-node", str(ranks))
