"""What trains: settings to sizes and to a command line. Each trainer is a file of trainers/."""

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
    """What follows from settings, by columns of the warehouse; `refused` says why it cannot run."""

    facts: dict[str, object] = field(default_factory=dict)
    refused: str | None = None
    idle: Mapping[str, str] = field(default_factory=dict)  # settings without a meaning here: why
    work: Mapping[str, object] | None = None  # every option, defaults included; None: not known


@dataclass(frozen=True, slots=True)
class Examined:
    """The sizes of each combination asked for, and the device here, if the trainer knows."""

    sizes: list[Sizes]
    device: str | None = None


class Trainer(ABC):
    """One kind of program."""

    framework: str | None = None  # as the warehouse names it; None: as its log says
    needs: ClassVar[str | None] = None  # the word of a plan that this trainer alone takes
    example: ClassVar[str] = ""  # of that word
    spawns: ClassVar[bool] = True  # whether it starts its processes of one node itself
    starts_all_ranks: ClassVar[bool] = (
        False  # whether its command starts all processes: no launcher in front
    )

    @classmethod
    def of(cls, plan: Plan) -> Trainer:
        """The trainer with what the plan says to it."""
        return cls()

    def missing(self) -> str | None:
        """What has to be installed before anything can run; None: nothing that we know of."""
        return None

    @abstractmethod
    def examine(self, requested: Sequence[Words]) -> Examined:
        """What each combination comes to."""

    @abstractmethod
    def command(self, requested: Words, facts: Words) -> list[str]:
        """The command line of a run, started once."""


def trainer_class(name: str) -> type[Trainer]:
    """The class of a trainer by its word in plans."""
    found = registry.load("trainers", name)
    assert issubclass(found, Trainer), f"trainers/{name}.py defines no trainer"
    return found


def trainer(plan: Plan) -> Trainer:
    """The trainer of a plan."""
    return trainer_class(plan.trainer).of(plan)


@dataclass(frozen=True, slots=True)
class Answers:
    """The device here, and what each list of flags comes to."""

    device: str | None
    sizes: list[dict[str, object]]


def check_flags(flags: Sequence[Sequence[str]], program: str = "bench.trainer.train") -> Answers:
    """What `bench.trainer.check` says of such runs of a program; torch is not needed for it."""
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
