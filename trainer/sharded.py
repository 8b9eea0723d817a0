"""ZeRO-2 and 3: torch's FSDP2 over the ranks with the same part of the model."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor

from .flat import Part, adam, parts
from .model import Stage
from .timers import Timers


class Sharded:
    """Replicas with a shard each; gathered and reduced within the passes."""

    def __init__(self, stage: Stage, timers: Timers) -> None:
        groups, options = stage.groups, stage.options
        self.groups, self.timers = groups, timers
        self.sequence_parallel = options.sequence_parallel
        kind = next(stage.parameters()).device.type
        mesh = DeviceMesh.from_group(groups.replicas.handle, kind)
        experts = DeviceMesh.from_group(groups.expert_replicas.handle, kind)
        # Stage 2 keeps full parameters from forward to backward, stage 3 gathers them twice.
        again = options.zero == 3
        policy = MixedPrecisionPolicy()
        if options.params_dtype == "bf16":  # shards stay fp32
            policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32, cast_forward_inputs=False)
        for layer in stage.layers.values():
            if options.grid.ep > 1:
                mlp = layer.get_submodule("mlp.experts")
                fully_shard(mlp, mesh=experts, mp_policy=policy, reshard_after_forward=again)
            fully_shard(layer, mesh=mesh, mp_policy=policy, reshard_after_forward=again)
        fully_shard(stage, mesh=mesh, mp_policy=policy, reshard_after_forward=again)
        self.parts = parts([stage])
        self.optimizer = adam(stage, [(part, part.parameters) for part in self.parts])

    def clear(self) -> None:
        """Drop the gradients; the next backward pass creates new ones."""
        self.optimizer.zero_grad(set_to_none=True)

    def reduce(self) -> None:
        """Finish the reduction: FSDP2 has taken the mean over replicas in the backward pass."""
        for part in self.parts:
            if part.expert:  # their tokens were those of all replicas
                for grad in _local(part):
                    grad /= self.groups.experts.size
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
        """Update this rank's shards; the next forward pass gathers them."""
        with self.timers("optimizer"):
            self.optimizer.step()


def _local(part: Part) -> Iterator[Tensor]:
    for parameter in part.parameters:
        assert isinstance(parameter.grad, DTensor)
        yield parameter.grad.to_local()
