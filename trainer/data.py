"""Data parallelism: replicas see other samples and agree on gradients.

ZeRO (1910.02054) shares out what replicas would hold twice: optimizer states (1), gradients (2),
parameters (3). Stage 0 and 1 are by hand, on flat buffers. Stage 2 and 3 are torch's FSDP2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from .groups import Groups
from .model import Stage, cut_of
from .timers import Timers

BETAS = (0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Part:
    """Parameters that are treated alike."""

    embedding: bool  # the first and the last stage hold it both
    whole: bool  # every tensor-parallel rank holds it
    decays: bool
    parameters: list[nn.Parameter]

    def copies(self, groups: Groups) -> float:
        """How many model-parallel ranks count these gradients: the norm wants them once."""
        if self.embedding and groups.place.pipeline > 0:
            return torch.inf  # a share of nothing: the first stage has counted it whole
        return groups.tensor.size if self.whole else 1


def parts(stage: Stage) -> list[Part]:
    """The parameters of this rank, sorted by how they are treated."""
    sorted_out: dict[tuple[bool, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in stage.named_parameters():
        kind = (name == stage.tied, cut_of(name) is None, parameter.dim() > 1)
        sorted_out.setdefault(kind, []).append(parameter)
    return [Part(*kind, parameters) for kind, parameters in sorted_out.items()]


class Replicas(Protocol):
    """Parameters, gradients and optimizer of one rank, in agreement with its replicas."""

    def clear(self) -> None:
        """Forget the gradients."""

    def reduce(self) -> None:
        """Make the gradients those of the whole batch."""

    def gradients(self) -> Iterator[tuple[Tensor, float]]:
        """Gradients of this rank, and how many ranks of the world hold the same."""

    def step(self) -> None:
        """Update the parameters."""


class Flat:
    """One buffer of values and one of gradients; the parameters are views of them."""

    def __init__(self, part: Part, shards: int, shard: int) -> None:
        self.part = part
        sizes = [parameter.numel() for parameter in part.parameters]
        length = -(-sum(sizes) // shards)  # of one shard; the last may end in zeros
        self.values = part.parameters[0].data.new_zeros(length * shards)
        self.grads = torch.zeros_like(self.values)
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        for parameter, start, size in zip(part.parameters, starts, sizes, strict=True):
            view = self.values[start : start + size].view_as(parameter)
            view.copy_(parameter.data)
            parameter.data = view
            parameter.grad = self.grads[start : start + size].view_as(parameter)
        mine = slice(shard * length, (shard + 1) * length)
        self.mine = nn.Parameter(self.values[mine])
        self.mine.grad = self.grads[mine]


class Replicated:
    """ZeRO-0: every replica does the same. ZeRO-1: each updates its shard, then they gather."""

    def __init__(self, stage: Stage, timers: Timers) -> None:
        self.groups, self.timers = stage.groups, timers
        self.sequence_parallel = stage.options.sequence_parallel
        self.sharded = stage.options.zero == 1
        data = self.groups.data
        shards, shard = (data.size, data.rank) if self.sharded else (1, 0)
        self.flats = [Flat(part, shards, shard) for part in parts(stage)]
        self.optimizer = adam(stage, [(flat.part, [flat.mine]) for flat in self.flats])

    def clear(self) -> None:
        """The buffers stay: the parameters' gradients are views of them."""
        for flat in self.flats:
            flat.grads.zero_()

    def reduce(self) -> None:
        """Sums over whoever has seen another part: sequence, embedding, then samples."""
        groups = self.groups
        if self.sequence_parallel:
            with self.timers("layernorm-grads-all-reduce"):
                for flat in self.flats:
                    if flat.part.whole:
                        groups.tensor.sum(flat.grads)
        if groups.embedding is not None:
            with self.timers("embedding-grads-all-reduce"):
                for flat in self.flats:
                    if flat.part.embedding:
                        groups.embedding.sum(flat.grads)
        if groups.data.size > 1:
            with self.timers("all-grads-sync"):
                for flat in self.flats:
                    self._reduce(flat)

    def _reduce(self, flat: Flat) -> None:
        data, grad = self.groups.data, flat.mine.grad
        assert grad is not None
        if self.sharded:
            grad.copy_(data.sum_scatter(flat.grads))
        else:
            data.sum(grad)
        grad /= data.size  # the mean over the replicas

    def gradients(self) -> Iterator[tuple[Tensor, float]]:
        """One tensor a part: the shard with ZeRO-1, else the same on every replica."""
        replicas = 1 if self.sharded else self.groups.data.size
        for flat in self.flats:
            assert flat.mine.grad is not None
            yield flat.mine.grad, replicas * flat.part.copies(self.groups)

    def step(self) -> None:
        """The optimizer, and with ZeRO-1 the shards of the others."""
        with self.timers("optimizer"):
            self.optimizer.step()
        if self.sharded and self.groups.data.size > 1:
            with self.timers("params-all-gather"), torch.no_grad():
                for flat in self.flats:
                    flat.values.copy_(self.groups.data.gather(flat.mine.detach()))


class Sharded:
    """ZeRO-2 and 3: FSDP2 over the data-parallel ranks of what tensor parallelism has cut."""

    def __init__(self, stage: Stage, timers: Timers) -> None:
        groups, options = stage.groups, stage.options
        self.groups, self.timers = groups, timers
        self.sequence_parallel = options.sequence_parallel
        kind = next(stage.parameters()).device.type
        mesh = DeviceMesh.from_group(groups.data.handle, kind)
        # Stage 2 keeps the parameters between forward and backward, stage 3 gathers them twice.
        for layer in stage.layers.values():
            fully_shard(layer, mesh=mesh, reshard_after_forward=options.zero == 3)
        fully_shard(stage, mesh=mesh, reshard_after_forward=options.zero == 3)
        self.parts = parts(stage)
        self.optimizer = adam(stage, [(part, part.parameters) for part in self.parts])

    def clear(self) -> None:
        """The next backward pass makes new ones."""
        self.optimizer.zero_grad(set_to_none=True)

    def reduce(self) -> None:
        """FSDP2 has taken the mean over the replicas within the backward pass."""
        if self.sequence_parallel:
            with self.timers("layernorm-grads-all-reduce"):
                for part in self.parts:
                    if part.whole:
                        for grad in _local(part):
                            self.groups.tensor.sum(grad)

    def gradients(self) -> Iterator[tuple[Tensor, float]]:
        """This rank's shards."""
        for part in self.parts:
            for grad in _local(part):
                yield grad, part.copies(self.groups)

    def step(self) -> None:
        """Every rank its shards; the next forward pass gathers them."""
        with self.timers("optimizer"):
            self.optimizer.step()


def _local(part: Part) -> Iterator[Tensor]:
    for parameter in part.parameters:
        assert isinstance(parameter.grad, DTensor)
        yield parameter.grad.to_local()


def adam(stage: Stage, owned: list[tuple[Part, list[nn.Parameter]]]) -> torch.optim.AdamW:
    """AdamW that lets matrices decay, and vectors not."""
    options = stage.options
    decay = options.weight_decay
    groups = [
        {"params": tensors, "weight_decay": decay if part.decays else 0.0}
        for part, tensors in owned
    ]
    return torch.optim.AdamW(groups, lr=options.lr, betas=BETAS, eps=1e-8, fused=True)


def replicas(stage: Stage, timers: Timers) -> Replicas:
    """What fits the ZeRO stage."""
    return Sharded(stage, timers) if stage.options.zero >= 2 else Replicated(stage, timers)
