"""The MLP of a layer or an expert: two matrices, split over tensor-parallel ranks."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from .presets import Shape
from .tensor import ColumnLinear, RowLinear, Tensors


class Mlp(nn.Module):
    """GELU between the matrices, or a gate for a Llama (SwiGLU, 2002.05202)."""

    def __init__(self, shape: Shape, tensors: Tensors) -> None:
        super().__init__()
        self.gated = shape.is_llama
        # A gate is adjacent to its input, so no cut separates them.
        wide = (2 if self.gated else 1) * shape.ffn
        self.widen = ColumnLinear(shape.hidden, wide, tensors, not self.gated)
        self.narrow = RowLinear(shape.ffn, shape.hidden, tensors, not self.gated)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence or a part of it, hidden) to the same."""
        result: Tensor = self.narrow(self.bent(self.widen(x)))
        return result

    def within(self, x: Tensor) -> Tensor:
        """(rows, hidden) to this rank's partial sum, in the parallel region, without biases."""
        return F.linear(self.bent(F.linear(x, self.widen.weight)), self.narrow.weight)

    def bent(self, x: Tensor) -> Tensor:
        """The activation function."""
        if not self.gated:
            return F.gelu(x, approximate="tanh")
        gate, value = x.view(*x.shape[:-1], x.shape[-1] // 2, 2).unbind(-1)  # also without rows
        return F.silu(gate) * value
