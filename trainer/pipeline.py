"""The forward and backward passes of a step, over micro-batches and pipeline stages."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from .model import Stage

SCHEDULES = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B"}


class ForwardBackward(Protocol):
    """Accumulates a step's gradients and returns its mean loss."""

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of this replica's samples; 0 except on the last stage."""


class Accumulation:
    """Gradient accumulation of a model without pipeline."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Accumulate gradients over micro-batches, each weighted for the mean."""
        count = self.stage.options.micro_batches
        total = torch.zeros((), device=tokens.device)
        for x, y in zip(tokens.chunk(count), targets.chunk(count), strict=True):
            loss = self.stage(x, y) / count
            loss.backward()
            total += loss.detach()
        return total


class Pipeline:
    """Pipelined micro-batches, scheduled by torch.distributed.pipelining.

    With interleaving (VPP) a rank has several stages: rank 0 the first, the last rank the last.
    """

    def __init__(self, stages: list[Stage], device: torch.device) -> None:
        from torch.distributed import pipelining  # imports torch's compiler

        options, groups = stages[0].options, stages[0].groups
        self.stages, self.count = stages, options.micro_batches
        length = options.length
        if options.sequence_parallel:
            length //= groups.grid.tp
        dtype = torch.bfloat16 if options.params_dtype == "bf16" else torch.float32
        tokens = torch.empty(options.mbs, options.length, dtype=torch.int64, device="meta")
        handed = torch.empty(
            options.mbs, length, options.shape.hidden, dtype=dtype, device="meta",
            requires_grad=True,
        )  # fmt: skip
        places: list[Any] = [  # of PipelineStage, and lists are not covariant
            pipelining.PipelineStage(
                stage,
                stage.number,
                groups.grid.stages,
                device,
                input_args=tokens if stage.first else handed,
                output_args=torch.empty((), device="meta") if stage.last else handed,
                group=groups.pipeline.handle,
            )
            for stage in stages
        ]
        # The last stage returns the loss, so that no logits are kept.
        how: dict[str, Any] = {"loss_fn": lambda loss, _: loss / self.count, "scale_grads": False}
        if groups.grid.vpp > 1:
            self.schedule: Any = pipelining.ScheduleInterleaved1F1B(places, self.count, **how)
        else:
            schedule = getattr(pipelining, SCHEDULES[options.schedule])
            self.schedule = schedule(places[0], self.count, **how)

    def run(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Called on every rank; only the first stage has tokens, only the last the loss."""
        losses = list[Tensor]()
        if self.stages[0].first:
            self.schedule.step(tokens)
        elif self.stages[-1].last:
            self.schedule.step(target=targets, targets=targets, losses=losses, return_outputs=False)
        else:
            self.schedule.step()
        zero = torch.zeros((), device=tokens.device)
        return torch.stack(losses).detach().sum() if losses else zero


def passes(stages: list[Stage], device: torch.device) -> ForwardBackward:
    """The passes for the grid."""
    pipelined = stages[0].groups.grid.pp > 1
    return Pipeline(stages, device) if pipelined else Accumulation(stages[0])
