"""On this machine, as the trainer starts itself."""

from __future__ import annotations

from collections.abc import Sequence

from ..launcher import Launcher
from ..trainer import Trainer
from .torchrun import Torchrun


class Local(Launcher):
    """The command as it is: the reference trainer starts its own ranks."""

    @classmethod
    def of(cls, trainer: Trainer) -> Launcher:
        """Ranks that their trainer does not start have to be started by somebody."""
        return cls() if trainer.spawns else Torchrun()

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The words of the trainer."""
        return list(words)
