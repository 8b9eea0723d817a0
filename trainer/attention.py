"""Attention of a GPT-2 or a Llama, and Llama's rotary position embeddings."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .context import Contexts
from .presets import Shape
from .tensor import ColumnLinear, RowLinear, Tensors


class Attention(nn.Module):
    """Causal self-attention on this rank's heads and part of the sequence."""

    def __init__(self, shape: Shape, tensors: Tensors, contexts: Contexts) -> None:
        super().__init__()
        self.contexts = contexts
        self.kv, self.shared = shape.kv // tensors.group.size, shape.heads // shape.kv
        biased = not shape.is_llama
        # Queries of a shared key, the key and its value are adjacent, so no cut separates them.
        mixed = shape.hidden + 2 * shape.kv * shape.head
        self.query_key_value = ColumnLinear(shape.hidden, mixed, tensors, biased)
        self.project = RowLinear(shape.hidden, shape.hidden, tensors, biased)

    def forward(self, x: Tensor, turns: Tensor | None = None) -> Tensor:
        """(batch, sequence, hidden) to the same; `turns` are those of `rotations`."""
        mixed = self.query_key_value(x)
        batch, length, _ = mixed.shape
        mixed = mixed.view(batch, length, self.kv, self.shared + 2, -1).transpose(1, 2)
        query, key, value = mixed.split((self.shared, 1, 1), 3)
        query, key, value = (one.transpose(2, 3).flatten(1, 2) for one in (query, key, value))
        if turns is not None:
            query, key = rotated(query, turns), rotated(key, turns)
        seen = self.contexts.attend(query, key, value)
        out: Tensor = self.project(seen.transpose(1, 2).reshape(batch, length, -1))
        return out


def rotations(shape: Shape, device: torch.device) -> Tensor | None:
    """Cosines and sines by position and pair of a head, (2, sequence, head / 2), for a Llama.

    RoPE (2104.09864), with the order of pairs in Llama's published weights.
    """
    if shape.rotary_base is None:
        return None
    pairs = torch.arange(0, shape.head, 2, device=device, dtype=torch.float32) / shape.head
    places = torch.arange(shape.seq_len, device=device, dtype=torch.float32)
    angles = torch.outer(places, shape.rotary_base**-pairs)
    return torch.stack((angles.cos(), angles.sin()))


def rotated(x: Tensor, turns: Tensor) -> Tensor:
    """(batch, heads, sequence, head): both halves of each head rotated by its position."""
    cos, sin = turns
    one, other = x.float().chunk(2, -1)
    return torch.cat((one * cos - other * sin, other * cos + one * sin), -1).to(x.dtype)
