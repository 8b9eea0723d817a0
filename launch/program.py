"""A trainer and the launcher that starts it."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import Case
from .launcher import Launcher, Scheduler, launcher
from .plan import Plan
from .trainer import Trainer, trainer


@dataclass(frozen=True, slots=True)
class Program:
    """A trainer under a launcher."""

    trainer: Trainer
    launcher: Launcher

    @property
    def scheduler(self) -> Scheduler | None:
        """The launcher, if it is a scheduler."""
        return self.launcher if isinstance(self.launcher, Scheduler) else None

    def command(self, case: Case) -> list[str]:
        """The command line of a case."""
        words = self.trainer.command(case.requested, case.facts)
        if self.trainer.starts_all_ranks:
            return words
        return self.launcher.command(words, case.ranks, case.nodes)


def program(plan: Plan) -> Program:
    """The program of a plan. Raises BenchError if trainer and launcher cannot be combined."""
    trains = trainer(plan)
    return Program(trains, launcher(plan, trains))
