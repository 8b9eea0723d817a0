"""A mixture of experts in place of an MLP, and expert parallelism.

Each token is routed to its top-k experts, as in Mixtral (2401.04088), and none is dropped, so a
token's experts and weights are the same for every number of ranks. Ranks send rows to the owners of
their experts, and receive the results.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function

from .groups import Group
from .mlp import Mlp
from .presets import Shape
from .tensor import Tensors


class Experts(nn.ModuleDict):
    """The experts of this rank, named by their number in the whole model, since names determine
    initial values."""

    def __init__(self, shape: Shape, tensors: Tensors, group: Group) -> None:
        each = shape.mixture // group.size
        mine = range(group.rank * each, (group.rank + 1) * each)
        super().__init__({str(number): Mlp(shape, tensors) for number in mine})

    def forward(self, rows: Tensor, counts: list[int]) -> Tensor:
        """Rows sorted by expert; an expert without rows has gradients too."""
        experts = [expert for expert in self.values() if isinstance(expert, Mlp)]
        both = zip(experts, torch.split(rows, counts), strict=True)
        return torch.cat([expert.within(piece) for expert, piece in both])


class Mixture(nn.Module):
    """The router, the exchange of tokens with experts, and their weighted sum."""

    def __init__(self, shape: Shape, tensors: Tensors, group: Group) -> None:
        super().__init__()
        self.count, self.chosen = shape.mixture, shape.chosen
        self.tensors, self.group = tensors, group
        self.router = nn.Linear(shape.hidden, self.count, bias=False)
        self.experts = Experts(shape, tensors, group)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, hidden) to the same."""
        # Scores enter the parallel region like x, so every rank has all gradients of the router.
        weights, chosen = best(self.tensors.enter(self.scores(x)), self.chosen)
        x = self.tensors.enter(x)
        experts = chosen.flatten()
        order = experts.argsort(stable=True)
        rows = x.flatten(0, 1)[order // self.chosen]
        back = self.through(rows, experts.bincount(minlength=self.count))[order.argsort()]
        back = back.view(*x.shape[:-1], self.chosen, -1)
        return self.tensors.leave((back * weights.unsqueeze(-1).to(back.dtype)).sum(-2))

    def scores(self, x: Tensor) -> Tensor:
        """Scores by token and expert, in fp32, since rounding may select another expert."""
        with torch.autocast(x.device.type, enabled=False):
            return F.linear(x.float(), self.router.weight.float())

    def through(self, rows: Tensor, counts: Tensor) -> Tensor:
        """Pass rows, `counts` for each expert, through the experts on all ranks."""
        ranks = self.group.size
        here = len(self.experts)
        expected = self.group.exchange(counts, [here] * ranks, [here] * ranks).view(ranks, here)
        send, receive = counts.view(ranks, here).sum(1).tolist(), expected.sum(1).tolist()
        arrived = exchanged(rows, self.group, send, receive)
        # Sorted by rank, then by expert; each expert processes those of all ranks at once.
        experts = torch.arange(here, device=rows.device).repeat(ranks)
        order = experts.repeat_interleave(expected.flatten()).argsort(stable=True)
        done = self.experts(arrived[order], expected.sum(0).tolist())
        return exchanged(done[order.argsort()], self.group, receive, send)


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Weights and numbers of the `count` best experts; ties go to the first."""
    ranked = scores.sort(dim=-1, descending=True, stable=True)
    return ranked.values[..., :count].softmax(-1), ranked.indices[..., :count]


def exchanged(x: Tensor, group: Group, send: list[int], receive: list[int]) -> Tensor:
    """All-to-all exchange of rows in the group, with counts by rank."""
    if group.size == 1:
        return x
    result: Tensor = ExchangeTokens.apply(x, group, send, receive)  # type: ignore[no-untyped-call]  # untyped there
    return result


class ExchangeTokens(Function):
    """Forward: exchange rows. Backward: exchange their gradients in reverse."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group, send: list[int], receive: list[int]) -> Tensor:
        """`ctx` passes state to `backward`."""
        ctx.group, ctx.counts = group, (receive, send)
        return group.exchange(x, send, receive)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """Exchange gradients with sent and received counts swapped."""
        group: Group = ctx.group
        return group.exchange(gradient, *ctx.counts), None, None, None
