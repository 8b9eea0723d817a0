"""What is run: a trainer, and what starts it."""

from __future__ import annotations

from dataclasses import dataclass

from .cases import Case
from .launchers import Launcher, launcher, scheduler
from .launchers.scheduler import Scheduler
from .plan import Plan
from .trainers import Trainer, trainer


@dataclass(frozen=True, slots=True)
class Program:
    """A trainer under a launcher."""

    trainer: Trainer
    launcher: Launcher
    scheduler: Scheduler | None  # the launcher again, if it is one
    whole: bool = False  # the command starts all of its processes itself

    def command(self, case: Case) -> list[str]:
        """What is run for a case, as words."""
        words = self.trainer.command(case.asked, case.facts)
        if self.whole:
            return words
        return self.launcher.command(words, case.ranks, case.nodes)


def program(plan: Plan) -> Program:
    """The program of a plan. Raises BenchError where trainer and launcher do not go together."""
    return Program(trainer(plan), launcher(plan), scheduler(plan), plan.trainer == "command")
