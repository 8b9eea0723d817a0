"""A mixture of experts in place of an MLP, and expert parallelism: ranks share out the experts.

Each token goes to the best experts by its scores, after Mixtral (2401.04088), and none is dropped:
whatever the ranks, a token's experts and their weights are those of one process. Ranks send each
expert's rows to whoever holds it, and get them back.
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
    """Those that this rank holds, by their number in the whole model: names decide what parameters
    start from."""

    def __init__(self, shape: Shape, tensors: Tensors, group: Group) -> None:
        each = shape.mixture // group.size
        mine = range(group.rank * each, (group.rank + 1) * each)
        super().__init__({str(number): Mlp(shape, tensors) for number in mine})

    def forward(self, rows: Tensor, counts: list[int]) -> Tensor:
        """Rows of the first expert, then of the next; an expert without rows has gradients too."""
        experts = [expert for expert in self.values() if isinstance(expert, Mlp)]
        both = zip(experts, torch.split(rows, counts), strict=True)
        return torch.cat([expert.within(piece) for expert, piece in both])


class Mixture(nn.Module):
    """Scores, the way of each token to its experts and back, and their weighted sum."""

    def __init__(self, shape: Shape, tensors: Tensors, group: Group) -> None:
        super().__init__()
        self.count, self.chosen = shape.mixture, shape.chosen
        self.tensors, self.group = tensors, group
        self.router = nn.Linear(shape.hidden, self.count, bias=False)
        self.experts = Experts(shape, tensors, group)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, hidden) to the same."""
        # Scores enter the parallel part as x does: then each rank has all gradients of the router.
        weights, chosen = best(self.tensors.enter(self.scores(x)), self.chosen)
        x = self.tensors.enter(x)
        experts = chosen.flatten()
        order = experts.argsort(stable=True)
        rows = x.flatten(0, 1)[order // self.chosen]
        back = self.through(rows, experts.bincount(minlength=self.count))[order.argsort()]
        back = back.view(*x.shape[:-1], self.chosen, -1)
        return self.tensors.leave((back * weights.unsqueeze(-1).to(back.dtype)).sum(-2))

    def scores(self, x: Tensor) -> Tensor:
        """Of each token and expert; in fp32, for a rounding may choose another expert."""
        with torch.autocast(x.device.type, enabled=False):
            return F.linear(x.float(), self.router.weight.float())

    def through(self, rows: Tensor, counts: Tensor) -> Tensor:
        """Rows, so many for each expert, through these experts wherever they are."""
        ranks = self.group.size
        here = len(self.experts)
        expected = self.group.exchange(counts, [here] * ranks, [here] * ranks).view(ranks, here)
        send, receive = counts.view(ranks, here).sum(1).tolist(), expected.sum(1).tolist()
        arrived = exchanged(rows, self.group, send, receive)
        # They come by rank, then by expert; each expert takes those of all ranks at once.
        experts = torch.arange(here, device=rows.device).repeat(ranks)
        order = experts.repeat_interleave(expected.flatten()).argsort(stable=True)
        done = self.experts(arrived[order], expected.sum(0).tolist())
        return exchanged(done[order.argsort()], self.group, receive, send)


def best(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Weights and numbers of so many best experts; of equal ones, the first is the better."""
    ranked = scores.sort(dim=-1, descending=True, stable=True)
    return ranked.values[..., :count].softmax(-1), ranked.indices[..., :count]


def exchanged(x: Tensor, group: Group, send: list[int], receive: list[int]) -> Tensor:
    """Rows to the ranks of the group, so many to each, and theirs to here."""
    if group.size == 1:
        return x
    result: Tensor = Exchange.apply(x, group, send, receive)  # type: ignore[no-untyped-call]  # untyped there
    return result


class Exchange(Function):
    """Forward: rows to where they are needed. Backward: their gradients the same way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group, send: list[int], receive: list[int]) -> Tensor:
        """`ctx` is torch's: whatever is put there comes back in `backward`."""
        ctx.group, ctx.counts = group, (receive, send)
        return group.exchange(x, send, receive)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        """As many as came."""
        group: Group = ctx.group
        return group.exchange(gradient, *ctx.counts), None, None, None
