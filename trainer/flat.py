"""Flat buffers: parameters of one kind, reduced and updated together.

With bf16 parameters, gradients and the optimizer's values are fp32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from .groups import Group, Groups, Pending
from .model import EXPERTS, Stage, cut_of
from .options import Options

BETAS = (0.9, 0.95)
EPSILON = 1e-8


@dataclass(frozen=True, slots=True)
class Part:
    """Parameters with the same replication."""

    embedding: bool  # on both the first and the last stage
    whole: bool  # on every tensor-parallel rank
    expert: bool  # only on ranks with the same experts
    decays: bool
    parameters: list[nn.Parameter]

    def replicas(self, groups: Groups) -> Group:
        """The group of ranks with the same parameters."""
        return groups.expert_replicas if self.expert else groups.replicas

    def copies(self, groups: Groups) -> float:
        """The number of model-parallel ranks with these gradients, which the norm divides by."""
        if self.embedding and groups.place.pipeline > 0:
            return torch.inf  # infinite, for a share of 0: the first stage has counted it
        return groups.tensor.size if self.whole else 1

    def decay(self, options: Options) -> float:
        """The weight decay: of matrices, not of vectors."""
        return options.weight_decay if self.decays else 0.0


def parts(stages: list[Stage]) -> list[Part]:
    """The parameters of this rank, grouped by replication."""
    sorted_out: dict[tuple[bool, bool, bool, bool], list[nn.Parameter]] = {}
    for stage in stages:
        for name, parameter in stage.named_parameters():
            tied, whole, expert = name == stage.tied, cut_of(name) is None, EXPERTS in name
            kind = (tied, whole, expert, parameter.dim() > 1)
            sorted_out.setdefault(kind, []).append(parameter)
    return [Part(*kind, parameters) for kind, parameters in sorted_out.items()]


def buckets(stages: list[Stage], size: int) -> Iterator[tuple[Part, list[nn.Parameter]]]:
    """Parts cut into buckets of about `size` elements, in the order of the backward pass.

    A bucket is complete with the gradient of its parameter used first in the forward pass.
    """
    used = {p: n for n, p in enumerate(p for stage in stages for p in stage.parameters())}
    found: list[tuple[Part, list[nn.Parameter]]] = []
    for part in parts(stages):
        bucket: list[nn.Parameter] = []
        for parameter in reversed(part.parameters):
            bucket.append(parameter)
            if sum(p.numel() for p in bucket) >= size:
                found.append((part, bucket))
                bucket = []
        if bucket:
            found.append((part, bucket))
    return iter(sorted(found, key=lambda one: -min(used[p] for p in one[1])))


class FlatBuffer:
    """A buffer of values and one of gradients; the parameters are views of them."""

    def __init__(
        self,
        part: Part,
        parameters: list[nn.Parameter],
        dtype: torch.dtype,
        shards: int,
        shard: int,
    ) -> None:
        self.part, self.parameters = part, parameters
        sizes = [parameter.numel() for parameter in parameters]
        length = -(-sum(sizes) // shards)  # elements per shard; the last one is padded with zeros
        exact = parameters[0].data.new_zeros(length * shards)
        self.grads = torch.zeros_like(exact)
        starts = [sum(sizes[:n]) for n in range(len(sizes))]
        places = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        for parameter, place in zip(parameters, places, strict=True):
            exact[place] = parameter.data.flatten()
        self.values = exact.to(dtype)
        self.views = []
        for parameter, place in zip(parameters, places, strict=True):
            parameter.data = self.values[place].view_as(parameter)
            self.views.append(self.grads[place].view_as(parameter))
            if not self.mixed:
                parameter.grad = self.views[-1]
        mine = slice(shard * length, (shard + 1) * length)
        self.kept = self.values[mine]  # the values updated by this rank
        self.mine = nn.Parameter(exact[mine].clone() if self.mixed else self.kept)
        self.mine.grad = self.grads[mine]
        self.pending: Pending | None = None
        self.arrived = 0

    @property
    def mixed(self) -> bool:
        """Whether parameters have another type than their gradients' sums."""
        return self.values.dtype != self.grads.dtype

    def watch(self, passes: int, complete: Callable[[FlatBuffer], None]) -> None:
        """Accumulate gradients, with a callback once those of all passes of a step are complete."""
        expected = passes * len(self.parameters)
        for parameter, view in zip(self.parameters, self.views, strict=True):
            arrive = partial(self._arrive, view, expected, complete)
            parameter.register_post_accumulate_grad_hook(arrive)  # type: ignore[no-untyped-call]  # untyped there

    def _arrive(
        self, view: Tensor, expected: int, complete: Callable[[FlatBuffer], None], parameter: Tensor
    ) -> None:
        if self.mixed:
            assert parameter.grad is not None
            view += parameter.grad
            parameter.grad = None
        self.arrived += 1
        if self.arrived == expected:
            complete(self)

    def clear(self) -> None:
        """Zero the buffer in place, since the parameters' gradients are views of it."""
        self.grads.zero_()
        self.pending, self.arrived = None, 0

    def updated(self) -> None:
        """Round the updated values to the type of the parameters."""
        if self.mixed:
            self.kept.copy_(self.mine.detach())


class Adam:
    """What `adam` gives, for flat buffers, by torch's function.

    The class imports torch's compiler, which takes as long as all else that a rank imports.
    """

    def __init__(self, options: Options, flats: list[FlatBuffer]) -> None:
        self.options, self.flats = options, flats
        self.means = [torch.zeros_like(flat.mine) for flat in flats]
        self.squares = [torch.zeros_like(flat.mine) for flat in flats]
        self.steps = [torch.zeros((), device=flat.mine.device) for flat in flats]

    @torch.no_grad()
    def step(self) -> None:
        """Update the values of this rank."""
        states = zip(self.flats, self.means, self.squares, self.steps, strict=True)
        for flat, mean, square, step in states:
            assert flat.mine.grad is not None
            adamw(
                [flat.mine], [flat.mine.grad], [mean], [square], [], [step], fused=True,
                amsgrad=False, maximize=False, lr=self.options.lr, beta1=BETAS[0], beta2=BETAS[1],
                weight_decay=flat.part.decay(self.options), eps=EPSILON,
            )  # fmt: skip


def adam(stage: Stage, owned: list[tuple[Part, list[nn.Parameter]]]) -> torch.optim.AdamW:
    """AdamW with weight decay for matrices, not for vectors."""
    options = stage.options
    groups = [{"params": tensors, "weight_decay": part.decay(options)} for part, tensors in owned]
    return torch.optim.AdamW(groups, lr=options.lr, betas=BETAS, eps=EPSILON, fused=True)
