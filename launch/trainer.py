"""Interface of trainers: settings to sizes and command lines; each is a file of trainers/."""

from __future__ import annotations

import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ..schema.errors import BenchError
from . import registry

if TYPE_CHECKING:
    from .plan import Plan


Words = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes derived from settings, by warehouse column; `refused` is why they cannot run."""

    facts: dict[str, object] = field(default_factory=dict)
    refused: str | None = None
    idle: Mapping[str, str] = field(default_factory=dict)  # settings without an effect: why
    work: Mapping[str, object] | None = None  # every option, defaults included; None: unknown


@dataclass(frozen=True, slots=True)
class CheckedCases:
    """The sizes of each combination, and the local device if the trainer knows it."""

    sizes: list[Sizes]
    device: str | None = None


class Trainer(ABC):
    """A kind of training program."""

    framework: str | None = None  # as in the warehouse; None: as stated by the log
    needs: ClassVar[str | None] = None  # key of a plan that only this trainer takes
    example: ClassVar[str] = ""  # example of that key
    spawns: ClassVar[bool] = True  # whether it starts the processes of a single node itself
    starts_all_ranks: ClassVar[bool] = (
        False  # whether its command starts all processes, without a launcher
    )

    @classmethod
    def of(cls, plan: Plan) -> Trainer:
        """The trainer with its options of the plan."""
        return cls()

    def missing(self) -> str | None:
        """A missing requirement of all runs; None if none is known."""
        return None

    @abstractmethod
    def examine(self, requested: Sequence[Words]) -> CheckedCases:
        """The sizes of each combination."""

    @abstractmethod
    def command(self, requested: Words, facts: Words) -> list[str]:
        """The command line of a run, before any launcher."""


def trainer_class(name: str) -> type[Trainer]:
    """The class of a trainer by its name in plans."""
    found = registry.load("trainers", name)
    assert issubclass(found, Trainer), f"trainers/{name}.py defines no trainer"
    return found


def trainer(plan: Plan) -> Trainer:
    """The trainer of a plan."""
    return trainer_class(plan.trainer).of(plan)


@dataclass(frozen=True, slots=True)
class Answers:
    """The local device, and the check of each list of flags."""

    device: str | None
    sizes: list[dict[str, object]]


def check_flags(flags: Sequence[Sequence[str]], program: str = "bench.trainer.train") -> Answers:
    """The output of `bench.trainer.check` for lists of flags; it does not need torch."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "bench.trainer.check", program],
        input="".join(json.dumps(list(words)) + "\n" for words in flags),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError("the trainer's size check failed", why=done.stderr.strip()[-400:])
    first, *answers = map(json.loads, done.stdout.splitlines())
    return Answers(first["device"], answers)
