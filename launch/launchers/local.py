"""Local launch by the trainer itself."""

from __future__ import annotations

from collections.abc import Sequence

from ..launcher import Launcher
from ..trainer import Trainer
from .torchrun import Torchrun


class Local(Launcher):
    """Runs the command unchanged: the reference trainer starts its own ranks."""

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """Raises BenchError for a trainer that needs a launcher to start its ranks."""
        return cls() if trainer.spawns else Torchrun()

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The trainer's own command line."""
        return list(words)
