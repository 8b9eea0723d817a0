"""What is run: a trainer, and what starts it."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import Case
from .launchers import Launcher, launcher
from .plan import Plan
from .trainers import Trainer, trainer


@dataclass(frozen=True, slots=True)
class Program:
    """A trainer under a launcher."""

    trainer: Trainer
    launcher: Launcher

    def command(self, case: Case) -> list[str]:
        """What is run for a case, as words."""
        words = self.trainer.command(case.asked, case.facts)
        return self.launcher.command(words, case.ranks)


def program(plan: Plan) -> Program:
    """The program of a plan. Raises BenchError where trainer and launcher do not go together."""
    return Program(trainer(plan), launcher(plan))
