"""One step's forward and backward passes: over micro-batches, and over stages if there are some."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from .model import Stage

SCHEDULES: dict[str, Any] = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}


class Passes(Protocol):
    """Adds a step's gradients to the parameters' and gives its mean loss, where there is one."""

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """All samples of this replica in, their mean loss out; zero but on the last stage."""


class Accumulation:
    """The whole model in one place: micro-batch after micro-batch."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Gradients add up over the micro-batches, each with its share of the mean."""
        count = self.stage.options.micro_batches
        total = torch.zeros((), device=tokens.device)
        for x, y in zip(tokens.chunk(count), targets.chunk(count), strict=True):
            loss = self.stage(x, y) / count
            loss.backward()
            total += loss.detach()
        return total


class Pipeline:
    """Micro-batches in flight between stages, as torch.distributed.pipelining orders them."""

    def __init__(self, stage: Stage, device: torch.device) -> None:
        options, groups = stage.options, stage.groups
        self.stage, self.count = stage, options.micro_batches
        length = options.shape.seq_len
        if options.sequence_parallel:
            length //= groups.grid.tp
        tokens = torch.empty(options.mbs, options.shape.seq_len, dtype=torch.int64, device="meta")
        handed = torch.empty(
            options.mbs, length, options.shape.hidden, device="meta", requires_grad=True
        )
        place = PipelineStage(
            stage,
            groups.place.pipeline,
            groups.grid.pp,
            device,
            input_args=tokens if groups.first else handed,
            output_args=torch.empty((), device="meta") if groups.last else handed,
            group=groups.pipeline.handle,
        )
        # The last stage gives the loss itself, so that nobody keeps logits for later.
        self.schedule = SCHEDULES[options.schedule](
            place, self.count, loss_fn=lambda loss, _: loss / self.count, scale_grads=False
        )

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Every stage calls it at once; only the first sees the tokens, only the last the loss."""
        groups, losses = self.stage.groups, list[Tensor]()
        if groups.first:
            self.schedule.step(tokens)
        elif groups.last:
            self.schedule.step(target=targets, targets=targets, losses=losses, return_outputs=False)
        else:
            self.schedule.step()
        zero = torch.zeros((), device=tokens.device)
        return torch.stack(losses).detach().sum() if losses else zero


def passes(stage: Stage, device: torch.device) -> Passes:
    """What fits the grid."""
    return Pipeline(stage, device) if stage.groups.grid.pp > 1 else Accumulation(stage)
