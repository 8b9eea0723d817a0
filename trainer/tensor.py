"""Tensor parallelism: each layer's matrices split over ranks, as in Megatron-LM (1909.08053).

A block enters and leaves the parallel region once; within, every rank has its own heads and part of
the MLP. With sequence parallelism (2205.05198), each rank also keeps only its part of the sequence
outside of the parallel region: entering gathers it, leaving scatters it.
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
    """The tensor-parallel group, and whether the sequence is split, too."""

    group: Group
    sequence_parallel: bool = False

    def enter(self, x: Tensor) -> Tensor:
        """Enter the parallel region: every rank gets the whole input."""
        return x if self.group.size == 1 else _apply(EnterTensorParallel, x, self)

    def leave(self, x: Tensor) -> Tensor:
        """Leave the parallel region: sum partial results."""
        return x if self.group.size == 1 else _apply(LeaveTensorParallel, x, self)

    def whole(self, x: Tensor) -> Tensor:
        """The gathered sequence."""
        pieces = self.group.gather(x.unsqueeze(0))
        return torch.cat(pieces.unbind(), SEQUENCE)

    def part(self, x: Tensor) -> Tensor:
        """This rank's part of the sequence of the sum over ranks."""
        pieces = torch.stack(x.chunk(self.group.size, SEQUENCE))
        return self.group.sum_scatter(pieces).squeeze(0)


def _apply(function: type[Function], x: Tensor, tensors: Tensors) -> Tensor:
    result: Tensor = function.apply(x, tensors)  # type: ignore[no-untyped-call]  # untyped there
    return result


class EnterTensorParallel(Function):
    """Forward: nothing, or gather the sequence. Backward: sum the gradients of all ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, tensors: Tensors) -> Tensor:
        """`ctx` passes state to `backward`."""
        ctx.tensors = tensors
        return tensors.whole(x) if tensors.sequence_parallel else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Sum the gradients: each rank has those of its own matrices."""
        tensors: Tensors = ctx.tensors
        if tensors.sequence_parallel:
            return tensors.part(gradient), None
        return tensors.group.sum(gradient.contiguous()), None


class LeaveTensorParallel(Function):
    """Forward: sum the results of all ranks. Backward: nothing, or gather the sequence."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, tensors: Tensors) -> Tensor:
        """In place: the previous layer does not keep its output for the backward pass."""
        ctx.tensors = tensors
        if tensors.sequence_parallel:
            return tensors.part(x)
        ctx.mark_dirty(x)
        return tensors.group.sum(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient of a sum is the same for all of its terms."""
        tensors: Tensors = ctx.tensors
        return tensors.whole(gradient) if tensors.sequence_parallel else gradient, None


class ColumnLinear(nn.Module):
    """A linear layer whose outputs are split over ranks."""

    def __init__(self, inputs: int, outputs: int, tensors: Tensors, bias: bool = True) -> None:
        super().__init__()
        self.tensors = tensors
        self.weight = nn.Parameter(torch.empty(outputs // tensors.group.size, inputs))
        self.bias = nn.Parameter(torch.empty(outputs // tensors.group.size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, inputs) -> (batch, sequence, some outputs)."""
        return F.linear(self.tensors.enter(x), self.weight, self.bias)


class RowLinear(nn.Module):
    """A linear layer whose inputs are split over ranks; the bias is added once, after the sum."""

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
    """The embedding or output layer, or both, with the vocabulary split over ranks."""

    sparse = False  # whether the embedding's gradient is sparse

    def __init__(self, vocab: int, padded: int, hidden: int, tensors: Tensors) -> None:
        super().__init__()
        rows = padded // tensors.group.size
        self.tensors = tensors
        self.start = rows * tensors.group.rank
        self.real = max(0, min(rows, vocab - self.start))  # the others are dummy tokens
        self.weight = nn.Parameter(torch.empty(rows, hidden))

    def mine(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """This rank's row of each token, 0 for tokens of other ranks; and a mask of own tokens."""
        rows = tokens - self.start
        here = (rows >= 0) & (rows < self.weight.shape[0])
        return torch.where(here, rows, 0), here

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens -> vectors, 0 for tokens of other ranks, for summing."""
        rows, here = self.mine(tokens)
        vectors = F.embedding(rows, self.weight, sparse=self.sparse)
        if self.tensors.group.size > 1:
            vectors = vectors * here.unsqueeze(-1)
        return self.tensors.leave(vectors)

    def loss(self, x: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy of the next tokens; no rank has logits of the whole vocabulary."""
        logits = F.linear(self.tensors.enter(x), self.weight)
        rows, here = self.mine(targets.flatten())
        result: Tensor = CrossEntropy.apply(  # type: ignore[no-untyped-call]  # untyped there
            logits.flatten(0, 1), rows, here, self.real, self.tensors.group
        )
        return result


class CrossEntropy(Function):
    """-log softmax at the target, with the vocabulary split over ranks."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, rows: Tensor, here: Tensor, real: int, group: Group
    ) -> Tensor:
        """Reduces three numbers per token: maximum logit, target's logit, sum of exponentials."""
        # Logits are the largest tensor, and not needed again: in place, and few passes over it.
        logits = logits.detach()
        logits[:, real:] = -torch.inf
        largest = group.max(logits.amax(1).float()).unsqueeze(1)
        in_place = logits.dtype == torch.float32
        z = logits if in_place else torch.empty_like(logits, dtype=torch.float32)
        torch.sub(logits, largest, out=z)
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
        z.scatter_add_(1, rows.unsqueeze(1), torch.where(here, -total, 0.0).unsqueeze(1))
        out = z if ctx.dtype == z.dtype else torch.empty_like(z, dtype=ctx.dtype)
        torch.mul(z, (each / total).unsqueeze(1), out=out)
        return out, None, None, None, None
