"""Tensor parallelism: each layer's matrices cut among ranks, after Megatron-LM (1909.08053).

A block enters the parallel part once and leaves it once. Between, every rank works on its own heads
and its own part of the MLP. With sequence parallelism (2205.05198) each rank also keeps only its
part of the sequence outside of the parallel parts: entering then gathers it, leaving scatters it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function

from .groups import Group

SEQUENCE = 1  # activations are (batch, sequence, hidden)


@dataclass(frozen=True, slots=True)
class Tensors:
    """How this rank shares layers: with whom, and whether the sequence is shared too."""

    group: Group
    sequence_parallel: bool = False

    def enter(self, x: Tensor) -> Tensor:
        """Into the parallel part: every rank gets the whole input."""
        return x if self.group.size == 1 else _apply(Enter, x, self)

    def leave(self, x: Tensor) -> Tensor:
        """Out of it: the partial results are summed up."""
        return x if self.group.size == 1 else _apply(Leave, x, self)

    def whole(self, x: Tensor) -> Tensor:
        """The parts of the sequence, put together."""
        pieces = self.group.gather(x.unsqueeze(0))
        return torch.cat(pieces.unbind(), SEQUENCE)

    def part(self, x: Tensor) -> Tensor:
        """The sum over the ranks, of which this rank keeps its part of the sequence."""
        pieces = torch.stack(x.chunk(self.group.size, SEQUENCE))
        return self.group.sum_scatter(pieces).squeeze(0)


def _apply(function: type[Function], x: Tensor, tensors: Tensors) -> Tensor:
    result: Tensor = function.apply(x, tensors)  # type: ignore[no-untyped-call]  # untyped there
    return result


class Enter(Function):
    """Forward: nothing, or gather the sequence. Backward: sum the gradients of all ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, tensors: Tensors) -> Tensor:
        """`ctx` is torch's: whatever is put there comes back in `backward`."""
        ctx.tensors = tensors
        return tensors.whole(x) if tensors.sequence_parallel else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Each rank has seen the input through its own matrices only."""
        tensors: Tensors = ctx.tensors
        if tensors.sequence_parallel:
            return tensors.part(gradient), None
        return tensors.group.sum(gradient.contiguous()), None


class Leave(Function):
    """Forward: sum the results of all ranks. Backward: nothing, or gather the sequence."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, tensors: Tensors) -> Tensor:
        """The sum is in place: no layer in front keeps its result for the way back."""
        ctx.tensors = tensors
        if tensors.sequence_parallel:
            return tensors.part(x)
        ctx.mark_dirty(x)
        return tensors.group.sum(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient of a sum is the same for all its parts."""
        tensors: Tensors = ctx.tensors
        return tensors.whole(gradient) if tensors.sequence_parallel else gradient, None


class ColumnLinear(nn.Module):
    """Each rank has some of the outputs."""

    def __init__(self, inputs: int, outputs: int, tensors: Tensors, bias: bool = True) -> None:
        super().__init__()
        self.tensors = tensors
        self.weight = nn.Parameter(torch.empty(outputs // tensors.group.size, inputs))
        self.bias = nn.Parameter(torch.empty(outputs // tensors.group.size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, inputs) -> (batch, sequence, some outputs)."""
        return F.linear(self.tensors.enter(x), self.weight, self.bias)


class RowLinear(nn.Module):
    """Each rank has some of the inputs; the bias comes once, after the sum."""

    def __init__(self, inputs: int, outputs: int, tensors: Tensors, bias: bool = True) -> None:
        super().__init__()
        self.tensors = tensors
        self.weight = nn.Parameter(torch.empty(outputs, inputs // tensors.group.size))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence, some inputs) -> (batch, sequence or a part of it, outputs)."""
        whole = self.tensors.leave(F.linear(x, self.weight))
        return whole if self.bias is None else whole + self.bias


class Embedding(nn.Module):
    """Each rank has some tokens of the vocabulary, for the way in, the way out, or both."""

    sparse = False  # whether the gradient of the way in is of its few rows alone

    def __init__(self, vocab: int, padded: int, hidden: int, tensors: Tensors) -> None:
        super().__init__()
        rows = padded // tensors.group.size
        self.tensors = tensors
        self.start = rows * tensors.group.rank
        self.real = max(0, min(rows, vocab - self.start))  # the others are dummy tokens
        self.weight = nn.Parameter(torch.empty(rows, hidden))

    def mine(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Row of each token on this rank, 0 where another rank has it; and which ones we have."""
        rows = tokens - self.start
        here = (rows >= 0) & (rows < self.weight.shape[0])
        return torch.where(here, rows, 0), here

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens -> vectors: zero for a token of another rank, so that the sum is right."""
        rows, here = self.mine(tokens)
        vectors = F.embedding(rows, self.weight, sparse=self.sparse)
        if self.tensors.group.size > 1:
            vectors = vectors * here.unsqueeze(-1)
        return self.tensors.leave(vectors)

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy of the next tokens; no rank ever holds the logits of all of them."""
        logits = F.linear(self.tensors.enter(x), self.weight)
        rows, here = self.mine(targets.flatten())
        result: Tensor = CrossEntropy.apply(  # type: ignore[no-untyped-call]  # untyped there
            logits.flatten(0, 1), rows, here, self.real, self.tensors.group
        )
        return result


class CrossEntropy(Function):
    """-log softmax at the target, the vocabulary being cut among ranks."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, rows: Tensor, here: Tensor, real: int, group: Group
    ) -> Tensor:
        """Three numbers a token travel: the largest logit, the target's, the sum of all."""
        # In place for fp32: logits are the largest tensor there is, and nobody needs them again.
        z = logits.detach().float()
        z[:, real:] = -torch.inf
        z -= group.max(z.amax(1)).unsqueeze(1)
        picked = torch.where(here, z.gather(1, rows.unsqueeze(1)).squeeze(1), 0.0)
        total, picked = group.sum(torch.stack([z.exp_().sum(1), picked])).unbind()
        ctx.save_for_backward(z, total, rows, here)
        ctx.dtype = logits.dtype
        return (total.log() - picked).mean()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        """softmax - 1 at the target, per token."""
        z, total, rows, here = ctx.saved_tensors
        each = gradient / len(total)
        z *= (each / total).unsqueeze(1)
        z.scatter_add_(1, rows.unsqueeze(1), torch.where(here, -each, 0.0).unsqueeze(1))
        return z.to(ctx.dtype), None, None, None, None
