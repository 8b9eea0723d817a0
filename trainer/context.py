"""Context parallelism: each rank keeps a part of every sequence, and attends to all earlier tokens.

A sequence is cut into twice as many pieces as ranks, and rank n keeps the n-th from the front and
the n-th from the back: with causal attention, this gives every rank the same number of token pairs.
Keys and values of all ranks are gathered, queries stay.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.nn.attention import SDPBackend, sdpa_kernel

from .groups import Group

KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}
SEQUENCE = 2  # of queries, keys and values: (batch, heads, sequence, head)


@dataclass(frozen=True, slots=True)
class Contexts:
    """The group of ranks that share sequences, and the attention kernel."""

    group: Group
    kernel: str = "auto"

    def part(self, x: Tensor, dim: int) -> Tensor:
        """This rank's two pieces of a tensor with whole sequences in this dimension."""
        return x if self.group.size == 1 else self._parts(x, dim)[self.group.rank]

    def _parts(self, x: Tensor, dim: int) -> list[Tensor]:
        """The two pieces of each rank."""
        count = self.group.size
        pieces = x.chunk(2 * count, dim)
        return [torch.cat((pieces[n], pieces[-1 - n]), dim) for n in range(count)]

    def whole(self, x: Tensor) -> Tensor:
        """The gathered pieces of all ranks, in sequence order."""
        gathered = self.group.gather(x.unsqueeze(0)).chunk(self.group.size)
        pairs = [rank.squeeze(0).chunk(2, SEQUENCE) for rank in gathered]
        return torch.cat([one for one, _ in pairs] + [one for _, one in pairs[::-1]], SEQUENCE)

    def sum_of_parts(self, x: Tensor) -> Tensor:
        """This rank's two pieces of the sum over ranks."""
        return self.group.sum_scatter(torch.stack(self._parts(x, SEQUENCE))).squeeze(0)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Causal attention of this rank's queries; with more query heads than key heads, GQA."""
        with _kernel(self.kernel):
            return self._attend(query, key, value)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        shared = query.shape[1] // key.shape[1]
        if self.group.size == 1:
            return _attend(query, _repeat(key, shared), _repeat(value, shared), None)
        key, value = (_repeat(_gathered(one, self), shared) for one in (key, value))
        from torch.nn.attention.bias import causal_lower_right  # imports torch's compiler

        width, seen = query.shape[SEQUENCE] // 2, []
        numbers = (self.group.rank, 2 * self.group.size - 1 - self.group.rank)
        for piece, number in zip(query.chunk(2, SEQUENCE), numbers, strict=True):
            end = (number + 1) * width
            mask = causal_lower_right(width, end)
            seen.append(_attend(piece, key[:, :, :end], value[:, :, :end], mask))
        return torch.cat(seen, SEQUENCE)


def _kernel(name: str) -> AbstractContextManager[None]:
    """Restrict torch to this kernel, or let it choose."""
    return nullcontext() if name == "auto" else sdpa_kernel(KERNELS[name])


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None)


def _repeat(x: Tensor, times: int) -> Tensor:
    return x if times == 1 else x.repeat_interleave(times, 1)


def _gathered(x: Tensor, contexts: Contexts) -> Tensor:
    result: Tensor = GatherSequence.apply(x, contexts)  # type: ignore[no-untyped-call]  # untyped there
    return result


class GatherSequence(Function):
    """Forward: gather the sequence. Backward: sum gradients, scatter them to their ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, contexts: Contexts) -> Tensor:
        """`ctx` passes state to `backward`."""
        ctx.contexts = contexts
        return contexts.whole(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradients of this rank's pieces, summed over ranks."""
        contexts: Contexts = ctx.contexts
        return contexts.sum_of_parts(gradient), None
