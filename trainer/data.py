"""Data parallelism: replicas see different samples and sum their gradients.

ZeRO (1910.02054) shards redundant state of replicas: optimizer states (1), gradients (2),
parameters (3). Stages 0 and 1 are implemented here on flat buffers, 2 and 3 in `sharded`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from .flat import Adam, FlatBuffer, buckets
from .model import Stage
from .tensor import Embedding
from .timers import Timers

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Replicas(Protocol):
    """Parameters, gradients and optimizer of one rank, synchronized with its replicas."""

    def clear(self) -> None:
        """Clear the gradients."""

    def reduce(self) -> None:
        """Reduce the gradients to those of the whole batch."""

    def gradients(self) -> Iterator[tuple[Tensor, float]]:
        """Gradients of this rank, and the number of ranks with the same ones."""

    def step(self) -> None:
        """Update the parameters."""


class Replicated:
    """ZeRO-0: all replicas do the same update. ZeRO-1: each updates its shard, then they gather.

    With overlap, the reduction of a bucket starts in the backward pass, with its last gradient.
    """

    def __init__(self, stages: list[Stage], timers: Timers) -> None:
        self.groups, self.timers = stages[0].groups, timers
        options = stages[0].options
        self.sequence_parallel = options.sequence_parallel
        self.sharded = options.zero == 1
        self.overlap = options.overlap_grad_reduce
        self.flats = []
        for part, parameters in buckets(stages, options.bucket):
            group = part.replicas(self.groups)
            shards, shard = (group.size, group.rank) if self.sharded else (1, 0)
            flat = FlatBuffer(part, parameters, DTYPES[options.params_dtype], shards, shard)
            if self.overlap or flat.mixed:
                flat.watch(options.micro_batches, self._complete)
            self.flats.append(flat)
        for module in (module for stage in stages for module in stage.modules()):
            if isinstance(module, Embedding):
                module.sparse = True  # the buffers are dense, and accept sparse rows
        self.optimizer = Adam(options, self.flats)

    def clear(self) -> None:
        """Clear the gradients and pending sums of the last step."""
        self.complete = set[FlatBuffer]()
        for flat in self.flats:
            flat.clear()

    def _complete(self, flat: FlatBuffer) -> None:
        """Start sums in the same order on all ranks, regardless of the order of gradients."""
        self.complete.add(flat)
        if self.overlap:
            for one in self.flats:
                if one not in self.complete:
                    break
                if one.pending is None:
                    self._begin(one)

    def reduce(self) -> None:
        """Sum over replicas, then gradients of sequence parallelism and of the shared embedding."""
        groups = self.groups
        if groups.replicas.size > 1:
            with self.timers("all-grads-sync"):
                for flat in self.flats:
                    if flat.pending is None:
                        self._begin(flat)
                for flat in self.flats:
                    self._finish(flat)
        if self.sequence_parallel:
            with self.timers("layernorm-grads-all-reduce"):
                for flat in self.flats:
                    if flat.part.whole:
                        groups.tensor.sum(_of(flat))
        if groups.embedding is not None:
            with self.timers("embedding-grads-all-reduce"):
                for flat in self.flats:
                    if flat.part.embedding:
                        groups.embedding.sum(_of(flat))

    def _begin(self, flat: FlatBuffer) -> None:
        group = flat.part.replicas(self.groups)
        begin = group.begin_sum_scatter if self.sharded else group.begin_sum
        flat.pending = begin(flat.grads)

    def _finish(self, flat: FlatBuffer) -> None:
        assert flat.pending is not None
        summed, grad = flat.pending.wait(), _of(flat)
        if self.sharded:
            grad.copy_(summed)
        grad /= self.groups.replicas.size  # the mean over the replicas

    def gradients(self) -> Iterator[tuple[Tensor, float]]:
        """One tensor per bucket: the shard with ZeRO-1, else the same on every replica."""
        for flat in self.flats:
            replicas = 1 if self.sharded else flat.part.replicas(self.groups).size
            yield _of(flat), replicas * flat.part.copies(self.groups)

    def step(self) -> None:
        """Update the parameters, and with ZeRO-1 gather the other shards."""
        with self.timers("optimizer"):
            self.optimizer.step()
            for flat in self.flats:
                flat.updated()
        if self.sharded and self.groups.replicas.size > 1:
            with self.timers("params-all-gather"), torch.no_grad():
                for flat in self.flats:
                    flat.values.copy_(flat.part.replicas(self.groups).gather(flat.kept))


def _of(flat: FlatBuffer) -> Tensor:
    """The gradients of the values that this rank updates."""
    assert flat.mine.grad is not None
    return flat.mine.grad


def replicas(stages: list[Stage], timers: Timers) -> Replicas:
    """The implementation of the ZeRO stage; 2 and 3 require a single pipeline stage."""
    if stages[0].options.zero >= 2:
        from .sharded import Sharded  # FSDP2 imports torch's compiler

        return Sharded(stages[0], timers)
    return Replicated(stages, timers)
