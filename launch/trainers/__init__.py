"""What trains: a file each, which turns settings into a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..plan import Plan

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


class Trainer(Protocol):
    """One kind of program."""

    framework: str | None  # as the warehouse names it; None: as its log says

    def missing(self) -> str | None:
        """What has to be installed before anything can run; None: nothing."""

    def examine(self, asked: Sequence[Words]) -> Examined:
        """What each combination comes to."""

    def command(self, asked: Words, facts: Words) -> list[str]:
        """The command line of a run, started once."""


def trainer(plan: Plan) -> Trainer:
    """The trainer of a plan."""
    from .command import Command
    from .deepspeed import DeepSpeed
    from .megatron import Megatron
    from .reference import Reference

    match plan.trainer:
        case "command":
            return Command(plan.command or "")
        case "deepspeed":
            return DeepSpeed()
        case "megatron":
            return Megatron(Path(plan.path or "").expanduser().absolute(), plan.arguments)
    return Reference()
