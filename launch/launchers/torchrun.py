"""On this machine, with torchrun: workers in sessions of their own, an exit code of 1 for all."""

from __future__ import annotations

from collections.abc import Sequence


class Torchrun:
    """`torchrun --standalone` in front of what Python is told to run."""

    here = True

    def command(self, words: Sequence[str], ranks: int, nodes: int) -> list[str]:
        """The trainer's Python runs torchrun, which runs the rest of its words in every rank."""
        python, *rest = words
        run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        return [python, *run, *rest]
